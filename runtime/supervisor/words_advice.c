/* SPDX-License-Identifier: MIT
 *
 * What a job's worst_case should be. */
#include "base/text.h"
#include "base/units.h"
#include "supervisor/journal.h"
#include "supervisor/words.h"

void words_advice(const struct job *job, const struct advice *a)
{
    bool is_short = a->kind == ADVICE_SHORT;
    int message = is_short ? MESSAGE_NEARLY_TOO_SLOW : MESSAGE_WORST_CASE_LARGE;
    char longest[UNITS_SIZE], limit[UNITS_SIZE], value[UNITS_SIZE], lease[UNITS_SIZE];
    char more[UNITS_SIZE + 16] = "";

    units_say_duration(a->longest_ms, longest, sizeof longest);
    units_say_duration(a->limit_ms, limit, sizeof limit);
    units_write_duration(a->value_ms, value, sizeof value);
    if (a->lease_ms > 0)
        text_format(more, sizeof more, " and lease = \"%s\"",
                    units_write_duration(a->lease_ms, lease, sizeof lease));
    words_about(job, LOG_WARNING | message,
                "its longest run took %s of the %s that %s allows: %s; write %s = \"%s\"%s",
                longest, limit, advice_key(a), is_short ? "soon too little" : "far too much",
                advice_key(a), value, more);
}
