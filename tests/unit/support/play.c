/* SPDX-License-Identifier: MIT */
#include "support/play.h"

#include "base/text.h"
#include "base/units.h"
#include <string.h>

/* Rates as those of cheap crystals. */
#define PLAY_PPM_MAX 40
#define PLAY_AGE_MAX_MS (100 * DAY_MS)

/* --- instants and jobs --- */

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int64_t play_utc(int year, int month, int day, int hour, int minute)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t days = day - 1;

    for (int y = 1970; y < year; y++)
        days += 365 + is_leap(y);
    for (int m = 1; m < month; m++)
        days += lengths[m - 1] + (m == 2 && is_leap(year));
    return days * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS;
}

static void print_schedule(struct job_spec *spec)
{
    const struct cron *c = &spec->schedule.cron;
    struct fingerprint f;

    fingerprint_init(&f);
    fingerprint_integer(&f, "every", spec->schedule.every_ms);
    fingerprint_integer(&f, "minutes", (int64_t)c->minutes);
    fingerprint_integer(&f, "hours", (int64_t)c->hours);
    fingerprint_integer(&f, "days", (int64_t)c->days);
    fingerprint_final(&f, spec->schedule_print);
}

struct job_spec play_spec(const char *name, const struct schedule *schedule)
{
    struct job_spec spec = {
        .name = name,
        .key = name,
        .schedule = *schedule,
        .timing = { .worst_case_ms = 10 * MINUTE_MS,
                    .stop_grace_ms = 5 * SECOND_MS,
                    .command_timeout_ms = 3 * SECOND_MS,
                    .connect_timeout_ms = 10 * SECOND_MS,
                    .lease_cap_ms = MINUTE_MS },
        .splay_ms = SECOND_MS,
        .retry_delay_ms = MINUTE_MS,
        .retention_ms = 30 * DAY_MS,
        .attempts = 3,
    };
    int64_t smallest;

    spec.catch_up_ms = schedule_period_ms(schedule);
    print_schedule(&spec);
    assert_int_equal(timing_derive(&spec.timing, &smallest), 0);
    return spec;
}

struct job_spec play_cron_spec(const char *name, const char *cron, const struct zone *zone)
{
    struct schedule schedule = { .zone = zone };
    char why[CRON_WHY_SIZE];

    if (cron_parse(cron, &schedule.cron, why) < 0)
        fail_msg("%s: %s", cron, why);
    return play_spec(name, &schedule);
}

/* --- devices --- */

static struct boot boot_of(const struct play_device *d, int64_t now_ms)
{
    int64_t age = now_ms - d->born_ms;

    return (struct boot){ age + age * d->ppm / 1000000 };
}

/* The first server millisecond at which the device's clock shows `at`. */
static int64_t server_of(const struct play_device *d, struct boot at)
{
    int64_t ms;

    if (at.ms == BOOT_NEVER.ms)
        return INT64_MAX;
    ms = d->born_ms + at.ms * 1000000 / (1000000 + d->ppm) - 2;
    while (boot_of(d, ms).ms < at.ms)
        ms++;
    return ms;
}

static void begin_job(struct play *p, struct play_device *d, unsigned i)
{
    d->ends[i] = BOOT_NEVER;
    job_init(&d->jobs[i], &d->fake.fleet, &p->jobs[i].spec);
    job_begin(&d->jobs[i], boot_of(d, p->now_ms));
}

void play_switch_on(struct play *p, unsigned device)
{
    struct play_device *d = &p->devices[device];

    assert_false(d->up);
    d->up = true;
    d->born_ms = p->now_ms - unit_random_in(&p->random, 0, PLAY_AGE_MAX_MS);
    d->ppm = unit_random_in(&p->random, -PLAY_PPM_MAX, PLAY_PPM_MAX);
    d->starts = 0;
    fake_init(&d->fake, d->name, p->slots, (struct unit_random){ unit_random_next(&p->random) });
    for (unsigned i = 0; i < p->job_count; i++)
        begin_job(p, d, i);
}

void play_switch_off(struct play *p, unsigned device)
{
    struct play_device *d = &p->devices[device];

    assert_true(d->up);
    fake_done(&d->fake);
    d->up = false;
}

void play_switch_all(struct play *p, bool on)
{
    for (unsigned i = 0; i < p->device_count; i++) {
        if (on)
            play_switch_on(p, i);
        else
            play_switch_off(p, i);
    }
}

/* --- runs --- */

static void begin_run(struct play *p, struct play_device *d)
{
    unsigned i = (unsigned)(d->fake.started - d->jobs);
    struct boot now = boot_of(d, p->now_ms);

    assert_int_equal(d->fake.starts, d->starts + 1);
    assert_true(p->run_count < PLAY_RUNS_MAX);
    d->starts = d->fake.starts;
    d->ends[i] = boot_add(now, p->jobs[i].takes_ms);
    d->run_at[i] = p->run_count;
    p->runs[p->run_count++] = (struct play_run){ .job = i,
                                                 .device = (unsigned)(d - p->devices),
                                                 .turn_ms = d->jobs[i].turn.ms,
                                                 .begin_ms = p->now_ms };
    job_started(&d->jobs[i], now, now);
}

static void end_runs(struct play *p, struct play_device *d)
{
    struct boot now = boot_of(d, p->now_ms);

    for (unsigned i = 0; i < p->job_count; i++) {
        struct run_end end = { .exit = RUN_RETURNED,
                               .result = p->jobs[i].result,
                               .ran_ms = p->jobs[i].takes_ms,
                               .clean = true,
                               .detail = "" };

        if (!boot_reached(now, d->ends[i]))
            continue;
        d->ends[i] = BOOT_NEVER;
        p->runs[d->run_at[i]].end_ms = p->now_ms;
        job_ended(&d->jobs[i], now, &end);
    }
}

/* --- the store --- */

static struct memory_claim *record_of(struct play *p, const struct job_spec *spec)
{
    for (unsigned i = 0; i < p->job_count; i++)
        if (spec == &p->jobs[i].spec)
            return &p->jobs[i].record;
    fail_msg("a request for a job that is not there");
    return NULL;
}

static void serve(struct play *p, struct play_device *d)
{
    struct store_reply reply = { .status = STORE_ANSWERED, .server = { p->now_ms } };
    const struct store_request *q = &d->fake.request;

    p->commands++;
    if (q->verb != STORE_CLOCK)
        memory_answer(record_of(p, q->job), reply.server, q, &reply);
    fake_reply(&d->fake, reply, boot_of(d, p->now_ms));
    if (d->fake.starts != d->starts)
        begin_run(p, d);
}

static void forget(struct play_job *j)
{
    memset(&j->lock, 0, sizeof j->lock);
    j->record = (struct memory_claim){ .lock = &j->lock };
}

void play_empty_store(struct play *p)
{
    for (unsigned i = 0; i < p->job_count; i++)
        forget(&p->jobs[i]);
}

/* --- the play --- */

static void check(const struct play *p, const struct play_device *d)
{
    const char *why = "";

    if (!fleet_sound(&d->fake.fleet, boot_of(d, p->now_ms), 1, &why))
        fail_msg("%s: %s", d->name, why);
    assert_int_equal(d->fake.reports[REPORT_ILLEGAL], 0);
    assert_true(fleet_used(&d->fake.fleet) <= p->slots);
}

static void move(struct play *p, struct play_device *d)
{
    struct boot now = boot_of(d, p->now_ms);

    if (!d->up)
        return;
    end_runs(p, d);
    fleet_settle_timer(&d->fake.fleet);
    if (boot_reached(now, d->fake.armed)) {
        p->ticks++;
        fleet_tick(&d->fake.fleet, now);
    }
    while (fake_send(&d->fake, now))
        serve(p, d);
    fleet_settle_timer(&d->fake.fleet);
    check(p, d);
}

static int64_t next_of(const struct play *p, const struct play_device *d)
{
    struct boot at = d->fake.armed;

    if (!d->up)
        return INT64_MAX;
    if (d->fake.queued_count > 0)
        return p->now_ms;
    for (unsigned i = 0; i < p->job_count; i++)
        at = boot_min(at, d->ends[i]);
    return server_of(d, at);
}

static int64_t next_event(const struct play *p)
{
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < p->device_count; i++) {
        int64_t at = next_of(p, &p->devices[i]);

        next = at < next ? at : next;
    }
    return next;
}

void play_until(struct play *p, int64_t at_ms)
{
    for (;;) {
        int64_t next = next_event(p);

        next = next > p->now_ms ? next : p->now_ms + 1;
        if (next > at_ms)
            break;
        p->now_ms = next;
        for (unsigned i = 0; i < p->device_count; i++)
            move(p, &p->devices[i]);
    }
    p->now_ms = at_ms;
}

void play_init(struct play *p, struct unit_random random, int64_t begin_ms, unsigned devices)
{
    assert_true(devices <= PLAY_DEVICES_MAX);
    *p = (struct play){
        .random = random, .now_ms = begin_ms, .slots = PLAY_JOBS_MAX, .device_count = devices
    };
    for (unsigned i = 0; i < devices; i++)
        text_format(p->devices[i].name, sizeof p->devices[i].name, "dev%u", i);
}

void play_done(struct play *p)
{
    for (unsigned i = 0; i < p->device_count; i++)
        if (p->devices[i].up)
            fake_done(&p->devices[i].fake);
}

unsigned play_add(struct play *p, const struct job_spec *spec, int64_t takes_ms)
{
    unsigned i = p->job_count;

    assert_true(i < PLAY_JOBS_MAX);
    p->jobs[i] = (struct play_job){ .spec = *spec, .takes_ms = takes_ms };
    forget(&p->jobs[i]);
    p->job_count++;
    for (unsigned d = 0; d < p->device_count; d++)
        if (p->devices[d].up)
            begin_job(p, &p->devices[d], i);
    return i;
}

unsigned play_add_known(struct play *p, const struct job_spec *spec, int64_t takes_ms)
{
    unsigned i = play_add(p, spec, takes_ms);
    struct wall now = { p->now_ms };

    memory_assume(&p->jobs[i].record, now, &p->jobs[i].spec, schedule_latest(&spec->schedule, now));
    return i;
}

void play_edit(struct play *p, unsigned job, const struct job_spec *spec)
{
    for (unsigned i = 0; i < p->device_count; i++) {
        struct play_device *d = &p->devices[i];

        if (!d->up)
            continue;
        job_leave(&d->jobs[job], boot_of(d, p->now_ms), false);
        assert_int_equal(d->jobs[job].state, JOB_OFF);
        job_done(&d->jobs[job]);
    }
    p->jobs[job].spec = *spec;
    for (unsigned i = 0; i < p->device_count; i++)
        if (p->devices[i].up)
            begin_job(p, &p->devices[i], job);
}

/* --- what came of it --- */

size_t play_count(const struct play *p, unsigned job, int64_t from_ms, int64_t until_ms)
{
    size_t count = 0;

    for (size_t i = 0; i < p->run_count; i++)
        count += p->runs[i].job == job && p->runs[i].begin_ms >= from_ms &&
                 p->runs[i].begin_ms < until_ms;
    return count;
}

void play_expect(const struct play *p, unsigned job, const int64_t *turns, size_t count)
{
    size_t seen = 0;

    for (size_t i = 0; i < p->run_count; i++) {
        const struct play_run *r = &p->runs[i];
        int64_t late = r->begin_ms - r->turn_ms;

        if (r->job != job)
            continue;
        if (seen == count || r->turn_ms != turns[seen])
            fail_msg("%s: run %zu is of the turn at %lld s", p->jobs[job].spec.name, seen,
                     (long long)r->turn_ms / 1000);
        if (late < 0 || late > 2 * SECOND_MS)
            fail_msg("%s: the turn at %lld s is run %lld ms late", p->jobs[job].spec.name,
                     (long long)r->turn_ms / 1000, (long long)late);
        seen++;
    }
    if (seen != count)
        fail_msg("%s: %zu runs, not %zu", p->jobs[job].spec.name, seen, count);
}
