/* SPDX-License-Identifier: MIT */
#include "supervisor/check_jobs.h"

#include "base/text.h"
#include "base/units.h"
#include "supervisor/check_cost.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define TURNS_SHOWN 3

struct shown_turn {
    int64_t local_ms; /* by the clocks of the job's zone */
    const char *mark; /* how it differs from what cron says, with a space before it; or "" */
};

/* Rounded down. */
static int64_t divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Whether the clocks of the zone have shown this time before, since they were put back. */
static bool comes_again(const struct zone *zone, int64_t at)
{
    int64_t from, until, unused;
    int32_t offset = zone_offset(zone, at, &from, &until);

    return from != INT64_MIN && at - from < zone_offset(zone, from - 1, &unused, &until) - offset;
}

static struct shown_turn show(const struct schedule *s, struct wall turn)
{
    int64_t at = divide(turn.ms, SECOND_MS), from, until, minute;
    struct shown_turn shown = { turn.ms, "" };

    if (s->every_ms > 0 || !s->zone)
        return shown;
    shown.local_ms += zone_offset(s->zone, at, &from, &until) * SECOND_MS;
    minute = divide(shown.local_ms, MINUTE_MS);
    if (cron_first(&s->cron, minute, minute + 1) != minute)
        shown.mark = " (moved)";
    else if (comes_again(s->zone, at))
        shown.mark = " (again)";
    return shown;
}

/* As coarse as all three turns allow: "02:30", "02:30:05" or "02:30:05.250". */
static void print_clock(const struct tm *tm, int64_t ms, int64_t finest_ms)
{
    printf("%02d:%02d", tm->tm_hour, tm->tm_min);
    if (finest_ms % MINUTE_MS != 0)
        printf(":%02d", tm->tm_sec);
    if (finest_ms % SECOND_MS != 0)
        printf(".%03d", (int)(ms % SECOND_MS));
}

/* Each turn by its clock time, with the date where it is another than the one before. */
static void print_turns(const struct schedule *schedule, struct wall now)
{
    struct shown_turn turns[TURNS_SHOWN];
    int64_t finest_ms = 0;
    int day = -1, year = 0;

    for (int i = 0; i < TURNS_SHOWN; i++) {
        now = schedule_next(schedule, now);
        turns[i] = show(schedule, now);
        if (turns[i].local_ms % SECOND_MS != 0 ||
            (finest_ms == 0 && turns[i].local_ms % MINUTE_MS != 0))
            finest_ms = turns[i].local_ms;
    }
    fputs("  next      ", stdout);
    for (int i = 0; i < TURNS_SHOWN; i++) {
        time_t seconds = (time_t)divide(turns[i].local_ms, SECOND_MS);
        struct tm tm;

        if (!gmtime_r(&seconds, &tm))
            break;
        fputs(i == 0 ? "" : ", ", stdout);
        if (tm.tm_yday != day || tm.tm_year != year)
            printf("%04d-%02d-%02d ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
        print_clock(&tm, turns[i].local_ms, finest_ms);
        fputs(turns[i].mark, stdout);
        day = tm.tm_yday;
        year = tm.tm_year;
    }
    fputs("\n", stdout);
}

/* Who runs it, and under what; nothing where that is one device of the fleet, under a lock of the
 * job's own. */
static void print_sharing(const struct job_spec *spec)
{
    char key[256];

    if (spec->scope == SCOPE_DEVICE)
        printf("  scope     each device, at most %u at once in the whole fleet\n",
               spec->concurrency);
    if (spec->stop_after_failures == 1)
        puts("  brake     1 failure pauses it in the whole fleet");
    else if (spec->stop_after_failures > 1)
        printf("  brake     %u failures in a row pause it in the whole fleet\n",
               spec->stop_after_failures);
    if (spec->run_unreachable)
        puts("  offline   run without Redis too, by this device's own clock");
    if (spec->lock == LOCK_NONE)
        puts("  lock      none: every device runs each turn, whatever the others do");
    else if (spec->lock_key)
        printf("  lock      %s, shared with all that use this key\n",
               text_escape(key, sizeof(key), spec->lock_key, strlen(spec->lock_key)));
}

static void print_overrun(const struct timing *t)
{
    char most[UNITS_SIZE];

    if (t->max_runtime_ms > 0)
        printf("  overrun   goes on while it reports progress, for at most %s\n",
               units_say_duration(t->max_runtime_ms, most, sizeof(most)));
}

static void print_timing(const struct job_spec *spec)
{
    const struct timing *t = &spec->timing;
    char worst[UNITS_SIZE], lease[UNITS_SIZE], grace[UNITS_SIZE], renew[UNITS_SIZE];

    units_say_duration(t->worst_case_ms, worst, sizeof(worst));
    units_say_duration(t->stop_grace_ms, grace, sizeof(grace));
    if (spec->lock == LOCK_NONE) {
        printf("  timing    worst case %s, no lease, grace %s\n", worst, grace);
        return;
    }
    printf("  timing    worst case %s, lease %s, grace %s, ", worst,
           units_say_duration(t->lease_ms, lease, sizeof(lease)), grace);
    if (t->renew_ms > 0)
        printf("renewed every %s\n", units_say_duration(t->renew_ms, renew, sizeof(renew)));
    else
        printf("never renewed\n");
}

static void print_takeover(const struct config *c, const struct job_spec *spec)
{
    int64_t within_ms = timing_takeover_ms(&spec->timing, spec->splay_ms);
    char within[UNITS_SIZE];

    units_say_duration(within_ms, within, sizeof(within));
    if (c->store == CONFIG_STORE_LOCAL)
        puts("  takeover  none: this device alone");
    else if (spec->lock == LOCK_NONE)
        puts("  takeover  none: a run is its device's own");
    else if (spec->scope == SCOPE_DEVICE)
        printf("  takeover  none: a run is its device's own; a crash frees its seat within %s\n",
               units_say_duration(spec->timing.lease_ms, within, sizeof(within)));
    else if (spec->attempts == 1)
        puts("  takeover  none: after a crash the turn is not tried again (attempts = 1)");
    else if (within_ms >= schedule_period_ms(&spec->schedule))
        printf("  takeover  none: the next turn comes first; after a crash within %s\n", within);
    else
        printf("  takeover  a crash is taken over within %s, %u attempts in all\n", within,
               spec->attempts);
}

/* Device scope: how many devices get their turn. */
static void print_round(const struct job_spec *spec)
{
    const struct timing *t = &spec->timing;
    int64_t period_ms = schedule_period_ms(&spec->schedule);
    int64_t run_ms = t->max_runtime_ms > 0 ? t->max_runtime_ms : t->worst_case_ms;
    int64_t devices = period_ms / run_ms * spec->concurrency;
    char run[UNITS_SIZE];

    if (spec->scope != SCOPE_DEVICE)
        return;
    printf("  round     at worst %u device%s in %s", spec->concurrency,
           spec->concurrency == 1 ? "" : "s", units_say_duration(run_ms, run, sizeof(run)));
    if (devices > 0)
        printf(", %lld before the next turn\n", (long long)devices);
    else
        puts(", longer than the period");
}

/* What keeps the job from running here, and when it is due where it does. */
static void print_place(const char *device, const struct job_config *job)
{
    if (!job->enabled)
        puts("  disabled  never run, since enabled is false");
    if (job->elsewhere)
        printf("  devices   none of its patterns matches this device, %s\n", device);
    if (job->cron)
        printf("  schedule  %s %s\n", job->cron, job->timezone);
}

static bool has_zone(const struct config *c)
{
    for (size_t i = 0; i < c->job_count; i++)
        if (!c->jobs[i].invalid && c->jobs[i].spec.schedule.zone)
            return true;
    return false;
}

void check_jobs_print(const struct config *c, const char *device)
{
    struct check_cost cost;
    struct timespec ts;
    struct wall now;
    bool any = false;

    clock_gettime(CLOCK_REALTIME, &ts);
    now.ms = ts.tv_sec * SECOND_MS + ts.tv_nsec / 1000000;
    check_cost_begin(&cost, c, now);
    for (size_t i = 0; i < c->job_count; i++) {
        const struct job_config *job = &c->jobs[i];

        if (job->invalid)
            continue;
        if (!any)
            puts(has_zone(c) ? "Turns are in each job's time zone, else in UTC, by the clock of "
                               "this machine.\n"
                             : "Turns are in UTC, by the clock of this machine.\n");
        any = true;
        puts(job->name);
        print_place(device, job);
        print_turns(&job->spec.schedule, now);
        print_sharing(&job->spec);
        print_timing(&job->spec);
        print_overrun(&job->spec.timing);
        print_takeover(c, &job->spec);
        print_round(&job->spec);
        check_cost_print_job(&cost, job);
        puts("");
    }
    if (any)
        check_cost_print_all(&cost);
}
