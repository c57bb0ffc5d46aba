/* SPDX-License-Identifier: MIT */
#include "core/memory_internal.h"

#include "base/text.h"
#include <assert.h>
#include <string.h>

const char *memory_holder(const struct memory_lock *lock, struct wall now)
{
    return lock->endless || now.ms <= lock->until.ms ? lock->value : "";
}

bool memory_is_token(const char *value)
{
    size_t len = strlen(value);

    return len > 33 && value[len - 33] == ':' &&
           strspn(value + len - 32, "0123456789abcdefABCDEF") == 32;
}

int64_t memory_lock_left_ms(const struct memory_lock *lock, struct wall now)
{
    return lock->endless ? -1 : wall_between(now, lock->until);
}

void memory_lock_set(struct memory_lock *lock, const char *token, struct wall until)
{
    text_copy(lock->value, sizeof lock->value, token);
    lock->endless = false;
    lock->until = until;
}

struct wall memory_later(struct wall a, struct wall b)
{
    return a.ms > b.ms ? a : b;
}

struct wall memory_turn_ahead(const struct store_request *request, struct wall now)
{
    struct wall next = request->next;

    if (request->turn.ms > now.ms) /* of a turn that is to come, as far ahead of now */
        next = wall_add(now, wall_between(request->turn, next));
    return memory_later(now, next);
}

const char *memory_paused(const struct memory_claim *r)
{
    return r->pause ? r->pause->why : "";
}

int64_t memory_pause_left_ms(const struct memory_claim *r, struct wall now)
{
    return r->pause->endless ? -1 : wall_between(now, r->pause->until);
}

void memory_no_room(struct store_reply *reply)
{
    reply->status = STORE_ERROR;
    reply->fault = FAULT_STORAGE;
    reply->error = "there is no room left";
}

const char *memory_state_word(enum memory_state state, enum outcome outcome)
{
    static const char *const words[] = {
        [MEMORY_NONE] = "",           [MEMORY_ASSUMED] = "assumed", [MEMORY_BLANK] = "blank",
        [MEMORY_RUNNING] = "running", [MEMORY_GAVE_UP] = "gave_up",
    };

    return state == MEMORY_ENDED ? outcome_name(outcome) : words[state];
}

uint32_t memory_tries(enum memory_state state, enum outcome outcome, uint32_t attempt)
{
    bool back =
        state == MEMORY_ENDED && (outcome == OUTCOME_DECLINED || outcome == OUTCOME_UNSTARTED);

    return attempt + back;
}

void memory_keep(struct memory_claim *r, struct wall now, const struct job_spec *spec)
{
    r->expires = wall_add(now, spec->retention_ms);
}

static bool same_sight(const struct memory_sight *a, const struct memory_sight *b)
{
    return strcmp(a->print, b->print) == 0 && a->until.ms == b->until.ms &&
           a->wait_ms == b->wait_ms;
}

void memory_remember_sight(struct memory_claim *r, const struct memory_sight *sight)
{
    size_t old = 0;

    while (old < MEMORY_SCHEDULES_MAX - 1 && !same_sight(&r->sights[old], sight))
        old++;
    memmove(r->sights + 1, r->sights, old * sizeof r->sights[0]);
    r->sights[0] = *sight;
}

void memory_remember_schedule(struct memory_claim *r, const char *print)
{
    size_t old = 0;

    while (old < MEMORY_SCHEDULES_MAX - 1 && strcmp(r->schedules[old], print) != 0)
        old++;
    memmove(r->schedules + 1, r->schedules, old * sizeof r->schedules[0]);
    text_copy(r->schedules[0], sizeof r->schedules[0], print);
}

void memory_begin(struct memory_claim *r, struct wall turn, enum memory_state state,
                  const struct job_spec *spec)
{
    r->turn = turn;
    r->attempt = 0;
    r->token[0] = '\0';
    r->state = state;
    r->retry.ms = r->delay_ms = 0;
    text_copy(r->fingerprint, sizeof r->fingerprint, spec->fingerprint);
    r->scope = SCOPE_FLEET;
    memory_remember_schedule(r, spec->schedule_print);
}

bool memory_say_turn(struct store_reply *reply, enum acquire_answer answer, struct wall turn,
                     const char *why)
{
    reply->acquire.answer = answer;
    reply->acquire.turn = turn;
    reply->acquire.why = why;
    return true;
}

bool memory_say_left(struct store_reply *reply, enum acquire_answer answer, int64_t left_ms,
                     const char *why)
{
    reply->acquire.answer = answer;
    reply->acquire.left_ms = left_ms;
    reply->acquire.why = why;
    return true;
}

void memory_tell_print(const struct memory_claim *r, const struct job_spec *spec, const char *by,
                       struct store_reply *reply)
{
    if (!r->texts || !r->fingerprint[0] || strcmp(r->fingerprint, spec->fingerprint) == 0)
        return;
    text_copy(r->texts->print, sizeof r->texts->print, r->fingerprint);
    text_copy(r->texts->printer, sizeof r->texts->printer, by);
    reply->acquire.print = r->texts->print;
    reply->acquire.printer = r->texts->printer;
}

void memory_untell_print(struct store_reply *reply)
{
    switch (reply->acquire.answer) {
    case ACQUIRE_PAUSED:
    case ACQUIRE_EARLY:
    case ACQUIRE_OVER:
    case ACQUIRE_MISMATCH:
    case ACQUIRE_OUTDATED:
    case ACQUIRE_NEWER:
        reply->acquire.print = reply->acquire.printer = "";
        break;
    default:
        break;
    }
}

bool memory_is_newer(const struct memory_claim *r, struct store_reply *reply)
{
    if (r->layout <= MEMORY_LAYOUT)
        return false;
    reply->acquire.answer = ACQUIRE_NEWER;
    reply->acquire.version = r->layout;
    return true;
}

bool memory_is_outdated(const struct memory_claim *r, const struct job_spec *spec,
                        struct store_reply *reply)
{
    if (spec->version >= r->version)
        return false;
    reply->acquire.answer = ACQUIRE_OUTDATED;
    reply->acquire.version = r->version;
    return true;
}

void memory_forget(struct memory_claim *r)
{
    *r = (struct memory_claim){
        .lock = r->lock, .pause = r->pause, .seats = r->seats, .texts = r->texts
    };
    if (!r->seats)
        return;
    r->seats->fails = r->seats->runs = 0;
    r->seats->mean_ms = r->seats->longest_ms = 0;
    r->seats->by[0] = '\0';
}

/* What has expired when it is looked at is gone for good, also where the clock is set back. */
static void expire_claim(struct memory_claim *r, struct wall now)
{
    if (now.ms > r->expires.ms)
        memory_forget(r);
}

static void expire_lock(struct memory_lock *lock, struct wall now)
{
    if (!memory_holder(lock, now)[0])
        lock->value[0] = '\0';
}

static void expire_pause(struct memory_claim *r, struct wall now)
{
    if (r->pause && !r->pause->endless && now.ms > r->pause->until.ms)
        r->pause->why[0] = '\0';
}

/* Exactly what the verb's script looks at. */
static void expire(struct memory_claim *r, struct wall now, enum store_verb verb)
{
    if (verb != STORE_RENEW && verb != STORE_FINISH)
        expire_pause(r, now);
    if (verb == STORE_PAUSE)
        return;
    expire_claim(r, now);
    if (verb == STORE_RESUME)
        return;
    expire_lock(r->lock, now);
    if (r->seats && verb == STORE_ACQUIRE)
        memory_seats_expire(r->seats, now);
}

/* The same in device scope. */
static void expire_seats(struct memory_claim *r, struct wall now, enum store_verb verb)
{
    if (verb != STORE_RENEW)
        expire_pause(r, now);
    expire_claim(r, now);
    memory_seats_expire(r->seats, now);
    memory_devices_expire(r->seats, now);
    if (verb != STORE_ACQUIRE)
        return;
    expire_lock(r->lock, now);
    memory_queue_expire(r->seats, now);
}

static void begin_acquire(struct store_reply *reply)
{
    reply->acquire.holder = reply->acquire.why = "";
    reply->acquire.print = reply->acquire.printer = "";
}

/* As pause.lua and resume.lua. */
static void tell_before(const struct memory_claim *r, struct store_reply *reply)
{
    reply->pause.before = "";
    if (!r->texts)
        return;
    text_copy(r->texts->before, sizeof r->texts->before, memory_paused(r));
    reply->pause.before = r->texts->before;
}

static void pause_job(struct memory_claim *r, struct wall now, const struct store_request *request)
{
    text_copy(r->pause->why, sizeof r->pause->why, request->pause.text);
    r->pause->endless = request->pause.for_ms == 0;
    r->pause->until = wall_add(now, request->pause.for_ms);
}

static void resume_job(struct memory_claim *r, const struct store_request *request)
{
    if (r->pause)
        r->pause->why[0] = '\0';
    if (r->seats)
        r->seats->fails = 0;
    if (request->resume.catch_up)
        r->paused.ms = 0;
}

void memory_begin_reply(struct wall now, struct store_reply *ret_reply)
{
    struct boot sent = ret_reply->sent, received = ret_reply->received;

    memset(ret_reply, 0, sizeof *ret_reply);
    ret_reply->status = STORE_ANSWERED;
    ret_reply->sent = sent;
    ret_reply->received = received;
    ret_reply->server = now;
    ret_reply->fault = FAULT_NONE;
}

void memory_answer_alone(struct memory_claim *r, struct wall now,
                         const struct store_request *request, struct store_reply *ret_reply)
{
    memory_begin_reply(now, ret_reply);
    if (request->verb == STORE_CLOCK)
        return;
    expire(r, now, request->verb);
    switch (request->verb) {
    case STORE_PAUSE:
        tell_before(r, ret_reply);
        pause_job(r, now, request);
        break;
    case STORE_RESUME:
        tell_before(r, ret_reply);
        resume_job(r, request);
        break;
    case STORE_ACQUIRE:
        begin_acquire(ret_reply);
        memory_acquire(r, now, request, ret_reply);
        memory_untell_print(ret_reply);
        break;
    case STORE_RENEW:
        memory_renew(r, now, request, ret_reply);
        break;
    default:
        assert(request->verb == STORE_FINISH);
        memory_finish(r, now, request, ret_reply);
        break;
    }
}

static bool is_for_seats(const struct store_request *request)
{
    return request->verb != STORE_CLOCK && request->verb != STORE_PAUSE &&
           request->verb != STORE_RESUME && request->job->scope == SCOPE_DEVICE;
}

void memory_answer(struct memory_claim *r, struct wall now, const struct store_request *request,
                   struct store_reply *ret_reply)
{
    if (!is_for_seats(request)) {
        memory_answer_alone(r, now, request, ret_reply);
        return;
    }
    memory_begin_reply(now, ret_reply);
    expire_seats(r, now, request->verb);
    if (request->verb == STORE_ACQUIRE) {
        begin_acquire(ret_reply);
        memory_seat_acquire(r, now, request, ret_reply);
        memory_untell_print(ret_reply);
    } else if (request->verb == STORE_RENEW) {
        memory_seat_renew(r, now, request, ret_reply);
    } else {
        assert(request->verb == STORE_FINISH);
        memory_seat_finish(r, now, request, ret_reply);
    }
}

void memory_assume(struct memory_claim *r, struct wall now, const struct job_spec *spec,
                   struct wall latest)
{
    expire_claim(r, now);
    expire_lock(r->lock, now);
    if (r->turn.ms != 0)
        return;
    memory_begin(r, latest, MEMORY_ASSUMED, spec);
    r->done = latest;
    memory_keep(r, now, spec);
}
