/* SPDX-License-Identifier: MIT
 *
 * To be read beside redis/scripts/acquire.lua: the steps have its numbers and its order. */
#include "core/memory_internal.h"

#include "base/text.h"
#include <assert.h>
#include <string.h>

/* One acquire on its way through the steps. */
struct ask {
    struct memory_claim *r;
    struct wall now;
    const struct store_request *request;
    struct store_reply *reply;
    const char *holder; /* "": the lock is free */
    struct wall turn;
    bool due;   /* of the schedule, not by hand (rule 15) */
    bool ahead; /* the record lies more than one turn in the store's future */
};

/* Does its step; true where that gave the answer. */
typedef bool (*ask_step)(struct ask *a);

static bool knows_schedule(const struct memory_claim *r, const char *print)
{
    for (size_t i = 0; i < MEMORY_SCHEDULES_MAX; i++)
        if (strcmp(r->schedules[i], print) == 0)
            return true;
    return false;
}

static bool answer_lease(struct ask *a, enum acquire_answer answer)
{
    a->reply->acquire.fence = a->r->fence;
    a->reply->acquire.attempt = a->r->attempt;
    return memory_say_turn(a->reply, answer, a->r->turn, "");
}

/* 1. The same token again: the answer is the same, and the time to live starts anew. */
static bool same_token(struct ask *a)
{
    struct memory_claim *r = a->r;
    const char *token = a->request->token;

    if (strcmp(r->token, token) != 0)
        return false;
    if (r->state != MEMORY_RUNNING)
        return memory_say_left(a->reply, ACQUIRE_OVER, 0, memory_state_word(r->state, r->outcome));
    if (a->holder[0] && strcmp(a->holder, token) != 0)
        return false;
    memory_lock_set(r->lock, token, wall_add(a->now, a->request->ttl_ms));
    return answer_lease(a,
                        r->turn.ms <= r->done.ms && !r->manual ? ACQUIRE_SPARE : ACQUIRE_GRANTED);
}

/* The seat that ends first. None has more left than was ever asked for; more means a clock set
 * back, and is cut. */
static const struct memory_seat *taken_seat(const struct ask *a)
{
    struct memory_seats *s = a->r->seats;
    uint32_t taken = s ? memory_seats_taken(s, a->now) : 0;

    if (taken == 0)
        return NULL;
    memory_seats_cut(s, wall_add(a->now, s->longest_ms > a->request->ttl_ms ? s->longest_ms
                                                                            : a->request->ttl_ms));
    return &s->room.seats[s->seats - taken];
}

/* 2. Not for this device. */
static bool not_ours(struct ask *a)
{
    const struct memory_seat *seat;

    if (memory_is_newer(a->r, a->reply))
        return true;
    seat = taken_seat(a);
    if (seat) {
        a->reply->acquire.holder = seat->who + (seat->who[0] == '~');
        return memory_say_left(a->reply, ACQUIRE_MISMATCH, 0, "device");
    }
    return memory_is_outdated(a->r, a->request->job, a->reply);
}

/* 3. */
static bool not_yet(struct ask *a)
{
    if (a->turn.ms <= a->now.ms)
        return false;
    return memory_say_left(a->reply, ACQUIRE_EARLY, wall_between(a->now, a->turn), "");
}

/* Whose the claim is from now on. */
static void note_configuration(struct ask *a)
{
    text_copy(a->r->fingerprint, sizeof a->r->fingerprint, a->request->job->fingerprint);
    a->r->scope = SCOPE_FLEET;
}

/* The claim has had no turn in this scope, only those of its seats, or of a pause. */
static void forget_settled(struct ask *a)
{
    a->r->done.ms = a->r->paused.ms = 0;
    a->ahead = false;
}

/* 3. The record lies more than one turn in the store's future: its clock was set back. What is no
 * record becomes none by that: the first sight of it is still to come (7). */
static bool void_claim(struct ask *a)
{
    struct memory_claim *r = a->r;
    struct wall top = memory_later(memory_later(r->turn, r->done), r->paused);
    bool early = a->turn.ms > a->now.ms;

    a->ahead = a->due && top.ms > memory_turn_ahead(a->request, a->now).ms;
    if (!a->ahead || a->holder[0])
        return false;
    if (r->turn.ms == 0) {
        forget_settled(a);
        return false;
    }
    r->turn = r->done = early ? a->now : a->turn;
    r->attempt = 0;
    r->token[0] = '\0';
    r->state = MEMORY_ASSUMED;
    r->retry.ms = r->paused.ms = 0;
    r->manual = false;
    memset(r->sights, 0, sizeof r->sights);
    note_configuration(a);
    memory_remember_schedule(r, a->request->job->schedule_print);
    memory_keep(r, a->now, a->request->job);
    return !early && memory_say_turn(a->reply, ACQUIRE_DONE, a->turn, "clock");
}

/* 4. */
static bool settled_or_overtaken(struct ask *a)
{
    const struct memory_claim *r = a->r;

    if (a->ahead) /* that says nothing; its lock, which is still there, ends first (5) */
        return false;
    if (a->turn.ms <= r->done.ms) {
        if (r->turn.ms == r->done.ms)
            a->reply->acquire.holder = r->token;
        return memory_say_turn(a->reply, ACQUIRE_DONE, r->done, "");
    }
    if (a->due && a->turn.ms <= r->paused.ms && !memory_paused(r)[0])
        return memory_say_turn(a->reply, ACQUIRE_DONE, r->paused, "paused");
    if (a->turn.ms < r->turn.ms)
        return memory_say_turn(a->reply, ACQUIRE_PASSED, r->turn, "");
    return false;
}

/* Of this turn: a newer one has watchers of its own. */
static uint32_t take_place(struct ask *a)
{
    struct memory_claim *r = a->r;

    if (!a->request->first_ask)
        return 0;
    r->watch = (r->watched.ms == a->turn.ms ? r->watch : 0) + 1;
    r->watched = a->turn;
    memory_keep(r, a->now, a->request->job);
    return r->watch;
}

/* How long the lease that holds may be, where it is one of this job: by its claim, or of any token
 * in a lock that is not shared. Else 0. */
static int64_t most_left_ms(const struct ask *a)
{
    const struct memory_claim *r = a->r;
    const struct store_request *q = a->request;

    if (strcmp(a->holder, r->token) == 0)
        return r->ttl_ms;
    if (r->ttl_ms == 0 || q->job->lock_key || !memory_is_token(a->holder))
        return 0;
    return q->ttl_ms > r->ttl_ms ? q->ttl_ms : r->ttl_ms;
}

/* 5. No lease of ours can have more left than it asked for; more means a clock set back. */
static bool held(struct ask *a)
{
    struct memory_claim *r = a->r;
    int64_t left_ms = memory_lock_left_ms(r->lock, a->now), most_ms = most_left_ms(a);
    bool ours = strcmp(a->holder, r->token) == 0;

    if (!a->holder[0] || strcmp(a->holder, a->request->token) == 0)
        return false;
    a->reply->acquire.watch = take_place(a);
    if (most_ms > 0 && (left_ms > most_ms || left_ms < 0)) {
        left_ms = most_ms;
        r->lock->endless = false;
        r->lock->until = wall_add(a->now, left_ms);
    }
    a->reply->acquire.holder = a->holder;
    a->reply->acquire.holder_turn.ms = ours ? r->turn.ms : 0;
    a->reply->acquire.fence = r->fence;
    return memory_say_left(a->reply, ACQUIRE_HELD, left_ms, "");
}

/* 6. What falls due meanwhile has passed, also where the pause ends before its turn does. */
static bool paused(struct ask *a)
{
    struct memory_claim *r = a->r;

    if (!memory_paused(r)[0] || a->request->next.ms == STORE_NEXT_FORCED)
        return false;
    if (a->due) {
        r->paused = memory_later(r->paused, a->turn);
        memory_keep(r, a->now, a->request->job);
    }
    return memory_say_left(a->reply, ACQUIRE_PAUSED, memory_pause_left_ms(r, a->now),
                           r->pause->why);
}

static bool too_late(const struct ask *a)
{
    return wall_between(a->turn, a->now) > a->request->fresh_ms;
}

static bool answer_blank(struct ask *a)
{
    return memory_say_left(a->reply, ACQUIRE_WAIT, a->request->ttl_ms, "blank");
}

/* 7. First sight: no record at all. Never granted at once. */
static bool first_sight(struct ask *a)
{
    struct memory_claim *r = a->r;
    const struct job_spec *spec = a->request->job;
    bool late = too_late(a);

    if (!a->due || r->turn.ms != 0)
        return false;
    memory_begin(r, a->turn, late ? MEMORY_ASSUMED : MEMORY_BLANK, spec);
    memory_keep(r, a->now, spec);
    r->delay_ms = a->request->ttl_ms;
    r->retry = wall_add(a->now, r->delay_ms);
    if (late) {
        r->done = a->turn;
        return memory_say_turn(a->reply, ACQUIRE_DONE, a->turn, "assumed");
    }
    return answer_blank(a);
}

/* 7. A record, but none of this schedule: the job was edited. The wait stands apart, in `sights`,
 * and the newest attempt's fields stay as they are. A record without schedules was written by a run
 * that outlived it: every schedule counts as known. */
static bool edited(struct ask *a)
{
    struct memory_claim *r = a->r;
    const char *print = a->request->job->schedule_print;
    struct memory_sight sight = { .wait_ms = a->request->ttl_ms };

    if (!a->due || !r->schedules[0][0] || knows_schedule(r, print))
        return false;
    if (a->turn.ms == r->turn.ms && r->attempt > 0) /* no turn of the past: others have begun it */
        return false;
    memory_remember_schedule(r, print);
    memory_keep(r, a->now, a->request->job);
    if (too_late(a)) {
        r->done = a->turn;
        return memory_say_turn(a->reply, ACQUIRE_DONE, a->turn, "assumed");
    }
    text_copy(sight.print, sizeof sight.print, print);
    sight.until = wall_add(a->now, sight.wait_ms);
    memory_remember_sight(r, &sight);
    return answer_blank(a);
}

/* 8. No wait has more left than it asked for; more means a clock set back, and is cut for good. */
static void cut_sights(struct memory_claim *r, struct wall now)
{
    for (size_t i = 0; i < MEMORY_SCHEDULES_MAX; i++) {
        struct memory_sight *sight = &r->sights[i];
        struct wall most = wall_add(now, sight->wait_ms);

        if (sight->print[0] && sight->until.ms > most.ms)
            sight->until = most;
    }
}

/* How long the newest wait of a schedule lasts. */
static int64_t sight_left_ms(const struct memory_claim *r, const char *print, struct wall now)
{
    for (size_t i = 0; i < MEMORY_SCHEDULES_MAX; i++)
        if (strcmp(r->sights[i].print, print) == 0)
            return wall_between(now, r->sights[i].until);
    return 0;
}

/* 8. Waiting after the first sight of this schedule, or for who outlived the record. */
static bool waiting_blank(struct ask *a)
{
    int64_t left_ms, any_ms;

    if (!a->due)
        return false;
    cut_sights(a->r, a->now);
    left_ms = sight_left_ms(a->r, a->request->job->schedule_print, a->now);
    any_ms = sight_left_ms(a->r, MEMORY_ANY_PRINT, a->now);
    if (any_ms > left_ms)
        left_ms = any_ms;
    return left_ms > 0 && memory_say_left(a->reply, ACQUIRE_WAIT, left_ms, "blank");
}

/* Given up before, and no success since: one try each. */
static uint32_t most_attempts(const struct ask *a)
{
    return a->r->streak > 0 ? 1 : a->request->job->attempts;
}

/* Whether the record's wait is one for this turn: after a first sight for every one, after a
 * failure for the one that failed. */
static bool waits_for(const struct ask *a)
{
    const struct memory_claim *r = a->r;

    if (r->state == MEMORY_BLANK || r->state == MEMORY_ASSUMED)
        return true;
    return a->turn.ms == r->turn.ms && r->attempt < most_attempts(a);
}

/* 8. Waiting after a failure (this turn), or for a holder to come back (any). */
static bool waiting(struct ask *a)
{
    struct memory_claim *r = a->r;
    struct wall most = wall_add(a->now, r->delay_ms);
    int64_t left_ms;

    if (r->retry.ms > most.ms)
        r->retry = most;
    left_ms = wall_between(a->now, r->retry);
    if (left_ms <= 0)
        return false;
    if (!waits_for(a))
        return false;
    return memory_say_left(a->reply, ACQUIRE_WAIT, left_ms,
                           memory_state_word(r->state, r->outcome));
}

/* 9. How many tries this one has had. */
static bool exhausted(struct ask *a)
{
    struct memory_claim *r = a->r;

    if (a->turn.ms != r->turn.ms || r->attempt < most_attempts(a))
        return false;
    a->reply->acquire.answer = ACQUIRE_EXHAUSTED;
    a->reply->acquire.attempt = r->attempt;
    a->reply->acquire.first = r->state != MEMORY_GAVE_UP;
    r->streak += a->reply->acquire.first;
    r->state = MEMORY_GAVE_UP;
    return true;
}

static uint64_t next_fence(const struct ask *a)
{
    uint64_t fence = a->now.ms > 0 ? (uint64_t)a->now.ms : 0;

    if (fence <= a->r->fence)
        fence = a->r->fence + 1;
    return fence > a->request->fence ? fence : a->request->fence + 1;
}

/* 10. */
static bool granted(struct ask *a)
{
    struct memory_claim *r = a->r;
    const struct store_request *q = a->request;

    /* its last try vanished, and nobody asked since; an earlier one's late success would have
     * settled it all the same */
    if (a->turn.ms > r->turn.ms && r->state == MEMORY_RUNNING && !r->manual &&
        r->attempt >= most_attempts(a) && r->turn.ms > r->done.ms)
        r->streak++;
    r->attempt = a->turn.ms == r->turn.ms ? r->attempt + 1 : 1;
    r->fence = next_fence(a);
    memory_lock_set(r->lock, q->token, wall_add(a->now, q->ttl_ms));
    r->turn = a->turn;
    text_copy(r->token, sizeof r->token, q->token);
    r->state = MEMORY_RUNNING;
    r->ttl_ms = q->ttl_ms;
    r->ended = r->held = false;
    r->retry.ms = r->delay_ms = 0;
    r->watch = 0;
    r->manual = !a->due;
    note_configuration(a);
    if (a->due)
        memory_remember_schedule(r, q->job->schedule_print);
    memory_keep(r, a->now, q->job);
    return answer_lease(a, ACQUIRE_GRANTED);
}

void memory_acquire(struct memory_claim *r, struct wall now, const struct store_request *request,
                    struct store_reply *reply)
{
    static const ask_step steps[] = {
        same_token, not_ours,  void_claim,  not_yet, settled_or_overtaken,
        held,       paused,    first_sight, edited,  waiting_blank,
        waiting,    exhausted, granted,
    };
    struct ask a = {
        .r = r,
        .now = now,
        .request = request,
        .reply = reply,
        .holder = memory_holder(r->lock, now),
        .turn = request->turn.ms ? request->turn : now,
        .due = request->next.ms > 0,
    };

    if (r->scope == SCOPE_FLEET)
        memory_tell_print(r, request->job, r->token, reply);
    for (size_t i = 0; !steps[i](&a); i++)
        assert(i + 1 < sizeof steps / sizeof steps[0]);
}
