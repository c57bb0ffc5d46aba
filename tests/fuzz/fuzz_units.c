/* SPDX-License-Identifier: MIT
 * Durations and sizes: what is read is written back to the same value, and every value can be
 * written. */
#include "base/units.h"
#include "fuzz.h"
#include <errno.h>
#include <stdbool.h>

struct unit_kind {
    int (*parse)(const char *text, int64_t *ret_value);
    char *(*write)(int64_t value, char *buf, size_t size);
};

static const struct unit_kind kinds[] = {
    { units_parse_duration, units_write_duration },
    { units_parse_size, units_write_size },
};

static void check_value(const struct unit_kind *kind, int64_t value)
{
    char text[UNITS_SIZE];
    int64_t back = -1;

    assert(strlen(kind->write(value, text, sizeof(text))) < sizeof(text) - 1);
    assert(kind->parse(text, &back) == 0);
    assert(back == (value < 0 ? 0 : value));
    assert(strlen(units_say_duration(value, text, sizeof(text))) < sizeof(text) - 1);
}

static void check_text(const struct unit_kind *kind, const char *text)
{
    int64_t value = -1;
    int r = kind->parse(text, &value);

    assert(r == 0 || r == -EINVAL || r == -ENODATA || r == -ERANGE);
    assert((r == 0) == (value >= 0));
    if (r == 0)
        check_value(kind, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    int64_t number = 0;

    memcpy(&number, data, size < sizeof(number) ? size : sizeof(number));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        check_text(&kinds[i], text);
        check_value(&kinds[i], number);
    }
    free(text);
    return 0;
}
