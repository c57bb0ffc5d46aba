/* SPDX-License-Identifier: MIT */
#include "core/memory_internal.h"

#include "base/text.h"
#include <string.h>

const char *memory_holder(const struct memory_lock *lock, struct wall now)
{
    return lock->endless || now.ms <= lock->until.ms ? lock->value : "";
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

const char *memory_state_word(const struct memory_record *r)
{
    static const char *const words[] = {
        [MEMORY_NONE] = "",           [MEMORY_ASSUMED] = "assumed", [MEMORY_BLANK] = "blank",
        [MEMORY_RUNNING] = "running", [MEMORY_GAVE_UP] = "gave_up",
    };

    return r->state == MEMORY_ENDED ? outcome_name(r->outcome) : words[r->state];
}

void memory_keep(struct memory_record *r, struct wall now, const struct job_spec *spec)
{
    r->expires = wall_add(now, spec->retention_ms);
}

void memory_remember_schedule(struct memory_record *r, const char *print)
{
    size_t old = 0;

    while (old < MEMORY_SCHEDULES_MAX - 1 && strcmp(r->schedules[old], print) != 0)
        old++;
    memmove(r->schedules + 1, r->schedules, old * sizeof r->schedules[0]);
    text_copy(r->schedules[0], sizeof r->schedules[0], print);
}

void memory_begin(struct memory_record *r, struct wall turn, enum memory_state state,
                  const char *print)
{
    r->turn = turn;
    r->attempt = 0;
    r->token[0] = '\0';
    r->state = state;
    r->retry.ms = r->delay_ms = 0;
    memory_remember_schedule(r, print);
}

/* What has expired when it is looked at is gone for good, also where the clock is set back. */
static void expire(struct memory_record *r, struct wall now)
{
    if (!memory_holder(r->lock, now)[0])
        r->lock->value[0] = '\0';
    if (now.ms > r->expires.ms)
        *r = (struct memory_record){ .lock = r->lock, .pause = r->pause };
}

void memory_answer(struct memory_record *r, struct wall now, const struct store_request *request,
                   struct store_reply *ret_reply)
{
    ret_reply->status = STORE_ANSWERED;
    ret_reply->server = now;
    ret_reply->fault = FAULT_NONE;
    ret_reply->error = NULL;
    memset(&ret_reply->acquire, 0, sizeof ret_reply->acquire);
    if (request->verb == STORE_CLOCK)
        return;
    expire(r, now);
    if (request->verb == STORE_ACQUIRE)
        memory_acquire(r, now, request, ret_reply);
    else if (request->verb == STORE_RENEW)
        memory_renew(r, now, request, ret_reply);
    else
        memory_finish(r, now, request, ret_reply);
}

void memory_assume(struct memory_record *r, struct wall now, const struct job_spec *spec,
                   struct wall latest)
{
    expire(r, now);
    if (r->turn.ms != 0)
        return;
    memory_begin(r, latest, MEMORY_ASSUMED, spec->schedule_print);
    r->done = latest;
    memory_keep(r, now, spec);
}
