/* SPDX-License-Identifier: MIT */
#include "redis/differ/play.h"

#include "base/units.h"
#include <string.h>

/* So many of 100 questions come by another configuration, at most. */
#define MIXED 40

static const int64_t periods[SIDES_JOBS] = { MINUTE_MS, 10 * SECOND_MS, 30 * SECOND_MS };

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(struct play *p)
{
    uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t play_between(struct play *p, int64_t least, int64_t greatest)
{
    return least + (int64_t)(next_random(p) % (uint64_t)(greatest - least + 1));
}

bool play_chance(struct play *p, int64_t of_100)
{
    return play_between(p, 0, 99) < of_100;
}

int64_t play_pick(struct play *p, const int64_t *values, size_t count)
{
    return values[play_between(p, 0, (int64_t)count - 1)];
}

static struct play_job draw_job(struct play *p, int64_t number)
{
    return (struct play_job){ .scope = play_chance(p, 50),
                              .most = play_between(p, 1, 3),
                              .brake = PLAY_PICK(p, 0, 0, 1, 2, 3),
                              .version = PLAY_PICK(p, 0, 0, 0, 1),
                              .config = number + 1,
                              .print = number + 1 };
}

/* Long queues come about only so. */
static void make_crowd(struct play *p)
{
    p->crowd = true;
    p->devices = SIDES_DEVICES;
    p->jobs[0] = (struct play_job){ .scope = 1, .most = play_between(p, 1, 2), .print = 1 };
    p->edits = p->mixed = 0;
    p->keep_ms = DAY_MS;
}

/* More than are kept. */
static void make_many_configurations(struct play *p)
{
    p->calm = true;
    p->fleets = 95;
    p->digests = 90;
    p->keep_ms = DAY_MS;
}

void play_reset(struct play *p)
{
    struct play next = { .random = p->random };

    memcpy(next.met, p->met, sizeof next.met);
    for (int64_t i = 0; i < SIDES_JOBS; i++)
        next.jobs[i] = draw_job(&next, i);
    next.edits = PLAY_PICK(&next, 2, 5, 60);
    next.mixed = PLAY_PICK(&next, 0, 5, MIXED);
    next.keep_ms = PLAY_PICK(&next, 0, HOUR_MS, DAY_MS);
    next.fleets = PLAY_PICK(&next, 2, 2, 2, 2, 2, 90);
    next.digests = PLAY_PICK(&next, 3, 12);
    next.devices = PLAY_PICK(&next, 2, 5, 8);
    next.jumps = play_chance(&next, 50);
    if (play_chance(&next, 10))
        make_crowd(&next);
    else if (play_chance(&next, 10))
        make_many_configurations(&next);
    *p = next;
}

/* Around what the claim or the device has had, and what is due. */
static int64_t draw_turn(struct play *p, const struct sides *s, int64_t job, int64_t scope)
{
    const struct sides_job *j = &s->jobs[job];
    int64_t now = s->now.ms, period = periods[job], due = now - now % period;
    int64_t turn = j->record.turn.ms, done = j->record.done.ms;

    if (scope && j->seats.devices > 0) {
        uint32_t any = (uint32_t)play_between(p, 0, j->seats.devices - 1);

        turn = j->device_room[any].turn.ms;
        done = j->device_room[any].done.ms;
    }
    switch (play_between(p, 0, 10)) {
    case 0:
        return due - period * play_between(p, 1, 3);
    case 1:
        return due + period;
    case 2:
    case 5:
    case 6:
    case 7:
        return turn ? turn : due;
    case 3:
        return done ? done + play_between(p, 0, 1) : due;
    case 4:
        return now;
    default:
        return due;
    }
}

static int64_t draw_scope(struct play *p, int64_t job)
{
    return play_chance(p, p->mixed / 3) ? !p->jobs[job].scope : p->jobs[job].scope;
}

/* Mostly one that is known. */
static struct play_run draw_run(struct play *p, const struct sides *s)
{
    unsigned known = p->run_count < PLAY_RUNS ? p->run_count : PLAY_RUNS;
    struct play_run run = { .job = play_between(p, 0, SIDES_JOBS - 1),
                            .device = play_between(p, 0, p->devices - 1),
                            .attempt = play_between(p, 1, 3),
                            .fence = play_between(p, 1, 100) };

    if (known && play_chance(p, 93)) {
        run = p->runs[play_chance(p, 60) ? (p->run_count - 1) % PLAY_RUNS
                                         : (unsigned)play_between(p, 0, known - 1)];
    } else {
        run.scope = draw_scope(p, run.job);
        run.turn = draw_turn(p, s, run.job, run.scope);
    }
    if (!run.token)
        run.token = play_between(p, 1, p->tokens + 1);
    if (play_chance(p, 4))
        run.attempt = play_between(p, 1, 3);
    if (play_chance(p, 4))
        run.turn = draw_turn(p, s, run.job, run.scope);
    if (play_chance(p, 3))
        run.device = play_between(p, 0, p->devices - 1);
    return run;
}

static int64_t draw_keep(struct play *p)
{
    return p->keep_ms ? p->keep_ms : PLAY_PICK(p, HOUR_MS, DAY_MS, 20 * SECOND_MS);
}

static void draw_common(struct play *p, int64_t *f)
{
    const struct play_job *j = &p->jobs[f[FIELD_JOB]];

    f[FIELD_BOOT] = play_between(p, 1, 2);
    f[FIELD_KEEP] = draw_keep(p);
    f[FIELD_HISTORY] = PLAY_PICK(p, 0, 1, 100);
    f[FIELD_ATTEMPTS] = play_chance(p, 15) ? play_between(p, 1, 3) : f[FIELD_JOB] + 1;
    f[FIELD_TTL] = PLAY_PICK(p, SECOND_MS, 10 * SECOND_MS, 10 * SECOND_MS, 30 * SECOND_MS, 1234);
    f[FIELD_LEASE] = 10 * SECOND_MS;
    f[FIELD_MOST] = play_chance(p, 5) ? play_between(p, 1, 3) : j->most;
    f[FIELD_BRAKE] = play_chance(p, 5) ? play_between(p, 0, 3) : j->brake;
    f[FIELD_VERSION] = play_chance(p, p->mixed) ? play_between(p, 0, 2) : j->version;
    f[FIELD_CONFIG] = play_chance(p, p->mixed) ? play_between(p, 1, 3) : j->config;
}

static int64_t draw_print(struct play *p, int64_t job)
{
    if (play_chance(p, 3))
        p->jobs[job].print = play_between(p, 1, 6);
    return play_chance(p, p->edits) ? play_between(p, 1, 6) : p->jobs[job].print;
}

static struct step draw_acquire(struct play *p, const struct sides *s)
{
    struct step step = { .kind = STEP_ACQUIRE };
    int64_t *f = step.field;

    f[FIELD_JOB] = play_between(p, 0, SIDES_JOBS - 1);
    f[FIELD_SCOPE] = draw_scope(p, f[FIELD_JOB]);
    f[FIELD_DEVICE] = play_between(p, 0, p->devices - 1);
    f[FIELD_TOKEN] = ++p->tokens;
    f[FIELD_TURN] = draw_turn(p, s, f[FIELD_JOB], f[FIELD_SCOPE]);
    if (play_chance(p, 35)) { /* asked again */
        struct play_run run = draw_run(p, s);

        f[FIELD_JOB] = run.job;
        f[FIELD_SCOPE] = run.scope;
        f[FIELD_DEVICE] = run.device;
        f[FIELD_TOKEN] = run.token;
        if (play_chance(p, 70))
            f[FIELD_TURN] = run.turn;
    }
    f[FIELD_NEXT] = f[FIELD_TURN] + periods[f[FIELD_JOB]] * PLAY_PICK(p, 1, 1, 1, 3);
    if (play_chance(p, 8)) { /* by hand */
        f[FIELD_TURN] = 0;
        f[FIELD_NEXT] = PLAY_PICK(p, 0, 0, STORE_NEXT_FORCED);
    }
    draw_common(p, f);
    f[FIELD_FENCE] = PLAY_PICK(p, 0, 0, 0, s->now.ms + 1000, (int64_t)s->jobs[0].record.fence);
    f[FIELD_FRESH] =
        PLAY_PICK(p, 13 * SECOND_MS, 13 * SECOND_MS, INT64_C(1) << 52, INT64_C(1) << 52, 0);
    f[FIELD_FIRST] = play_chance(p, 70);
    f[FIELD_PRINT] = draw_print(p, f[FIELD_JOB]);
    return step;
}

static int64_t draw_outcome(struct play *p)
{
    if (p->mixed == MIXED && play_chance(p, 40))
        return OUTCOME_SUCCEEDED; /* of versions, one after another */
    if (play_chance(p, 30))
        return PLAY_PICK(p, OUTCOME_FAILED, OUTCOME_FAILED, OUTCOME_CRASHED);
    return play_between(p, OUTCOME_SUCCEEDED, OUTCOME_UNSTARTED);
}

static struct step draw_run_step(struct play *p, const struct sides *s, enum step_kind kind)
{
    struct play_run run = draw_run(p, s);
    struct step step = { .kind = kind };
    int64_t *f = step.field;

    f[FIELD_JOB] = run.job;
    f[FIELD_SCOPE] = run.scope;
    f[FIELD_DEVICE] = run.device;
    f[FIELD_TOKEN] = run.token;
    f[FIELD_TURN] = run.turn;
    f[FIELD_ATTEMPT] = run.attempt;
    f[FIELD_FENCE] = run.fence;
    draw_common(p, f);
    f[FIELD_OUTCOME] = draw_outcome(p);
    f[FIELD_COVERS] = PLAY_PICK(p, 0, run.turn, run.turn + periods[run.job], s->now.ms);
    f[FIELD_DELAY] = PLAY_PICK(p, 0, 5 * SECOND_MS, MINUTE_MS, MINUTE_MS, HOUR_MS);
    f[FIELD_CLEAN] = play_chance(p, 90);
    f[FIELD_DETAIL] = play_between(p, 0, 2);
    return step;
}

static struct step draw_operator(struct play *p)
{
    struct step step = { .kind = STEP_UNLOCK };
    int64_t *f = step.field, kind = play_between(p, 0, 99);

    f[FIELD_JOB] = play_between(p, 0, SIDES_JOBS - 1);
    if (kind < 25) {
        step.kind = STEP_LOCK;
        f[FIELD_VALUE] = p->tokens && play_chance(p, 60) ? play_between(p, 1, p->tokens)
                                                         : play_between(p, -1, 0);
        f[FIELD_PX] = PLAY_PICK(p, 0, 1, SECOND_MS, 20 * SECOND_MS);
    } else if (kind < 35) {
        step.kind = STEP_PAUSE;
        f[FIELD_VALUE] = play_between(p, 0, SIDES_TEXTS - 1);
        f[FIELD_PX] = PLAY_PICK(p, 0, 0, 1, SECOND_MS, 20 * SECOND_MS);
    } else if (kind < 75) {
        step.kind = STEP_RESUME;
        f[FIELD_CATCH_UP] = play_chance(p, 50);
    } else if (kind < 79) {
        step.kind = STEP_LAYOUT;
        f[FIELD_VALUE] = PLAY_PICK(p, 0, 1, 2);
    } else if (kind < 82) {
        step.kind = STEP_FORGET;
    } else if (kind < 85) {
        step.kind = STEP_FLUSH;
    }
    return step;
}

static struct step draw_hello(struct play *p)
{
    struct step step = { .kind = STEP_HELLO };
    int64_t *f = step.field;

    f[FIELD_DEVICE] = play_between(p, 0, p->devices - 1);
    f[FIELD_BOOT] = play_chance(p, 80) ? f[FIELD_DEVICE] + 1 : play_between(p, 0, 9);
    f[FIELD_WEIGHT] = PLAY_PICK(p, 0, -1, 10 * MINUTE_MS, 10 * MINUTE_MS, 6 * HOUR_MS,
                                play_between(p, 1, 100 * HOUR_MS), 40 * DAY_MS);
    f[FIELD_DIGEST] = play_chance(p, 90) ? play_between(p, 1, p->digests) : 0;
    f[FIELD_JOBS] = play_between(p, 0, 15);
    f[FIELD_KEEP] = draw_keep(p);
    return step;
}

static struct step draw_fleet(struct play *p, const struct sides *s)
{
    struct step step = { .kind = STEP_CONFIG_GET };
    int64_t *f = step.field, kind = play_between(p, 0, 99);

    if (kind < (p->calm ? 25 : 45))
        return draw_hello(p);
    f[FIELD_KEEP] = draw_keep(p);
    f[FIELD_DIGEST] = play_between(p, 1, p->digests);
    if (!p->calm && kind < 60) {
        step.kind = STEP_INDEX;
        f[FIELD_JOB] = play_between(p, 0, SIDES_JOBS - 1);
        f[FIELD_TURN] = draw_turn(p, s, f[FIELD_JOB], 0);
    } else if (kind < 90) {
        step.kind = STEP_CONFIG_PUT;
        f[FIELD_VALUE] = play_between(p, 0, 2);
    }
    return step;
}

/* All of the first job, by schedule and in time. */
static struct step draw_in_crowd(struct play *p, const struct sides *s)
{
    struct step step = { .kind = STEP_ACQUIRE };
    int64_t *f = step.field, kind = play_between(p, 0, 99);

    if (kind < 5)
        return (struct step){ .kind = STEP_CLOCK, .field = { [FIELD_AT] = play_clock(p, s) } };
    if (kind < 20 && p->run_count > 0)
        return draw_run_step(p, s, STEP_FINISH);
    f[FIELD_SCOPE] = 1;
    f[FIELD_DEVICE] = play_between(p, 0, p->devices - 1);
    f[FIELD_TOKEN] = ++p->tokens;
    f[FIELD_TURN] = s->now.ms - s->now.ms % periods[0];
    f[FIELD_NEXT] = f[FIELD_TURN] + periods[0];
    draw_common(p, f);
    f[FIELD_PRINT] = p->jobs[0].print;
    return step;
}

struct step play_draw(struct play *p, const struct sides *s)
{
    int64_t kind = play_between(p, 0, 99);

    if (p->crowd)
        return draw_in_crowd(p, s);
    if (kind < 20)
        return (struct step){ .kind = STEP_CLOCK, .field = { [FIELD_AT] = play_clock(p, s) } };
    if (play_chance(p, p->fleets))
        return draw_fleet(p, s);
    if (kind < 65)
        return draw_acquire(p, s);
    if (kind < 75)
        return draw_run_step(p, s, STEP_RENEW);
    if (kind < 92)
        return draw_run_step(p, s, STEP_FINISH);
    if (kind < 99)
        return draw_operator(p);
    return (struct step){ .kind = STEP_TIME };
}

void play_note(struct play *p, const struct step *step, const struct sides *s)
{
    const struct store_reply *reply = &s->reply;

    play_meet(p, step, reply);
    if (step->kind != STEP_ACQUIRE ||
        (reply->acquire.answer != ACQUIRE_GRANTED && reply->acquire.answer != ACQUIRE_SPARE))
        return;
    p->runs[p->run_count++ % PLAY_RUNS] = (struct play_run){
        .job = step->field[FIELD_JOB],
        .scope = step->field[FIELD_SCOPE],
        .device = step->field[FIELD_DEVICE],
        .token = step->field[FIELD_TOKEN],
        .turn = reply->acquire.turn.ms,
        .attempt = reply->acquire.attempt,
        .fence = (int64_t)reply->acquire.fence,
    };
}
