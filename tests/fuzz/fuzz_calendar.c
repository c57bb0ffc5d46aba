/* SPDX-License-Identifier: MIT
 * Cron in a zone. An input is the expression, an end of line, and the zone's rule as it stands at
 * the end of a zone file. The next turn, the latest and their number agree with each other. */
#include "core/calendar.h"
#include "core/date.h"
#include "core/zone_rule.h"
#include "fuzz.h"
#include <stdio.h>

/* 1970 to 2370. */
#define INSTANTS_MS (INT64_C(146097) * 86400000)
#define STEPS 12

static bool is_local_minute(const struct cron *c, int64_t local)
{
    int64_t day = date_floor(local, DATE_DAY_S), minute = (local - day * DATE_DAY_S) / 60;
    struct date date = date_of(day);
    bool by_date = c->days >> date.day & 1, by_weekday = c->weekdays >> date_weekday(day) & 1;

    return local % 60 == 0 && c->minutes >> minute % 60 & 1 && c->hours >> minute / 60 & 1 &&
           c->months >> date.month & 1 &&
           (c->either ? by_date || by_weekday : by_date && by_weekday);
}

/* A turn is a minute of the expression, or the end of a gap. */
static void check_turn(const struct cron *c, const struct zone *zone, int64_t second)
{
    int64_t from, until, other_from, other_until;
    int32_t offset = zone_offset(zone, second, &from, &until);

    assert(is_local_minute(c, second + offset) ||
           (from == second && zone_offset(zone, from - 1, &other_from, &other_until) < offset));
}

static void check_from(const struct cron *c, const struct zone *zone, struct wall start)
{
    struct wall at = start;

    for (int i = 0; i < STEPS; i++) {
        struct wall next = calendar_next(c, zone, at);

        assert(next.ms > at.ms && next.ms % 1000 == 0);
        check_turn(c, zone, next.ms / 1000);
        assert(calendar_latest(c, zone, next).ms == next.ms);
        assert(calendar_latest(c, zone, (struct wall){ next.ms - 1 }).ms ==
               calendar_latest(c, zone, at).ms);
        assert(calendar_count(c, zone, at, (struct wall){ next.ms - 1 }) == 0);
        assert(calendar_count(c, zone, start, next) == i + 1);
        at = next;
    }
}

/* Where no date is any more, there are answers all the same. */
static void check_ends(const struct cron *c, const struct zone *zone)
{
    static const struct wall ends[] = {
        { INT64_MIN }, { -(INT64_C(1) << 53) }, { INT64_C(1) << 53 }, { INT64_MAX }
    };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        assert(calendar_next(c, zone, ends[i]).ms > ends[i].ms || ends[i].ms == INT64_MAX);
        assert(calendar_latest(c, zone, ends[i]).ms <= ends[i].ms);
        assert(calendar_count(c, zone, ends[0], ends[i]) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rule = strchr(text, '\n');
    struct zone zone = { .has_rule = true };
    char why[CRON_WHY_SIZE];
    struct cron c;

    if (rule) {
        *rule++ = '\0';
        if (cron_parse(text, &c, why) == 0 &&
            zone_rule_parse(rule, strlen(rule), &zone.rule) == 0) {
            zone.first = zone.rule.standard;
            check_from(&c, &zone, (struct wall){ fuzz_number(data, size, INSTANTS_MS) });
            /* Which is to count all turns of 400 years: now and then is enough. */
            if (fuzz_number(data, size, 64) == 0)
                check_ends(&c, &zone);
        }
    }
    free(text);
    return 0;
}
