/* SPDX-License-Identifier: MIT */
#include "config/job_timing.h"
#include "base/text.h"
#include "base/units.h"

#define SECONDS_SIZE 32
/* The store in this process answers at once, so that a lease needs no room for replies: only for
 * being scheduled late between question and answer. There is nothing to connect to; the arithmetic
 * wants more than none. */
#define LOCAL_COMMAND_MS 100
#define LOCAL_CONNECT_MS 1
#define MAX_RUNTIME_FACTOR 4
#define MAX_RUNTIME_MAX_MS (31 * DAY_MS)

/* Seconds, not below 0, as the arithmetic in a message needs them: exact below ten, to a tenth
 * above. */
static char *say_seconds(int64_t ms, char buf[SECONDS_SIZE])
{
    int64_t whole = ms / SECOND_MS, part = ms % SECOND_MS;
    int digits = 3;

    if (whole >= 10)
        part -= part % 100;
    for (; digits > 0 && part % 10 == 0; digits--)
        part /= 10;
    if (part > 0)
        text_format(buf, SECONDS_SIZE, "%lld.%0*lld s", (long long)whole, digits, (long long)part);
    else
        text_format(buf, SECONDS_SIZE, "%lld s", (long long)whole);
    return buf;
}

/* A grace longer than the lease leaves no time at all. */
static void say_stop(int64_t ms, char buf[SECONDS_SIZE + 8])
{
    char after[SECONDS_SIZE];

    if (ms <= 0)
        text_copy(buf, SECONDS_SIZE + 8, "at once");
    else
        text_format(buf, SECONDS_SIZE + 8, "after %s", say_seconds(ms, after));
}

static void note_short_lease(struct reading *r, int line, int64_t smallest_ms)
{
    const struct timing *t = &r->job->spec.timing;
    char lease[SECONDS_SIZE], end[SECONDS_SIZE], command[SECONDS_SIZE], connect[SECONDS_SIZE];
    char stop[SECONDS_SIZE + 8], grace[SECONDS_SIZE], margin[SECONDS_SIZE], smallest[UNITS_SIZE];

    say_seconds(t->lease_ms, lease);
    say_stop(timing_must_stop_ms(t), stop);
    say_seconds(t->stop_grace_ms, grace);
    say_seconds(t->margin_ms, margin);
    if (smallest_ms % SECOND_MS == 0)
        text_format(smallest, sizeof(smallest), "%llds", (long long)(smallest_ms / SECOND_MS));
    else
        units_write_duration(smallest_ms, smallest, sizeof(smallest));
    if (r->config->store == CONFIG_STORE_LOCAL) {
        reading_problem(r, PROBLEM_ERROR, line,
                        "a lease of %s is too short. It is renewed after %s, but the job must be "
                        "asked to stop %s (%s - %s stop_grace - %s margin). Write lease = "
                        "\"%s\" or more, or a shorter stop_grace",
                        lease, say_seconds(t->renew_ms, end), stop, lease, grace, margin, smallest);
        return;
    }
    reading_problem(
        r, PROBLEM_ERROR, line,
        "a lease of %s is too short. One failed renewal and its repeat end after %s (%s / 3 + 2 x "
        "%s "
        "command_timeout + %s connect_timeout), but the job must be asked to stop %s (%s - "
        "%s "
        "stop_grace - %s margin). Write lease = \"%s\" or more, or a shorter stop_grace",
        lease, say_seconds(timing_repeat_end_ms(t), end), lease,
        say_seconds(t->command_timeout_ms, command), say_seconds(t->connect_timeout_ms, connect),
        stop, lease, grace, margin, smallest);
}

static void warn_long_run(struct reading *r, int line, int64_t period_ms)
{
    char worst[UNITS_SIZE], period[UNITS_SIZE];

    if (r->job->spec.timing.worst_case_ms > period_ms)
        reading_problem(r, PROBLEM_WARNING, line,
                        "worst_case is %s, longer than the period of %s; turns that fall due "
                        "during a run are left out",
                        units_say_duration(r->job->spec.timing.worst_case_ms, worst, sizeof(worst)),
                        units_say_duration(period_ms, period, sizeof(period)));
}

static void warn_many_attempts(struct reading *r, int line, int64_t period_ms)
{
    const struct job_spec *spec = &r->job->spec;
    int64_t all_ms = spec->attempts * (spec->timing.lease_ms + spec->retry_delay_ms);
    long long most = period_ms * spec->attempts / all_ms;
    char lease[UNITS_SIZE], delay[UNITS_SIZE], all[UNITS_SIZE], period[UNITS_SIZE];

    /* A single try has no last one that could come too late. */
    if (line > 0 && spec->attempts > 1 && all_ms > period_ms)
        reading_problem(r, PROBLEM_WARNING, line,
                        "%u attempts, each with a lease of %s and a retry_delay of %s, can take "
                        "%s, longer than the "
                        "period of %s; then the next turn comes before the last attempt; write "
                        "attempts = %lld at most",
                        spec->attempts,
                        units_say_duration(spec->timing.lease_ms, lease, sizeof(lease)),
                        units_say_duration(spec->retry_delay_ms, delay, sizeof(delay)),
                        units_say_duration(all_ms, all, sizeof(all)),
                        units_say_duration(period_ms, period, sizeof(period)), most > 0 ? most : 1);
}

static void take_timeouts(struct reading *r)
{
    struct timing *t = &r->job->spec.timing;
    bool local = r->config->store == CONFIG_STORE_LOCAL;

    t->command_timeout_ms = local ? LOCAL_COMMAND_MS : r->config->redis.command_timeout_ms;
    t->connect_timeout_ms = local ? LOCAL_CONNECT_MS : r->config->redis.connect_timeout_ms;
}

static void settle_max_runtime(struct reading *r, int line)
{
    struct timing *t = &r->job->spec.timing;
    char written[UNITS_SIZE], least[UNITS_SIZE];

    if (!r->job->extend) {
        t->max_runtime_ms = 0;
        if (line > 0)
            reading_problem(r, PROBLEM_ERROR, line,
                            "max_runtime goes with overrun = \"extend\"; write that too, or leave "
                            "max_runtime out");
    } else if (line == 0) {
        t->max_runtime_ms = t->worst_case_ms * MAX_RUNTIME_FACTOR;
        if (t->max_runtime_ms > MAX_RUNTIME_MAX_MS)
            t->max_runtime_ms = MAX_RUNTIME_MAX_MS;
    } else if (t->max_runtime_ms > 0 && t->max_runtime_ms < t->worst_case_ms) {
        reading_problem(r, PROBLEM_ERROR, line,
                        "max_runtime is \"%s\", less than worst_case; write at least \"%s\"",
                        units_write_duration(t->max_runtime_ms, written, sizeof(written)),
                        units_write_duration(t->worst_case_ms, least, sizeof(least)));
    }
}

/* Without a lock there is no lease to keep: the budget alone ends the run. */
static int derive(struct job_spec *spec, int64_t *ret_smallest_ms)
{
    int64_t lease_cap_ms = spec->timing.lease_cap_ms;
    int result;

    if (spec->lock == LOCK_NONE)
        spec->timing.lease_cap_ms = INT64_MAX;
    result = timing_derive(&spec->timing, ret_smallest_ms);
    spec->timing.lease_cap_ms = lease_cap_ms;
    return result;
}

static int first_of(int a, int b)
{
    return a > 0 ? a : b;
}

void job_timing_settle(struct reading *r, const struct schema_group *g,
                       const struct group_lines *lines, int64_t period_ms, int job_line)
{
    struct job_spec *spec = &r->job->spec;
    int lease = group_line(g, lines, "lease"), attempts;
    int worst_case = group_line(g, lines, "worst_case"), grace = group_line(g, lines, "stop_grace");
    int64_t smallest_ms;

    take_timeouts(r);
    settle_max_runtime(r, group_line(g, lines, "max_runtime"));
    if (derive(spec, &smallest_ms) < 0)
        note_short_lease(r, first_of(lease, first_of(grace, job_line)), smallest_ms);
    if (period_ms == 0)
        return;
    warn_long_run(r, worst_case, period_ms);
    attempts = first_of(group_chosen_line(g, lines, "attempts", r->job),
                        first_of(group_chosen_line(g, lines, "lease", r->job),
                                 group_chosen_line(g, lines, "retry_delay", r->job)));
    if (spec->lock != LOCK_NONE)
        warn_many_attempts(r, attempts, period_ms);
}
