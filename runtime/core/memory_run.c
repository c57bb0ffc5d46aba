/* SPDX-License-Identifier: MIT
 *
 * To be read beside redis/scripts/renew.lua and finish.lua: the names and the order are theirs. */
#include "core/memory_internal.h"

#include "base/text.h"
#include <assert.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void answer_renew(struct store_reply *reply, enum renew_answer answer, int64_t left_ms,
                         const char *why)
{
    reply->renew.answer = answer;
    reply->renew.left_ms = left_ms;
    reply->renew.why = why;
}

/* The record is gone or older: written again. */
static void write_again(struct memory_claim *r, struct wall now,
                        const struct store_request *request)
{
    r->turn = request->turn;
    r->attempt = request->attempt;
    text_copy(r->token, sizeof r->token, request->token);
    r->state = MEMORY_RUNNING;
    r->fence = larger(request->fence, r->fence);
    r->ttl_ms = request->job->timing.lease_ms;
    r->ended = r->held = false;
    r->retry.ms = r->delay_ms = 0;
    r->manual = false;
    memory_keep(r, now, request->job);
}

/* Of its turn: one that was declined was one all the same; one that never started was none: of a
 * quorum, this server may have granted what the others did not. */
static uint32_t tries(const struct memory_claim *r)
{
    return r->attempt + (r->state == MEMORY_ENDED && r->outcome == OUTCOME_DECLINED ? 1 : 0);
}

void memory_renew(struct memory_claim *r, struct wall now, const struct store_request *request,
                  struct store_reply *reply)
{
    const char *holder = memory_holder(r->lock, now);
    int64_t left_ms = memory_lock_left_ms(r->lock, now);
    bool mine = strcmp(r->token, request->token) == 0;
    bool other = r->state != MEMORY_BLANK && r->state != MEMORY_ASSUMED && !mine;
    bool newer = other && (r->turn.ms > request->turn.ms ||
                           (r->turn.ms == request->turn.ms && tries(r) >= request->attempt));

    /* Finished, or taken away by an operator: not brought back by a renewal that comes late. */
    if (mine && r->state != MEMORY_RUNNING) {
        answer_renew(reply, RENEW_LOST, 0, memory_state_word(r->state, r->outcome));
        return;
    }
    if (holder[0] && strcmp(holder, request->token) != 0) {
        answer_renew(reply, RENEW_LOST, left_ms, holder);
        return;
    }
    /* The lock is ours, or gone. Gone: only if nobody has had a turn since. */
    if (!holder[0] && newer) {
        answer_renew(reply, RENEW_LOST, 0, r->token);
        return;
    }
    if (holder[0])
        answer_renew(reply, RENEW_RENEWED, left_ms, "");
    else
        answer_renew(reply, RENEW_REGAINED, 0, "");
    memory_lock_set(r->lock, request->token, wall_add(now, request->ttl_ms));
    if (!mine && !newer)
        write_again(r, now, request);
}

/* Moves `done`, whoever holds the lock now (rule 3). */
static void settle(struct memory_claim *r, struct wall now, const struct store_request *request,
                   bool manual)
{
    struct wall settled = request->turn;

    if (request->covers.ms <= now.ms && request->covers.ms > settled.ms)
        settled = request->covers;
    if (settled.ms <= r->done.ms)
        return;
    r->done = settled;
    if (!manual)
        r->streak = 0;
}

/* attempts = 1: what was started is never started again. */
static bool gives_back(const struct store_request *request)
{
    if (request->outcome == OUTCOME_DECLINED)
        return request->job->attempts != 1;
    return request->outcome == OUTCOME_UNSTARTED;
}

/* Where the record was gone, a newer run may have outlived it: the wait for its holder begins, or
 * goes on, for every turn and schedule. */
static void wait_for_holder(struct memory_claim *r, struct wall now,
                            const struct store_request *request)
{
    struct memory_sight sight = { .print = MEMORY_ANY_PRINT,
                                  .until = r->retry,
                                  .wait_ms = r->delay_ms };

    if (r->state == MEMORY_NONE) {
        sight.wait_ms = request->job->timing.lease_ms;
        sight.until = wall_add(now, sight.wait_ms);
    } else if (r->state != MEMORY_BLANK && r->state != MEMORY_ASSUMED) {
        return;
    }
    if (sight.until.ms > now.ms)
        memory_remember_sight(r, &sight);
}

/* What becomes of the newest attempt. Returns whether its turn was given up. */
static bool write_end(struct memory_claim *r, struct wall now, const struct store_request *request,
                      bool held)
{
    bool mine = strcmp(r->token, request->token) == 0;
    bool manual = mine && r->manual;
    bool again = outcome_retries(request->outcome) || request->outcome == OUTCOME_REFUSED;
    bool gave_up = again && (manual || request->attempt >= request->job->attempts ||
                             r->streak > 0 || request->outcome == OUTCOME_REFUSED);

    if (gave_up && !manual && request->turn.ms > r->done.ms &&
        !(mine && r->state == MEMORY_GAVE_UP))
        r->streak++;
    wait_for_holder(r, now, request);
    /* Who gives a grant back that it was never told of does not know which attempt that was. */
    if (request->outcome != OUTCOME_UNSTARTED) {
        r->turn = request->turn;
        r->attempt = request->attempt;
    }
    if (r->attempt > 0 && gives_back(request))
        r->attempt--;
    text_copy(r->token, sizeof r->token, request->token);
    r->state = gave_up ? MEMORY_GAVE_UP : MEMORY_ENDED;
    r->outcome = request->outcome;
    r->fence = larger(request->fence, r->fence);
    r->ended = true;
    r->held = held;
    r->delay_ms = again ? request->job->retry_delay_ms : 0;
    r->retry.ms = again ? wall_add(now, r->delay_ms).ms : 0;
    return gave_up;
}

static void answer_finish(struct store_reply *reply, bool held, bool gave_up)
{
    reply->finish.held = held;
    reply->finish.gave_up = gave_up;
}

void memory_finish(struct memory_claim *r, struct wall now, const struct store_request *request,
                   struct store_reply *reply)
{
    bool mine = strcmp(r->token, request->token) == 0;
    bool held = strcmp(memory_holder(r->lock, now), request->token) == 0;
    bool behind = r->turn.ms < request->turn.ms ||
                  (r->turn.ms == request->turn.ms && tries(r) < request->attempt);
    bool gave_up = false;

    assert(request->outcome != OUTCOME_VANISHED); /* acquire alone writes that */
    /* A repeat: the same answer, nothing twice. */
    if (mine && r->state != MEMORY_RUNNING && r->ended) {
        answer_finish(reply, r->held, r->state == MEMORY_GAVE_UP);
        return;
    }
    if (request->outcome == OUTCOME_UNSTARTED && !mine) {
        answer_finish(reply, held, false);
        return;
    }
    if (held && outcome_frees_lock(request->outcome) && request->clean)
        r->lock->value[0] = '\0';
    if (outcome_settles(request->outcome))
        settle(r, now, request, mine && r->manual);
    if (request->outcome == OUTCOME_SUCCEEDED && request->job->version > r->version)
        r->version = request->job->version;
    if (mine || behind || r->state == MEMORY_BLANK || r->state == MEMORY_ASSUMED)
        gave_up = write_end(r, now, request, held);
    memory_keep(r, now, request->job);
    answer_finish(reply, held, gave_up);
}
