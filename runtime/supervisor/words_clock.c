/* SPDX-License-Identifier: MIT */
#include "supervisor/words_clock.h"
#include "base/text.h"
#include "base/units.h"
#include "supervisor/journal.h"
#include <time.h>

#define DAY_SIZE 32
#define DOUBT_SIZE 128

void words_clock_jump(int64_t moved_ms, bool own)
{
    char by[UNITS_SIZE];

    units_say_duration(moved_ms < 0 ? -moved_ms : moved_ms, by, sizeof by);
    journal_log(LOG_WARNING | MESSAGE_CLOCK_JUMP, NULL, "%s clock went %s by %s at once",
                own ? "this device's" : "the fleet's (Redis's)", moved_ms < 0 ? "back" : "forward",
                by);
}

static const char *day_of(struct wall at, char buf[static DAY_SIZE])
{
    time_t seconds = (time_t)(at.ms / SECOND_MS);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(buf, DAY_SIZE, "%F", &tm);
    return buf;
}

const char *words_clock_doubt(const struct device_clock *c, char *buf, size_t size)
{
    char says[DAY_SIZE], built[DAY_SIZE];

    text_format(buf, size, "this device's clock says %s, before this rota was built (%s)",
                day_of(c->says, says), day_of(c->built, built));
    return buf;
}

void words_clock_news(const struct device_clock *c, enum device_clock_news news, struct boot now)
{
    char doubt[DOUBT_SIZE], after[UNITS_SIZE], day[DAY_SIZE];

    if (news == DEVICE_CLOCK_DOUBTED)
        journal_log(LOG_WARNING | MESSAGE_CLOCK_DOUBTED, NULL, "%s; %s",
                    words_clock_doubt(c, doubt, sizeof doubt),
                    c->known ? "jobs go on by the time from before" : "jobs wait until it is set");
    else if (news == DEVICE_CLOCK_BELIEVED)
        journal_log(LOG_NOTICE | MESSAGE_CLOCK_BELIEVED, NULL,
                    "this device's clock can be used after %s: it says %s",
                    units_say_duration(boot_between(c->since, now), after, sizeof after),
                    day_of(device_clock_at(c, now), day));
}
