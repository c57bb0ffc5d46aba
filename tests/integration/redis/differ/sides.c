/* SPDX-License-Identifier: MIT */
#include "redis/differ/sides.h"

#include "base/text.h"
#include "base/units.h"
#include "redis/differ/sides_compare.h"
#include <inttypes.h>
#include <string.h>

#define LONG_X                                                                                     \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
    "xxxxxxxx"

const char *const sides_texts[SIDES_TEXTS] = { "anna: maintenance", LONG_X LONG_X LONG_X,
                                               "ben: repairs" };

const char *sides_job_name(size_t job)
{
    static const char *const names[SIDES_JOBS] = { "plain", "frequent", "sharing" };

    return names[job];
}

static size_t lock_of(size_t job)
{
    return job == SIDES_JOBS - 1 ? 0 : job;
}

struct memory_lock *sides_lock(struct sides *s, size_t job)
{
    return &s->jobs[lock_of(job)].lock;
}

const char *sides_key(size_t job, const char *kind, char key[SIDES_KEY_SIZE])
{
    size_t owner = strcmp(kind, "lock") == 0 && job < SIDES_JOBS ? lock_of(job) : job;

    text_format(key, SIDES_KEY_SIZE, "differ:{%s}:%s",
                owner < SIDES_JOBS ? sides_job_name(owner) : "_fleet", kind);
    return key;
}

void sides_token(int64_t number, char token[TOKEN_SIZE])
{
    text_format(token, TOKEN_SIZE, "device-%" PRId64 ":%032" PRIx64, number % 5, number);
}

void sides_device(int64_t number, char name[MEMORY_NAME_SIZE])
{
    text_format(name, MEMORY_NAME_SIZE, "device-%" PRId64 ":0a1b2c3d", number % SIDES_DEVICES);
}

static void set_clock(struct sides *s, int64_t ms)
{
    s->now.ms = ms;
    /* the microseconds are to be left out */
    __atomic_store_n(&s->clock->frozen_us, ms * 1000 + ms % 1000, __ATOMIC_SEQ_CST);
}

static void empty_job(struct sides *s, size_t job)
{
    struct sides_job *j = &s->jobs[job];

    memset(j, 0, sizeof *j);
    j->record = (struct memory_claim){
        .lock = sides_lock(s, job), .pause = &j->pause, .seats = &j->seats, .texts = &s->texts
    };
    j->seats.room = (struct memory_room){ .seats = j->seat_room,
                                          .seats_max = SIDES_SEATS,
                                          .devices = j->device_room,
                                          .by_name = j->by_name,
                                          .queue = j->queue,
                                          .devices_max = SIDES_DEVICES };
}

static void empty_fleet(struct sides_fleet *f)
{
    memset(f, 0, sizeof *f);
    f->fleet.room = (struct memory_fleet_room){ .devices = f->device_room,
                                                .jobs = f->job_room,
                                                .devices_by_name = f->devices_by_name,
                                                .jobs_by_name = f->jobs_by_name,
                                                .devices_max = SIDES_DEVICES,
                                                .jobs_max = SIDES_JOBS,
                                                .texts = f->texts[0],
                                                .text_size = SIDES_TEXT_SIZE,
                                                .done = f->done };
}

static void flush(struct sides *s)
{
    sides_order(s, "FLUSHALL");
    for (size_t i = 0; i < SIDES_JOBS; i++)
        empty_job(s, i);
    empty_fleet(&s->fleet);
}

void sides_reset(struct sides *s)
{
    set_clock(s, SIDES_BEGIN_MS);
    flush(s);
    s->difference[0] = '\0';
}

static void set_lock(struct sides *s, const struct step *step)
{
    size_t job = (size_t)step->field[FIELD_JOB];
    struct memory_lock *lock = sides_lock(s, job);
    int64_t number = step->field[FIELD_VALUE], px = step->field[FIELD_PX];
    const char *value = number == 0 ? "somebody else" : sides_texts[1];
    char key[SIDES_KEY_SIZE], token[TOKEN_SIZE];

    if (number > 0) {
        sides_token(number, token);
        value = token;
    }
    text_copy(lock->value, sizeof lock->value, value);
    lock->endless = px == 0;
    lock->until = wall_add(s->now, px);
    if (px == 0)
        sides_order(s, "SET %s %s", sides_key(job, "lock", key), value);
    else
        sides_order(s, "SET %s %s PX %lld", sides_key(job, "lock", key), value, (long long)px);
}

/* As a newer rota would. */
static void set_layout(struct sides *s, const struct step *step)
{
    size_t job = (size_t)step->field[FIELD_JOB];
    struct memory_claim *r = &s->jobs[job].record;
    char key[SIDES_KEY_SIZE];

    sides_compare_claim_seen(s, job);
    r->layout = (uint32_t)step->field[FIELD_VALUE];
    r->expires = wall_add(s->now, DAY_MS);
    sides_order(s, "HSET %s v %u", sides_key(job, "claim", key), r->layout);
    sides_order(s, "PEXPIRE %s %lld", key, (long long)DAY_MS);
}

static void ask(struct sides *s, const struct step *step)
{
    static const enum store_verb verbs[STEP_KIND_COUNT] = {
        [STEP_TIME] = STORE_CLOCK,
        [STEP_ACQUIRE] = STORE_ACQUIRE,
        [STEP_RENEW] = STORE_RENEW,
        [STEP_FINISH] = STORE_FINISH,
        [STEP_HELLO] = STORE_HELLO,
        [STEP_INDEX] = STORE_INDEX,
        [STEP_CONFIG_GET] = STORE_CONFIG_GET,
        [STEP_CONFIG_PUT] = STORE_CONFIG_PUT,
        [STEP_PAUSE] = STORE_PAUSE,
        [STEP_RESUME] = STORE_RESUME,
    };

    sides_ask(s, step, verbs[step->kind]);
}

bool sides_do(struct sides *s, const struct step *step)
{
    size_t job = (size_t)step->field[FIELD_JOB];
    char key[SIDES_KEY_SIZE];

    switch (step->kind) {
    case STEP_CLOCK:
        set_clock(s, step->field[FIELD_AT]);
        break;
    case STEP_LOCK:
        set_lock(s, step);
        break;
    case STEP_UNLOCK:
        sides_lock(s, job)->value[0] = '\0';
        sides_order(s, "DEL %s", sides_key(job, "lock", key));
        break;
    case STEP_LAYOUT:
        set_layout(s, step);
        break;
    case STEP_FORGET:
        memory_forget(&s->jobs[job].record);
        sides_order(s, "DEL %s", sides_key(job, "claim", key));
        break;
    case STEP_FLUSH:
        flush(s);
        break;
    case STEP_COMPARE:
        sides_compare_records(s);
        break;
    default:
        ask(s, step);
        break;
    }
    return !s->difference[0];
}
