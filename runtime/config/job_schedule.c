/* SPDX-License-Identifier: MIT */
#include "config/job_schedule.h"
#include "base/units.h"
#include "config/zones.h"

#define RETENTION_DEFAULT_MS (30 * DAY_MS)
#define SPLAY_DEFAULT_MS SECOND_MS
/* All devices of the fleet run each turn: they are spread wider. */
#define SPLAY_DEVICE_SCOPE_MS MINUTE_MS
#define CATCH_UP_DEFAULT_MS DAY_MS

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct bound {
    const char *name;
    int64_t ms;
};

/* "splay is "2m", more than a quarter of the period; write at most "75s"" */
static void note_above(struct reading *r, int line, const struct bound *value,
                       const struct bound *most_allowed)
{
    char value_text[UNITS_SIZE], bound_text[UNITS_SIZE];

    reading_problem(r, PROBLEM_ERROR, line, "%s is \"%s\", more than %s; write at most \"%s\"",
                    value->name, units_write_duration(value->ms, value_text, sizeof(value_text)),
                    most_allowed->name,
                    units_write_duration(most_allowed->ms, bound_text, sizeof(bound_text)));
}

/* A turn is remembered until the next has been asked for, which may be a period late. In a zone two
 * turns lie farther apart where a clock is put back between them, a day at most. */
static int64_t least_retention_ms(const struct schedule *s)
{
    return schedule_longest_ms(s) + schedule_period_ms(s) + (s->zone ? DAY_MS : 0);
}

static void settle_retention(struct reading *r, int line)
{
    struct job_spec *spec = &r->job->spec;
    int64_t needed_ms = least_retention_ms(&spec->schedule);
    char written[UNITS_SIZE], longest[UNITS_SIZE], needed[UNITS_SIZE];

    if (line == 0)
        spec->retention_ms = most(RETENTION_DEFAULT_MS, needed_ms);
    else if (spec->retention_ms > 0 && spec->retention_ms < needed_ms)
        reading_problem(
            r, PROBLEM_ERROR, line,
            "retention is \"%s\", and from one turn to the next it may be %s, so that a turn could "
            "be forgotten before the next; write \"%s\" or more",
            units_write_duration(spec->retention_ms, written, sizeof(written)),
            units_say_duration(schedule_longest_ms(&spec->schedule), longest, sizeof(longest)),
            units_write_duration(needed_ms, needed, sizeof(needed)));
}

/* A duration that is at most `bound`, and where it is not written that or `otherwise_ms`, whichever
 * is less. */
static int64_t settle_bounded(struct reading *r, int line, const struct bound *value,
                              const struct bound *bound, int64_t otherwise_ms)
{
    if (line == 0)
        return least(otherwise_ms, bound->ms);
    if (value->ms > bound->ms)
        note_above(r, line, value, bound);
    return value->ms;
}

/* What depends on the period: bounds, and defaults of what is not written. */
static void settle_by_period(struct reading *r, const struct schema_group *g,
                             const struct group_lines *lines)
{
    struct job_spec *spec = &r->job->spec;
    struct bound period = { "the period", schedule_period_ms(&spec->schedule) };
    struct bound quarter = { "a quarter of the period", period.ms / 4 };

    spec->catch_up_ms = settle_bounded(r, group_line(g, lines, "catch_up"),
                                       &(struct bound){ "catch_up", spec->catch_up_ms }, &period,
                                       CATCH_UP_DEFAULT_MS);
    spec->splay_ms = settle_bounded(
        r, group_line(g, lines, "splay"), &(struct bound){ "splay", spec->splay_ms }, &quarter,
        spec->scope == SCOPE_DEVICE ? SPLAY_DEVICE_SCOPE_MS : SPLAY_DEFAULT_MS);
    settle_retention(r, group_line(g, lines, "retention"));
}

/* False: neither of the two is written, or both are. */
static bool is_one_of(struct reading *r, const struct schema_group *g,
                      const struct group_lines *lines, int job_line)
{
    int every_line = group_line(g, lines, "every"), cron_line = group_line(g, lines, "cron");

    if (every_line > 0 && cron_line > 0)
        reading_problem(r, PROBLEM_ERROR, cron_line,
                        "every and cron are both written; keep one of them");
    else if (group_is_missed(g, lines, "every") && group_is_missed(g, lines, "cron"))
        reading_problem(r, PROBLEM_ERROR, job_line,
                        "nothing says when it is due; write for example every = \"5m\" or cron = "
                        "\"30 2 * * *\"");
    return (every_line > 0) != (cron_line > 0);
}

static bool settle_every(struct reading *r, const struct schema_group *g,
                         const struct group_lines *lines)
{
    struct schedule *s = &r->job->spec.schedule;
    struct bound every = { "every", s->every_ms };
    int timezone = group_line(g, lines, "timezone");

    if (timezone > 0)
        reading_problem(r, PROBLEM_ERROR, timezone,
                        "timezone goes with cron; the grid of every is in UTC, the same on all "
                        "devices. Leave timezone out, or write cron instead of every");
    if (s->every_ms == 0)
        return false;
    s->offset_ms = settle_bounded(r, group_line(g, lines, "offset"),
                                  &(struct bound){ "offset", s->offset_ms }, &every, 0);
    s->offset_ms %= every.ms;
    return true;
}

static bool settle_cron(struct reading *r, const struct schema_group *g,
                        const struct group_lines *lines)
{
    struct job_config *job = r->job;
    struct schedule *s = &job->spec.schedule;
    char why[CRON_WHY_SIZE];

    if (group_line(g, lines, "offset") > 0)
        reading_problem(r, PROBLEM_ERROR, group_line(g, lines, "offset"),
                        "offset shifts the grid of every; cron says itself when. Leave offset out");
    if (!job->timezone && group_line(g, lines, "timezone") == 0)
        job->timezone = reading_copy(r, "UTC");
    zones_settle(r, group_line(g, lines, "timezone"));
    if (!job->cron)
        return false;
    if (cron_parse(job->cron, &s->cron, why) < 0) {
        reading_problem(r, PROBLEM_ERROR, group_line(g, lines, "cron"), "cron is \"%s\": %s",
                        job->cron, why);
        return false;
    }
    return true;
}

bool job_schedule_settle(struct reading *r, const struct schema_group *g,
                         const struct group_lines *lines, int job_line)
{
    bool has_one;

    if (!is_one_of(r, g, lines, job_line))
        return false;
    has_one =
        group_line(g, lines, "every") > 0 ? settle_every(r, g, lines) : settle_cron(r, g, lines);
    if (has_one)
        settle_by_period(r, g, lines);
    return has_one;
}
