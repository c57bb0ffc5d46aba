/* SPDX-License-Identifier: MIT */
#include "redis/differ/play.h"

#include "base/units.h"
#include <inttypes.h>
#include <string.h>

static const int64_t periods[SIDES_JOBS] = { MINUTE_MS, 10 * SECOND_MS, 30 * SECOND_MS };

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(struct play *p)
{
    uint64_t z = p->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in least ... greatest. */
static int64_t between(struct play *p, int64_t least, int64_t greatest)
{
    return least + (int64_t)(next_random(p) % (uint64_t)(greatest - least + 1));
}

static bool chance(struct play *p, int64_t of_100)
{
    return between(p, 0, 99) < of_100;
}

static int64_t pick(struct play *p, const int64_t *values, size_t count)
{
    return values[between(p, 0, (int64_t)count - 1)];
}
#define PICK(p, ...)                                                                               \
    pick(p, (const int64_t[]){ __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

void play_reset(struct play *p)
{
    struct play next = { .random = p->random, .prints = { 1, 2, 3 } };

    memcpy(next.met, p->met, sizeof next.met);
    next.edits = PICK(&next, 5, 5, 60);
    next.keep_ms = PICK(&next, 0, HOUR_MS, DAY_MS);
    next.jumps = chance(&next, 50);
    *p = next;
}

static const struct memory_record *any_record(struct play *p, const struct sides *s)
{
    return &s->records[between(p, 0, SIDES_JOBS - 1)];
}

/* An instant at which something changes, its neighbours, or some time later or earlier. */
static int64_t draw_clock(struct play *p, const struct sides *s)
{
    const struct memory_record *r = any_record(p, s);
    int64_t now = s->now.ms, kind = between(p, 0, 99);

    if (p->before_jump_ms && chance(p, 40)) {
        now = p->before_jump_ms;
        p->before_jump_ms = 0;
        return now;
    }
    if (kind < 35)
        return now + between(p, 0, 2 * SECOND_MS);
    if (kind < 50)
        return now + between(p, 2 * SECOND_MS, 2 * MINUTE_MS);
    if (kind < 65 && r->lock->value[0] && !r->lock->endless)
        return r->lock->until.ms + between(p, -1, 1);
    if (kind < 75 && r->retry.ms)
        return r->retry.ms + between(p, -1, 1);
    if (kind < 80 && r->sights[0].print[0])
        return r->sights[0].until.ms + between(p, -1, 1);
    if (kind < 86 && r->expires.ms)
        return r->expires.ms + between(p, -1, 1);
    if (kind < 92 || !p->jumps)
        return now - between(p, 1, MINUTE_MS);
    p->before_jump_ms = now;
    return now + PICK(p, -HOUR_MS, HOUR_MS, DAY_MS, 10 * DAY_MS);
}

static int64_t draw_turn(struct play *p, const struct sides *s, int64_t job)
{
    const struct memory_record *r = &s->records[job];
    int64_t now = s->now.ms, period = periods[job], due = now - now % period;

    switch (between(p, 0, 10)) {
    case 0:
        return due - period * between(p, 1, 3);
    case 1:
        return due + period;
    case 2:
    case 5:
        return r->turn.ms ? r->turn.ms : due;
    case 3:
        return r->done.ms ? r->done.ms + between(p, 0, 1) : due;
    case 4:
        return now;
    default:
        return due;
    }
}

/* Mostly one that is known. */
static struct play_run draw_run(struct play *p, const struct sides *s)
{
    unsigned known = p->run_count < PLAY_RUNS ? p->run_count : PLAY_RUNS;
    struct play_run run = { .job = between(p, 0, SIDES_JOBS - 1),
                            .attempt = between(p, 1, 3),
                            .fence = between(p, 1, 100) };

    if (known && chance(p, 93))
        run = p->runs[chance(p, 60) ? (p->run_count - 1) % PLAY_RUNS
                                    : (unsigned)between(p, 0, known - 1)];
    else
        run.turn = draw_turn(p, s, run.job);
    if (!run.token)
        run.token = between(p, 1, p->tokens + 1);
    if (chance(p, 4))
        run.attempt = between(p, 1, 3);
    if (chance(p, 4))
        run.turn = draw_turn(p, s, run.job);
    return run;
}

static void draw_common(struct play *p, int64_t *f)
{
    f[FIELD_KEEP] = p->keep_ms ? p->keep_ms : PICK(p, HOUR_MS, DAY_MS, 20 * SECOND_MS);
    f[FIELD_HISTORY] = PICK(p, 0, 1, 100);
    f[FIELD_ATTEMPTS] = chance(p, 15) ? between(p, 1, 3) : f[FIELD_JOB] + 1;
    f[FIELD_TTL] = PICK(p, SECOND_MS, 10 * SECOND_MS, 10 * SECOND_MS, 30 * SECOND_MS);
    f[FIELD_LEASE] = 10 * SECOND_MS;
}

static int64_t draw_print(struct play *p, int64_t job)
{
    if (chance(p, 3))
        p->prints[job] = between(p, 1, 6);
    return chance(p, p->edits) ? between(p, 1, 6) : p->prints[job];
}

static struct step draw_acquire(struct play *p, const struct sides *s)
{
    struct step step = { .kind = STEP_ACQUIRE };
    int64_t *f = step.field;

    f[FIELD_JOB] = between(p, 0, SIDES_JOBS - 1);
    f[FIELD_TOKEN] = ++p->tokens;
    f[FIELD_TURN] = draw_turn(p, s, f[FIELD_JOB]);
    if (chance(p, 35)) { /* asked again */
        struct play_run run = draw_run(p, s);

        f[FIELD_JOB] = run.job;
        f[FIELD_TOKEN] = run.token;
        if (chance(p, 70))
            f[FIELD_TURN] = run.turn;
    }
    f[FIELD_NEXT] = f[FIELD_TURN] + periods[f[FIELD_JOB]] * PICK(p, 1, 1, 1, 3);
    if (chance(p, 8))
        f[FIELD_TURN] = f[FIELD_NEXT] = 0; /* by hand */
    draw_common(p, f);
    f[FIELD_FENCE] = PICK(p, 0, 0, 0, s->now.ms + 1000, (int64_t)s->records[0].fence);
    f[FIELD_FRESH] = PICK(p, 13 * SECOND_MS, 13 * SECOND_MS, INT64_C(1) << 52, INT64_C(1) << 52, 0);
    f[FIELD_FIRST] = chance(p, 70);
    f[FIELD_PRINT] = draw_print(p, f[FIELD_JOB]);
    return step;
}

static struct step draw_run_step(struct play *p, const struct sides *s, enum step_kind kind)
{
    struct play_run run = draw_run(p, s);
    struct step step = { .kind = kind };
    int64_t *f = step.field;

    f[FIELD_JOB] = run.job;
    f[FIELD_TOKEN] = run.token;
    f[FIELD_TURN] = run.turn;
    f[FIELD_ATTEMPT] = run.attempt;
    f[FIELD_FENCE] = run.fence;
    draw_common(p, f);
    f[FIELD_OUTCOME] =
        chance(p, 30) ? OUTCOME_FAILED : between(p, OUTCOME_SUCCEEDED, OUTCOME_UNSTARTED);
    f[FIELD_COVERS] = PICK(p, 0, run.turn, run.turn + periods[run.job], s->now.ms);
    f[FIELD_DELAY] = PICK(p, 0, 5 * SECOND_MS, MINUTE_MS, MINUTE_MS);
    f[FIELD_CLEAN] = chance(p, 90);
    return step;
}

static struct step draw_operator(struct play *p)
{
    struct step step = { .kind = STEP_UNLOCK };
    int64_t *f = step.field, kind = between(p, 0, 99);

    f[FIELD_JOB] = between(p, 0, SIDES_JOBS - 1);
    if (kind < 35) {
        step.kind = STEP_LOCK;
        f[FIELD_VALUE] = p->tokens && chance(p, 60) ? between(p, 1, p->tokens) : between(p, -1, 0);
        f[FIELD_PX] = PICK(p, 0, 1, SECOND_MS, 20 * SECOND_MS);
    } else if (kind < 60) {
        step.kind = STEP_PAUSE;
        f[FIELD_VALUE] = PICK(p, 0, 0, 0, 0, 1, 2);
    } else if (kind < 63) {
        step.kind = STEP_FORGET;
    } else if (kind < 66) {
        step.kind = STEP_FLUSH;
    }
    return step;
}

struct step play_draw(struct play *p, const struct sides *s)
{
    int64_t kind = between(p, 0, 99);

    if (kind < 24)
        return (struct step){ .kind = STEP_CLOCK, .field = { [FIELD_AT] = draw_clock(p, s) } };
    if (kind < 66)
        return draw_acquire(p, s);
    if (kind < 76)
        return draw_run_step(p, s, STEP_RENEW);
    if (kind < 93)
        return draw_run_step(p, s, STEP_FINISH);
    if (kind < 99)
        return draw_operator(p);
    return (struct step){ .kind = STEP_TIME };
}

/* `why` NULL: whatever it is. */
static const struct kind_of_answer {
    enum step_kind kind;
    const char *name;
    int answer;
    const char *why;
} kinds_of_answer[PLAY_ANSWERS] = {
    { STEP_ACQUIRE, "granted", ACQUIRE_GRANTED, NULL },
    { STEP_ACQUIRE, "spare", ACQUIRE_SPARE, NULL },
    { STEP_ACQUIRE, "held", ACQUIRE_HELD, NULL },
    { STEP_ACQUIRE, "done", ACQUIRE_DONE, "" },
    { STEP_ACQUIRE, "done, clock", ACQUIRE_DONE, "clock" },
    { STEP_ACQUIRE, "done, assumed", ACQUIRE_DONE, "assumed" },
    { STEP_ACQUIRE, "done, paused", ACQUIRE_DONE, "paused" },
    { STEP_ACQUIRE, "passed", ACQUIRE_PASSED, NULL },
    { STEP_ACQUIRE, "wait, blank", ACQUIRE_WAIT, "blank" },
    { STEP_ACQUIRE, "wait, failed", ACQUIRE_WAIT, "failed" },
    { STEP_ACQUIRE, "wait, crashed", ACQUIRE_WAIT, "crashed" },
    { STEP_ACQUIRE, "wait, gave_up", ACQUIRE_WAIT, "gave_up" },
    { STEP_ACQUIRE, "exhausted", ACQUIRE_EXHAUSTED, NULL },
    { STEP_ACQUIRE, "paused", ACQUIRE_PAUSED, NULL },
    { STEP_ACQUIRE, "early", ACQUIRE_EARLY, NULL },
    { STEP_ACQUIRE, "over, succeeded", ACQUIRE_OVER, "succeeded" },
    { STEP_ACQUIRE, "over, gave_up", ACQUIRE_OVER, "gave_up" },
    { STEP_RENEW, "renewed", RENEW_RENEWED, NULL },
    { STEP_RENEW, "regained", RENEW_REGAINED, NULL },
    { STEP_RENEW, "lost, failed", RENEW_LOST, "failed" },
    { STEP_RENEW, "lost, somebody else", RENEW_LOST, "somebody else" },
    { STEP_RENEW, "lost", RENEW_LOST, NULL },
    { STEP_FINISH, "recorded", 0, NULL },
    { STEP_FINISH, "recorded, given up", 1, NULL },
    { STEP_FINISH, "recorded, held", 2, NULL },
    { STEP_FINISH, "recorded, held, given up", 3, NULL },
};

static bool is_met(const struct kind_of_answer *k, const struct step *step,
                   const struct store_reply *reply)
{
    if (k->kind != step->kind)
        return false;
    if (k->kind == STEP_FINISH)
        return k->answer == reply->finish.gave_up + 2 * reply->finish.held;
    if (k->kind == STEP_RENEW)
        return k->answer == (int)reply->renew.answer &&
               (!k->why || strcmp(k->why, reply->renew.why) == 0);
    return k->answer == (int)reply->acquire.answer &&
           (!k->why || strcmp(k->why, reply->acquire.why) == 0);
}

void play_note(struct play *p, const struct step *step, const struct sides *s)
{
    const struct store_reply *reply = &s->reply;

    for (size_t i = 0; i < PLAY_ANSWERS; i++)
        p->met[i] += is_met(&kinds_of_answer[i], step, reply);

    if (step->kind != STEP_ACQUIRE ||
        (reply->acquire.answer != ACQUIRE_GRANTED && reply->acquire.answer != ACQUIRE_SPARE))
        return;
    p->runs[p->run_count++ % PLAY_RUNS] = (struct play_run){
        .job = step->field[FIELD_JOB],
        .token = step->field[FIELD_TOKEN],
        .turn = reply->acquire.turn.ms,
        .attempt = reply->acquire.attempt,
        .fence = (int64_t)reply->acquire.fence,
    };
}

bool play_report(const struct play *p)
{
    bool all = true;

    for (size_t i = 0; i < PLAY_ANSWERS; i++) {
        printf("# %8" PRId64 " %s\n", p->met[i], kinds_of_answer[i].name);
        all = all && p->met[i] > 0;
    }
    return all;
}
