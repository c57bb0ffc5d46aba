/* SPDX-License-Identifier: MIT
 * Zone files: the stretches of what is read lie side by side, and neighbours differ. */
#include "core/calendar.h"
#include "core/zone.h"
#include "fuzz.h"

/* Instants of the table that are looked at. */
#define TIMES_MAX 24

static void check_at(const struct zone *zone, int64_t at)
{
    int64_t from, until, other_from, other_until;
    int32_t offset = zone_offset(zone, at, &from, &until);

    assert(offset > -ZONE_OFFSET_MAX && offset < ZONE_OFFSET_MAX);
    assert(from <= at && (at < until || until == ZONE_NEVER));
    if (from > INT64_MIN) {
        assert(zone_offset(zone, from - 1, &other_from, &other_until) != offset);
        assert(other_until == from);
    }
    if (until < ZONE_NEVER) {
        assert(zone_offset(zone, until, &other_from, &other_until) != offset);
        assert(other_from == until);
        assert(zone_offset(zone, until - 1, &other_from, &other_until) == offset);
        assert(other_from == from && other_until == until);
    }
}

static int64_t time_of(const struct zone *zone, uint32_t i)
{
    uint64_t time = 0;

    for (int k = 0; k < 8; k++)
        time = time << 8 | zone->times[(size_t)i * 8 + (size_t)k];
    return (int64_t)time;
}

static void check_cycle(const struct zone *zone)
{
    const int64_t cycle = INT64_C(146097) * 86400;
    int64_t repeats = zone_repeats_from(zone), from, until, at, later;

    if (repeats == ZONE_NEVER)
        return;
    at = repeats == INT64_MIN ? 0 : repeats;
    later = zone_offset(zone, at + cycle, &from, &until);
    assert(zone_offset(zone, at, &from, &until) == later);
}

/* Turns by the zone: a fixed hour in the small ones, where clocks are changed, and many a day. */
static void check_turns(const struct zone *zone, int64_t at)
{
    static const char *const texts[] = { "30 0-3 * * *", "*/20 * * * *", "0 0 29 2 *" };
    char why[CRON_WHY_SIZE];

    if (at < -(INT64_C(1) << 40) || at > INT64_C(1) << 40)
        return;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct wall now = { at * 1000 }, next;
        struct cron c;

        assert(cron_parse(texts[i], &c, why) == 0);
        next = calendar_next(&c, zone, now);
        assert(next.ms > now.ms && calendar_count(&c, zone, now, next) == 1);
        assert(calendar_latest(&c, zone, next).ms == next.ms);
        assert(calendar_latest(&c, zone, now).ms <= now.ms);
        assert(calendar_latest(&c, zone, (struct wall){ next.ms - 1000 }).ms ==
               calendar_latest(&c, zone, now).ms);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t instants[] = {
        INT64_MIN,  INT64_MIN + 1,    -(INT64_C(1) << 59), 0,        1700000000,
        4102444800, INT64_C(1) << 40, INT64_MAX - 1,       INT64_MAX
    };
    struct zone zone;

    if (zone_parse(data, size, &zone) < 0)
        return 0;
    for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++)
        check_at(&zone, instants[i]);
    for (uint32_t i = 0, step = 1 + zone.count / TIMES_MAX; i < zone.count; i += step) {
        check_at(&zone, time_of(&zone, i) - 1);
        check_at(&zone, time_of(&zone, i));
        check_turns(&zone, time_of(&zone, i) - 3600);
    }
    check_cycle(&zone);
    return 0;
}
