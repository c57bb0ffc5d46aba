/* SPDX-License-Identifier: MIT */
#include "support/world.h"

#include "base/text.h"
#include "base/units.h"
#include <string.h>

#define BEGIN_MS (INT64_C(1700000000) * 1000)

static bool chance(struct world *w, int64_t of_1000)
{
    return !w->quiet && unit_random_in(&w->random, 0, 999) < of_1000;
}

static int64_t between(struct world *w, int64_t least, int64_t most)
{
    return unit_random_in(&w->random, least, most);
}

static struct boot boot_of(const struct world_device *d, int64_t now_ms)
{
    int64_t age = now_ms - d->born_ms;

    return (struct boot){ age + age * d->ppm / 1000000 };
}

/* The first server millisecond at which the device's clock shows `at`. */
static int64_t server_of(const struct world_device *d, struct boot at)
{
    int64_t ms;

    if (at.ms == BOOT_NEVER.ms)
        return INT64_MAX;
    ms = d->born_ms + at.ms - at.ms * d->ppm / 1000000 - 2;
    while (boot_of(d, ms).ms < at.ms)
        ms++;
    return ms;
}

static unsigned index_of(const struct world *w, const struct job_spec *spec)
{
    for (unsigned i = 0; i < WORLD_JOBS; i++)
        if (spec == &w->jobs[i].spec)
            return i;
    fail_msg("a request for a job that is not there");
    return 0;
}

/* --- devices --- */

static void power_on(struct world *w, struct world_device *d)
{
    d->up = true;
    d->born_ms = w->now_ms - between(w, 0, 100000);
    d->ppm = between(w, -5000, 5000); /* half of what the margin allows */
    d->next_change_ms = w->now_ms + between(w, 10 * SECOND_MS, 10 * MINUTE_MS);
    d->link_up_ms = w->now_ms;
    d->flight = 0;
    d->starts = d->extends = d->stops = 0;
    memset(d->runs, 0, sizeof d->runs);
    fake_init(&d->fake, d->name, 2, (struct unit_random){ unit_random_next(&w->random) });
    for (unsigned i = 0; i < WORLD_JOBS; i++) {
        job_init(&d->jobs[i], &d->fake.fleet, &w->jobs[i].spec);
        job_begin(&d->jobs[i], boot_of(d, w->now_ms));
    }
}

/* Every process of it is gone at once; what is on its way to the store still arrives. */
static void power_off(struct world *w, struct world_device *d)
{
    fake_done(&d->fake);
    d->up = false;
    d->flight = 0;
    d->next_change_ms = w->now_ms + between(w, 100, 60 * SECOND_MS);
    w->seen.deaths++;
}

static void change_power(struct world *w, struct world_device *d)
{
    if (w->now_ms < d->next_change_ms)
        return;
    if (!d->up)
        power_on(w, d);
    else if (w->quiet)
        d->next_change_ms = INT64_MAX;
    else
        power_off(w, d);
}

/* --- runs --- */

static int *starts_of(struct world_job *j, int64_t turn)
{
    size_t slot = (size_t)(turn / j->spec.schedule.every_ms) % WORLD_TURNS_KEPT;

    if (j->turns[slot].turn < turn) {
        j->turns[slot].turn = turn;
        j->turns[slot].starts = 0;
    }
    return j->turns[slot].turn == turn ? &j->turns[slot].starts : NULL;
}

static int draw_result(struct world *w)
{
    int64_t dice = w->quiet ? 0 : between(w, 0, 99);

    if (dice < 60)
        return 0;
    if (dice < 65)
        return 1;
    if (dice < 80)
        return 2;
    if (dice < 82)
        return 3;
    return dice < 90 ? 4 : -1;
}

static void begin_run(struct world *w, struct world_device *d, unsigned i)
{
    struct world_job *j = &w->jobs[i];
    struct world_run *run = &d->runs[i];
    struct boot now = boot_of(d, w->now_ms);
    const struct timing *t = &j->spec.timing;
    int *starts = starts_of(j, d->jobs[i].turn.ms);

    assert_false(run->active);
    /* nothing but a grant that was heard starts a worker */
    assert_true(d->replied && d->reply.status == STORE_ANSWERED);
    assert_int_equal(d->reply.acquire.answer, ACQUIRE_GRANTED);
    if (run->token[0] && run->truth == OUTCOME_SUCCEEDED && !run->recorded)
        fail_msg("job %u: the success of turn %lld was never told", i, (long long)run->turn.ms);
    *run = (struct world_run){ .active = true, .turn = d->jobs[i].turn, .truth = OUTCOME_VANISHED };
    lease_token_text(&d->jobs[i].lease, run->token);
    run->deadline = d->jobs[i].lease.deadline;
    run->first_instruction = boot_add(now, between(w, 1, TIMING_START_MS));
    run->overrun = boot_add(run->first_instruction, t->worst_case_ms);
    run->returns =
        boot_add(run->first_instruction,
                 chance(w, 50) ? 3 * t->worst_case_ms : between(w, 1, t->worst_case_ms - 1));
    run->dies = run->emptied = BOOT_NEVER;
    run->result = draw_result(w);
    w->seen.starts++;
    if (starts && ++*starts > (int)j->spec.attempts)
        fail_msg("job %u: turn %lld is started more often than %u times", i,
                 (long long)run->turn.ms, j->spec.attempts);
}

/* What the core wished for since the last look; one call of it makes at most one wish of a kind. */
static void notice(struct world *w, struct world_device *d)
{
    struct fake *f = &d->fake;

    if (f->starts != d->starts)
        begin_run(w, d, (unsigned)(f->started - d->jobs));
    if (f->extends != d->extends) {
        struct world_run *run = &d->runs[f->extended - d->jobs];

        assert_true(f->extended->lease.deadline.ms >= run->deadline.ms); /* D never moves back */
        if (run->active && run->stop == RUN_NOT_STOPPED)
            run->deadline = f->extended->lease.deadline;
    }
    if (f->stops != d->stops) {
        struct world_run *run = &d->runs[f->stopped - d->jobs];

        if (run->stop == RUN_NOT_STOPPED) {
            run->stop = RUN_STOPPED_ORDERED;
            run->reason = f->stop_reason;
            run->dies = boot_add(boot_of(d, w->now_ms), between(w, 0, SECOND_MS));
        }
    }
    d->starts = f->starts;
    d->extends = f->extends;
    d->stops = f->stops;
    assert_int_equal(f->reports[REPORT_ILLEGAL], 0);
}

static void end_run(struct world *w, struct world_device *d, unsigned i, bool returned)
{
    struct world_run *run = &d->runs[i];
    struct run_end end = { .exit = returned && run->result >= 0 ? RUN_RETURNED : RUN_BROKE,
                           .stop = run->stop,
                           .reason = run->reason,
                           .result = run->result,
                           .ran_ms = 1,
                           .clean = !chance(w, 10),
                           .detail = "" };

    run->active = false;
    run->tree_left = !end.clean;
    run->emptied =
        end.clean ? BOOT_NEVER : boot_add(boot_of(d, w->now_ms), between(w, 1, MINUTE_MS));
    if (returned && run->result >= 0 && run->result <= 1 && run->stop == RUN_NOT_STOPPED)
        run->truth = OUTCOME_SUCCEEDED;
    else if (returned && run->result == 4 && run->stop == RUN_NOT_STOPPED)
        run->truth = OUTCOME_DECLINED;
    w->seen.crashes += end.exit == RUN_BROKE && run->stop == RUN_NOT_STOPPED;
    w->seen.overruns += run->stop == RUN_STOPPED_OVERRUN;
    w->seen.lost += run->stop == RUN_STOPPED_DEADLINE;
    job_ended(&d->jobs[i], boot_of(d, w->now_ms), &end);
}

static struct boot stop_at(const struct world *w, const struct world_run *run, unsigned i)
{
    return boot_min(run->overrun, boot_add(run->deadline, -w->jobs[i].spec.timing.stop_grace_ms));
}

static void guard(struct world *w, struct world_device *d, unsigned i)
{
    struct world_run *run = &d->runs[i];
    struct boot now = boot_of(d, w->now_ms);
    int64_t grace = w->jobs[i].spec.timing.stop_grace_ms;

    if (run->tree_left && boot_reached(now, run->emptied)) {
        run->tree_left = false;
        job_emptied(&d->jobs[i], now);
    }
    if (!run->active)
        return;
    if (run->stop == RUN_NOT_STOPPED && boot_reached(now, stop_at(w, run, i))) {
        run->stop =
            stop_at(w, run, i).ms == run->overrun.ms ? RUN_STOPPED_OVERRUN : RUN_STOPPED_DEADLINE;
        if (!chance(w, 700)) /* most have to be killed */
            grace = between(w, 0, grace);
        run->dies = boot_add(stop_at(w, run, i), grace);
    }
    if (!run->started && boot_reached(now, run->first_instruction)) {
        run->started = true;
        job_started(&d->jobs[i], now, run->first_instruction);
    }
    if (boot_reached(now, run->returns) || boot_reached(now, run->dies))
        end_run(w, d, i, boot_reached(now, run->returns));
}

/* --- the link --- */

static void send(struct world *w, struct world_device *d)
{
    struct world_packet *p = w->packets;
    struct boot now = boot_of(d, w->now_ms);

    if (d->flight || w->now_ms < d->link_up_ms || !fake_send(&d->fake, now))
        return;
    d->flight = ++w->flights;
    d->replied = false;
    d->times_out = boot_add(now, w->jobs[0].spec.timing.command_timeout_ms);
    if (chance(w, 40)) /* the request is lost */
        return;
    while (p->used)
        assert_true(++p < w->packets + WORLD_PACKETS_MAX);
    *p = (struct world_packet){
        .used = true, .device = d, .flight = d->flight, .request = d->fake.request
    };
    p->arrives_ms =
        w->now_ms + (chance(w, 30) ? between(w, 100, 20 * SECOND_MS) : between(w, 1, 60));
    p->reply_takes_ms = chance(w, 150) ? between(w, 100, 600) : between(w, 1, 60);
    p->reply_lost = chance(w, 40);
    text_copy(p->token, sizeof p->token, d->fake.token);
    p->request.token = p->token;
    p->request.detail = "";
    if (p->request.verb != STORE_CLOCK)
        p->job = index_of(w, p->request.job);
}

static struct store_reply acquire(struct world *w, const struct world_packet *p)
{
    struct world_job *j = &w->jobs[p->job];
    struct store_reply reply = { 0 };

    memory_answer(&j->record, (struct wall){ w->now_ms }, &p->request, &reply);
    if (reply.acquire.answer == ACQUIRE_GRANTED && reply.acquire.turn.ms <= j->done)
        fail_msg("job %u: turn %lld is done, and granted again", p->job,
                 (long long)reply.acquire.turn.ms);
    return reply;
}

/* By what the worker really did, whatever the device says of it. */
static void note_recorded(struct world *w, const struct world_packet *p)
{
    struct world_job *j = &w->jobs[p->job];
    struct world_run *run = &p->device->runs[p->job];
    int *starts;

    if (!p->device->up || strcmp(run->token, p->token) != 0)
        return;
    run->recorded = true;
    if (run->truth == OUTCOME_SUCCEEDED && run->turn.ms > j->done) {
        j->done = run->turn.ms;
        w->seen.successes++;
    }
    if (run->truth == OUTCOME_DECLINED && !run->given_back && j->spec.attempts > 1) {
        starts = starts_of(j, run->turn.ms);
        run->given_back = true;
        if (starts)
            --*starts;
    }
}

static struct store_reply serve(struct world *w, struct world_packet *p)
{
    struct store_reply reply = { 0 };

    if (chance(w, 10))
        return (struct store_reply){ .status = STORE_ERROR, .error = "LOADING" };
    if (p->request.verb == STORE_ACQUIRE)
        return acquire(w, p);
    memory_answer(&w->jobs[p->job].record, (struct wall){ w->now_ms }, &p->request, &reply);
    if (p->request.verb == STORE_FINISH)
        note_recorded(w, p);
    return reply;
}

/* It is the record's, which changes before the reply has come. */
static void keep_text(struct world_device *d, enum store_verb verb)
{
    const char **text = verb == STORE_ACQUIRE ? &d->reply.acquire.holder : &d->reply.renew.why;

    if (d->reply.status != STORE_ANSWERED || (verb != STORE_ACQUIRE && verb != STORE_RENEW))
        return;
    text_copy(d->text, sizeof d->text, *text);
    *text = d->text;
}

static void arrive(struct world *w, struct world_packet *p)
{
    struct world_device *d = p->device;
    struct store_reply reply;

    if (!p->used || w->now_ms < p->arrives_ms)
        return;
    p->used = false;
    reply = serve(w, p);
    if (p->reply_lost || d->flight != p->flight)
        return;
    d->replied = true;
    d->reply_ms = w->now_ms + p->reply_takes_ms;
    d->reply = reply;
    keep_text(d, p->request.verb);
}

static void receive(struct world *w, struct world_device *d)
{
    struct boot now = boot_of(d, w->now_ms);

    if (!d->flight)
        return;
    if (d->replied && w->now_ms >= d->reply_ms) {
        d->flight = 0;
        if (d->fake.flying) /* else it was cancelled meanwhile */
            fake_reply(&d->fake, d->reply, now);
    } else if (boot_reached(now, d->times_out)) {
        d->flight = 0;
        d->link_up_ms =
            w->now_ms + (chance(w, 200) ? between(w, 0, 40 * SECOND_MS) : between(w, 0, SECOND_MS));
        w->seen.unanswered++;
        if (d->fake.flying)
            fake_reply(&d->fake, (struct store_reply){ .status = STORE_NO_ANSWER, .error = "" },
                       now);
    }
}

/* --- the play --- */

static void tick(struct world *w, struct world_device *d)
{
    struct boot now = boot_of(d, w->now_ms);

    fleet_settle_timer(&d->fake.fleet);
    if (!boot_reached(now, d->fake.armed))
        return;
    fleet_tick(&d->fake.fleet, now);
    notice(w, d);
}

static void move(struct world *w, struct world_device *d)
{
    change_power(w, d);
    if (!d->up)
        return;
    receive(w, d);
    notice(w, d);
    for (unsigned i = 0; i < WORLD_JOBS; i++) {
        guard(w, d, i);
        notice(w, d);
    }
    tick(w, d);
    send(w, d);
    notice(w, d);
}

static void check(const struct world *w, const struct world_device *d)
{
    const char *why = "";
    unsigned running = 0;

    if (!d->up)
        return;
    if (!fleet_sound(&d->fake.fleet, boot_of(d, w->now_ms), 1, &why))
        fail_msg("%s: %s", d->name, why);
    for (unsigned i = 0; i < WORLD_JOBS; i++) {
        const struct world_run *run = &d->runs[i];
        const char *holder = memory_holder(&w->jobs[i].lock, (struct wall){ w->now_ms });

        running += run->active || run->tree_left;
        if (run->active && strcmp(holder, run->token) != 0)
            fail_msg("%s: job %u runs, and its lock is %s", d->name, i,
                     holder[0] ? "another's" : "nobody's");
        if (run->active && boot_reached(boot_of(d, w->now_ms), boot_add(run->deadline, 1)))
            fail_msg("%s: job %u runs past its deadline", d->name, i);
        if (d->jobs[i].armed.ms == BOOT_NEVER.ms && !run->active && !run->tree_left &&
            !d->fake.flying && d->fake.queued_count == 0 && d->fake.armed.ms == BOOT_NEVER.ms)
            fail_msg("%s: job %u is in %s with nothing to wake it", d->name, i,
                     job_state_name(d->jobs[i].state));
    }
    assert_true(running <= d->fake.fleet.slots);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_of(const struct world *w, const struct world_device *d)
{
    struct boot at = d->fake.armed;
    int64_t next = d->next_change_ms;

    if (!d->up)
        return next;
    for (unsigned i = 0; i < WORLD_JOBS; i++) {
        const struct world_run *run = &d->runs[i];

        if (run->tree_left)
            at = boot_min(at, run->emptied);
        if (!run->active)
            continue;
        at = boot_min(at, boot_min(run->returns, run->dies));
        if (!run->started)
            at = boot_min(at, run->first_instruction);
        if (run->stop == RUN_NOT_STOPPED)
            at = boot_min(at, stop_at(w, run, i));
    }
    if (d->flight)
        at = boot_min(at, d->times_out);
    else if (d->fake.queued_count > 0)
        next = earlier(next, d->link_up_ms);
    if (d->flight && d->replied)
        next = earlier(next, d->reply_ms);
    return earlier(next, server_of(d, at));
}

static int64_t next_event(const struct world *w)
{
    int64_t next = INT64_MAX;

    for (unsigned i = 0; i < WORLD_DEVICES; i++)
        next = earlier(next, next_of(w, &w->devices[i]));
    for (unsigned i = 0; i < WORLD_PACKETS_MAX; i++)
        if (w->packets[i].used)
            next = earlier(next, w->packets[i].arrives_ms);
    return next;
}

void world_play(struct world *w, int64_t ms)
{
    int64_t end = w->now_ms + ms;

    for (;;) {
        int64_t next = next_event(w);

        if (next > end)
            break;
        w->now_ms = next > w->now_ms ? next : w->now_ms + 1;
        for (unsigned i = 0; i < WORLD_PACKETS_MAX; i++)
            arrive(w, &w->packets[i]);
        for (unsigned i = 0; i < WORLD_DEVICES; i++)
            move(w, &w->devices[i]);
        for (unsigned i = 0; i < WORLD_DEVICES; i++)
            check(w, &w->devices[i]);
    }
    w->now_ms = end;
}

static struct job_spec make_spec(const char *name, int64_t every_ms, int64_t worst_case_ms,
                                 uint32_t attempts)
{
    struct job_spec spec = {
        .name = name,
        .key = name,
        .schedule_print = "grid",
        .schedule = { .every_ms = every_ms, .offset_ms = every_ms / 7 },
        .timing = { .worst_case_ms = worst_case_ms,
                    .stop_grace_ms = SECOND_MS,
                    .command_timeout_ms = 700,
                    .connect_timeout_ms = SECOND_MS,
                    .lease_cap_ms = 7 * SECOND_MS },
        .splay_ms = SECOND_MS,
        .catch_up_ms = every_ms,
        .retry_delay_ms = SECOND_MS,
        .retention_ms = DAY_MS,
        .attempts = attempts,
    };
    int64_t smallest;

    assert_int_equal(timing_derive(&spec.timing, &smallest), 0);
    return spec;
}

void world_init(struct world *w, struct unit_random random)
{
    *w = (struct world){ .random = random, .now_ms = BEGIN_MS };
    w->jobs[0].spec = make_spec("short", 10 * SECOND_MS, SECOND_MS, 3);
    w->jobs[1].spec = make_spec("renewed", 20 * SECOND_MS, 12 * SECOND_MS, 2);
    w->jobs[2].spec = make_spec("once", 15 * SECOND_MS, 2 * SECOND_MS, 1);
    assert_true(w->jobs[1].spec.timing.renew_ms > 0);
    for (unsigned i = 0; i < WORLD_JOBS; i++)
        w->jobs[i].record.lock = &w->jobs[i].lock;
    for (unsigned i = 0; i < WORLD_DEVICES; i++) {
        text_format(w->devices[i].name, sizeof w->devices[i].name, "dev%u", i);
        power_on(w, &w->devices[i]);
    }
}

void world_done(struct world *w)
{
    for (unsigned i = 0; i < WORLD_DEVICES; i++)
        if (w->devices[i].up)
            fake_done(&w->devices[i].fake);
}
