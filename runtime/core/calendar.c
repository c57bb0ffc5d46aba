/* SPDX-License-Identifier: MIT
 * A turn is an instant that comes from a local minute of the expression: within a stretch of
 * constant offset it is that minute; at the beginning of a stretch it stands for those in the gap
 * before it. All is in seconds here, since offsets and changes are. */
#include "core/calendar.h"

#include "base/units.h"
#include "core/date.h"

#define MINUTE_S INT64_C(60)
#define HOUR_S INT64_C(3600)
#define ALL_HOURS UINT32_C(0xffffff)
/* The longest that an expression waits is 40 years, for a February 29 of one weekday around a
 * century without leap day; and one may fall into a gap of a day. */
#define HORIZON_S (DATE_DAY_S * 366 * 81)
#define CYCLE_S (DATE_CYCLE_DAYS * DATE_DAY_S)

/* A part of the time line in which local time is Unix time + offset. */
struct part {
    int64_t from, until; /* instants; the ends of int64_t where it has no end */
    int64_t offset;
    int64_t resume; /* turns are due from here on: past a repeat that is left out, else `from` */
    bool gap;       /* something fell into the gap before it: a turn at `from` */
};

/* The first minute that begins at or after a local second. */
static int64_t minute_from(int64_t second)
{
    return -date_floor(-second, MINUTE_S);
}

/* Whether a job is due for what falls between two local seconds that no clock showed. */
static bool gap_is_due(const struct cron *c, int64_t from, int64_t end)
{
    if (c->hours == ALL_HOURS && (end - from) % HOUR_S == 0)
        return false;
    return cron_first(c, minute_from(from), minute_from(end)) < minute_from(end);
}

static struct part part_at(const struct cron *c, const struct zone *zone, int64_t at)
{
    struct part p = { .gap = false };
    int64_t from, until, before;

    p.offset = zone_offset(zone, at, &p.from, &p.until);
    p.resume = p.from;
    if (p.from == INT64_MIN)
        return p;
    before = zone_offset(zone, p.from - 1, &from, &until);
    if (before < p.offset)
        p.gap = gap_is_due(c, p.from + before, p.from + p.offset);
    else if (!c->each_hour)
        p.resume = p.from + (before - p.offset);
    return p;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The first turn of a part in [at, end); `end` where there is none. `at` lies in the part. */
static int64_t first_in(const struct cron *c, const struct part *p, int64_t at, int64_t end)
{
    int64_t stop, minute;

    if (p->gap && at == p->from)
        return at;
    stop = minute_from(end + p->offset);
    minute = cron_first(c, minute_from(later(at, p->resume) + p->offset), stop);
    return minute < stop ? minute * MINUTE_S - p->offset : end;
}

/* The last turn of a part in [from, at]; from - 1 where there is none. `at` lies in the part. */
static int64_t last_in(const struct cron *c, const struct part *p, int64_t from, int64_t at)
{
    int64_t start = minute_from(later(from, p->resume) + p->offset);
    int64_t minute = cron_last(c, start, minute_from(at + 1 + p->offset));

    if (minute >= start)
        return minute * MINUTE_S - p->offset;
    return p->gap && p->from >= from ? p->from : from - 1;
}

/* The first turn in [at, end); `end` where there is none. A part without a turn is followed by the
 * one in which the next matching minute can be due at the earliest, not by its neighbour. */
static int64_t first_turn(const struct cron *c, const struct zone *zone, int64_t at, int64_t end)
{
    const int64_t last_minute = minute_from(end + ZONE_OFFSET_MAX);

    while (at < end) {
        struct part p = part_at(c, zone, at);
        int64_t stop = earlier(p.until, end);
        int64_t turn = first_in(c, &p, at, stop);
        int64_t minute;

        if (turn < stop)
            return turn;
        minute = cron_first(c, date_floor(stop - ZONE_OFFSET_MAX, MINUTE_S), last_minute);
        at = later(stop, minute * MINUTE_S - ZONE_OFFSET_MAX);
    }
    return end;
}

/* The last turn in [from, at]; from - 1 where there is none. */
static int64_t last_turn(const struct cron *c, const struct zone *zone, int64_t from, int64_t at)
{
    const int64_t first_minute = date_floor(from - ZONE_OFFSET_MAX, MINUTE_S);

    while (at >= from) {
        struct part p = part_at(c, zone, at);
        int64_t start = later(p.from, from);
        int64_t turn = last_in(c, &p, start, at);
        int64_t minute;

        if (turn >= start)
            return turn;
        minute = cron_last(c, first_minute, minute_from(start + ZONE_OFFSET_MAX) + 1);
        at = earlier(start - 1, minute * MINUTE_S + ZONE_OFFSET_MAX);
    }
    return from - 1;
}

/* How many turns lie in [at, end), part by part. */
static int64_t count_turns(const struct cron *c, const struct zone *zone, int64_t at, int64_t end)
{
    int64_t count = 0;

    while (at < end) {
        struct part p = part_at(c, zone, at);
        int64_t stop = earlier(p.until, end);
        int64_t first = minute_from(later(at, p.resume) + p.offset);

        count += cron_count(c, first, minute_from(stop + p.offset));
        /* A minute that begins where the gap ends is the same turn. */
        if (p.gap && at == p.from)
            count += first * MINUTE_S != at + p.offset || cron_count(c, first, first + 1) == 0;
        at = stop;
    }
    return count;
}

struct wall calendar_next(const struct cron *c, const struct zone *zone, struct wall after)
{
    int64_t at = date_floor(after.ms, SECOND_MS) + 1;
    int64_t turn = first_turn(c, zone, at, at + HORIZON_S);

    return (struct wall){ turn > INT64_MAX / SECOND_MS ? INT64_MAX : turn * SECOND_MS };
}

struct wall calendar_latest(const struct cron *c, const struct zone *zone, struct wall now)
{
    int64_t at = date_floor(now.ms, SECOND_MS);
    int64_t turn = last_turn(c, zone, at - HORIZON_S, at);

    return (struct wall){ turn < INT64_MIN / SECOND_MS ? INT64_MIN : turn * SECOND_MS };
}

int64_t calendar_count(const struct cron *c, const struct zone *zone, struct wall after,
                       struct wall until)
{
    int64_t at = date_floor(after.ms, SECOND_MS) + 1, end = date_floor(until.ms, SECOND_MS) + 1;
    int64_t repeats, cycles, count;

    if (at >= end)
        return 0;
    repeats = later(at, earlier(end, zone_repeats_from(zone)));
    count = count_turns(c, zone, at, repeats);
    cycles = (end - repeats) / CYCLE_S;
    if (cycles > 0)
        count += cycles * count_turns(c, zone, repeats, repeats + CYCLE_S);
    return count + count_turns(c, zone, repeats + cycles * CYCLE_S, end);
}
