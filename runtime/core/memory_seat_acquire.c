/* SPDX-License-Identifier: MIT
 *
 * To be read beside redis/scripts/seat_acquire.lua: the steps have its numbers and its order. */
#include "core/memory_internal.h"

#include "base/text.h"
#include <assert.h>
#include <string.h>

/* One acquire on its way through the steps. */
struct ask {
    struct memory_claim *r;
    struct memory_seats *s;
    struct memory_device *d;
    struct wall now;
    const struct store_request *request;
    struct store_reply *reply;
    struct wall turn;
    bool due;   /* of the schedule, not by hand (rule 15) */
    bool mine;  /* the device's newest attempt is of this token */
    bool ahead; /* the record lies more than one turn in the store's future */
    int64_t mean_ms;
    int64_t longest_ms; /* that was ever asked for */
    int64_t left_ms;    /* of the seat of the device's newest attempt; over: not above 0 */
};

/* Does its step; true where that gave the answer. */
typedef bool (*ask_step)(struct ask *a);

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool answer_seat(struct ask *a, enum acquire_answer answer)
{
    a->reply->acquire.attempt = a->d->attempt;
    return memory_say_turn(a->reply, answer, a->d->turn, "");
}

static bool answer_no_room(struct ask *a)
{
    memory_no_room(a->reply);
    return true;
}

static void keep_device(struct ask *a)
{
    memory_device_keep(a->s, a->d, a->now, a->request->job->retention_ms);
}

static bool sit(struct ask *a)
{
    return memory_seats_sit(a->s, a->now, a->request);
}

static const char *state_word(const struct memory_device *d)
{
    return memory_state_word(d->state, d->outcome);
}

static const char *schedule_of(const struct ask *a)
{
    return a->request->job->schedule_print;
}

static void note_schedule(struct ask *a)
{
    text_copy(a->d->print, sizeof a->d->print, schedule_of(a));
}

/* 1. The same token again: the answer is the same, and the time to live starts anew. */
static bool same_token(struct ask *a)
{
    struct memory_device *d = a->d;

    if (!a->mine)
        return false;
    if (d->state != MEMORY_RUNNING)
        return memory_say_left(a->reply, ACQUIRE_OVER, 0, state_word(d));
    if (memory_seats_find(a->s, d->token).ms <= a->now.ms &&
        memory_seats_taken(a->s, a->now) >= a->request->job->concurrency)
        return false;
    if (!sit(a))
        return answer_no_room(a);
    return answer_seat(a, d->turn.ms <= d->done.ms && !d->manual ? ACQUIRE_SPARE : ACQUIRE_GRANTED);
}

/* A clock that was set back leaves more than was asked for (rule 8). */
static void cut_lock(const struct ask *a)
{
    struct memory_lock *lock = a->r->lock;
    int64_t left_ms = memory_lock_left_ms(lock, a->now);
    int64_t most_ms = longer(a->r->ttl_ms, a->request->ttl_ms);

    if (left_ms >= 0 && left_ms <= most_ms)
        return;
    lock->endless = false;
    lock->until = wall_add(a->now, most_ms);
}

/* 2. Not for this device. A run of the other scope, or what it left behind, holds the lock; its
 * claim may tell of another attempt, where two masters became one. */
static bool not_ours(struct ask *a)
{
    const char *holder = memory_holder(a->r->lock, a->now);
    bool runs =
        strcmp(holder, a->r->token) == 0 || (!a->request->job->lock_key && memory_is_token(holder));

    if (memory_is_newer(a->r, a->reply))
        return true;
    if (holder[0] && runs) {
        cut_lock(a);
        a->reply->acquire.holder = holder;
        return memory_say_left(a->reply, ACQUIRE_MISMATCH, 0, "fleet");
    }
    return memory_is_outdated(a->r, a->request->job, a->reply);
}

/* How long the seat of the device's newest attempt is still taken, by it or by what it left. */
static int64_t seat_left_ms(const struct ask *a)
{
    char left_behind[MEMORY_SEAT_SIZE] = "~";
    struct wall run, remains;

    if (!a->d->token[0])
        return 0;
    text_copy(left_behind + 1, sizeof left_behind - 1, a->d->token);
    run = memory_seats_find(a->s, a->d->token);
    remains = memory_seats_find(a->s, left_behind);
    return wall_between(a->now, memory_later(run, remains));
}

/* 3. No seat has more left than was asked for, and no record lies more than one turn in the store's
 * future: else its clock was set back. */
static bool set_back(struct ask *a)
{
    struct wall most = memory_turn_ahead(a->request, a->now);
    struct memory_device *d = a->d;
    bool early = a->turn.ms > a->now.ms;

    memory_seats_cut(a->s, wall_add(a->now, a->longest_ms));
    a->left_ms = seat_left_ms(a);
    if (a->due && a->r->paused.ms > most.ms)
        a->r->paused.ms = 0;
    a->ahead = a->due && memory_later(d->turn, d->done).ms > most.ms;
    if (!a->ahead || a->left_ms > 0)
        return false;
    d->turn = d->done = early ? a->now : a->turn;
    d->attempt = 0;
    d->retry.ms = d->blank.ms = 0;
    d->state = MEMORY_ASSUMED;
    d->token[0] = '\0';
    note_schedule(a);
    keep_device(a);
    return !early && memory_say_turn(a->reply, ACQUIRE_DONE, a->turn, "clock");
}

/* 3. */
static bool not_yet(struct ask *a)
{
    if (a->turn.ms <= a->now.ms)
        return false;
    return memory_say_left(a->reply, ACQUIRE_EARLY, wall_between(a->now, a->turn), "");
}

/* 4. Settled here, or overtaken. */
static bool settled_or_overtaken(struct ask *a)
{
    const struct memory_device *d = a->d;

    /* a record from the future says nothing of that: its seat, which is still there, ends first */
    if (a->turn.ms <= d->done.ms && !a->ahead) {
        if (d->turn.ms == d->done.ms)
            a->reply->acquire.holder = d->token;
        return memory_say_turn(a->reply, ACQUIRE_DONE, d->done, "");
    }
    if (a->due && a->turn.ms <= a->r->paused.ms && !memory_paused(a->r)[0])
        return memory_say_turn(a->reply, ACQUIRE_DONE, a->r->paused, "paused");
    if (a->turn.ms < d->turn.ms && !a->ahead)
        return memory_say_turn(a->reply, ACQUIRE_PASSED, d->turn, "");
    return false;
}

/* 5. The seat of this device's run before: it is not taken from it. */
static bool held(struct ask *a)
{
    if (a->left_ms <= 0 || a->mine)
        return false;
    a->reply->acquire.holder = a->d->token;
    a->reply->acquire.holder_turn = a->d->turn;
    return memory_say_left(a->reply, ACQUIRE_HELD, a->left_ms, "");
}

/* 6. Seats that ran out without a finish are runs that vanished: failures, for the brake. */
static bool count_vanished(struct ask *a)
{
    struct memory_seats *s = a->s;
    uint32_t over = s->seats - memory_seats_taken(s, a->now);
    const char *vanished = NULL;

    for (uint32_t i = 0; i < over; i++) {
        const char *who = s->room.seats[i].who;

        if (who[0] == '~' || strcmp(who, a->request->token) == 0)
            continue;
        s->fails++;
        vanished = who;
    }
    if (vanished) {
        (void)memory_brake(a->r, a->request->job->stop_after_failures, vanished, ", vanished");
        memory_keep(a->r, a->now, a->request->job);
    }
    memory_seats_drop_over(s, a->now);
    return false;
}

/* 7. */
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

/* 8. First sight: this device has no record, or one of another schedule. One that was written by a
 * run that outlived it knows no schedule: that is no edit. */
static bool first_sight(struct ask *a)
{
    struct memory_device *d = a->d;
    bool late = wall_between(a->turn, a->now) > a->request->fresh_ms;
    bool edited = d->print[0] && strcmp(d->print, schedule_of(a)) != 0;

    if (!a->due || (d->state != MEMORY_NONE && !edited))
        return false;
    note_schedule(a);
    if (d->state == MEMORY_NONE) {
        d->turn = a->turn;
        d->state = late ? MEMORY_ASSUMED : MEMORY_BLANK;
    }
    keep_device(a);
    d->blank = wall_add(a->now, a->request->ttl_ms);
    if (late) {
        d->done = a->turn;
        return memory_say_turn(a->reply, ACQUIRE_DONE, a->turn, "assumed");
    }
    return memory_say_left(a->reply, ACQUIRE_WAIT, a->request->ttl_ms, "blank");
}

/* No wait has more left than it asked for; more means a clock set back, and is cut for good. */
static int64_t wait_left_ms(struct ask *a, struct wall *until, int64_t most_ms)
{
    struct wall most = wall_add(a->now, most_ms);

    if (until->ms > most.ms) {
        *until = most;
        keep_device(a);
    }
    return wall_between(a->now, *until);
}

/* 9. Waiting; then the tries that this device has had. */
static bool waiting(struct ask *a)
{
    struct memory_device *d = a->d;

    if (a->due && d->blank.ms > a->now.ms)
        return memory_say_left(a->reply, ACQUIRE_WAIT,
                               wait_left_ms(a, &d->blank, a->request->ttl_ms), "blank");
    if (a->turn.ms != d->turn.ms || d->attempt >= a->request->job->attempts || a->mine ||
        d->retry.ms <= a->now.ms)
        return false;
    return memory_say_left(a->reply, ACQUIRE_WAIT, wait_left_ms(a, &d->retry, d->delay_ms),
                           state_word(d));
}

/* 9. */
static bool exhausted(struct ask *a)
{
    struct memory_device *d = a->d;

    if (a->turn.ms != d->turn.ms || d->attempt < a->request->job->attempts || a->mine)
        return false;
    a->reply->acquire.answer = ACQUIRE_EXHAUSTED;
    a->reply->acquire.attempt = d->attempt;
    a->reply->acquire.first = d->state != MEMORY_GAVE_UP;
    d->state = MEMORY_GAVE_UP;
    keep_device(a);
    return true;
}

/* 10. One that crashed keeps its seat for a twentieth of the lease at least. */
static int64_t run_ms(const struct ask *a)
{
    return longer(a->mean_ms, a->request->ttl_ms / 20);
}

/* When there should be a seat for this place: by how long runs take, and one run more. */
static int64_t queue_wait_ms(const struct ask *a, uint32_t place)
{
    int64_t most = a->request->job->concurrency;
    int64_t wait_ms = run_ms(a) + (a->mean_ms * (place + 1) + most - 1) / most;
    int64_t quarter_ms = wall_between(a->turn, a->request->next) / 4;

    if (a->due && wait_ms > longer(1, quarter_ms))
        return longer(1, quarter_ms);
    return wait_ms;
}

static void join_queue(struct ask *a, int64_t wait_ms)
{
    struct memory_seats *s = a->s;
    struct wall end = wall_add(a->now, wait_ms + longer(a->request->ttl_ms, a->mean_ms));

    s->queue_end = s->queued > 0 ? memory_later(end, s->queue_end) : end;
    memory_queue_join(s, a->d, a->now);
    a->d->ask = wall_add(a->now, wait_ms);
    keep_device(a);
}

/* The front is as many as there are seats, or a twentieth of the queue where that is more: there a
 * device may pass those before it, unless it is new, or came later than it takes to serve the
 * front: two who take turns would pass a third for ever. */
static bool may_pass(const struct ask *a, int64_t ahead)
{
    int64_t most = a->request->job->concurrency, queued = a->s->queued;
    int64_t front20 = longer(20 * most, queued); /* twenty times as many */

    return a->d->queued && 20 * ahead < front20 &&
           20 * most * wall_between(memory_queue_at(a->s, 0)->since, a->d->since) <=
               run_ms(a) * front20;
}

/* 10. A seat is for the front of the queue. */
static bool full(struct ask *a)
{
    int64_t most = a->request->job->concurrency;
    int64_t taken = memory_seats_taken(a->s, a->now), ahead;
    uint32_t place;

    memory_queue_drop_heads(a->s, a->d, a->now, longer(a->request->ttl_ms, a->mean_ms),
                            a->request->job->retention_ms);
    place = memory_queue_place(a->s, a->d);
    ahead = (int64_t)place - (most - taken);
    if (taken < most && (ahead < 0 || may_pass(a, ahead)))
        return false;
    a->reply->acquire.seats = (uint32_t)taken;
    a->reply->acquire.watch = place + 1;
    memory_say_left(a->reply, ACQUIRE_FULL, queue_wait_ms(a, place), "");
    join_queue(a, a->reply->acquire.left_ms);
    return true;
}

static void begin_attempt(struct ask *a)
{
    struct memory_device *d = a->d;

    d->attempt = a->turn.ms == d->turn.ms ? d->attempt + 1 : 1;
    d->turn = a->turn;
    d->state = MEMORY_RUNNING;
    text_copy(d->token, sizeof d->token, a->request->token);
    d->retry.ms = d->delay_ms = 0;
    d->started = a->now;
    d->ended.ms = 0;
    d->held = d->stopped = false;
    d->manual = !a->due;
    if (a->due)
        note_schedule(a);
}

static void note_claim(struct ask *a)
{
    struct memory_claim *r = a->r;

    text_copy(r->fingerprint, sizeof r->fingerprint, a->request->job->fingerprint);
    r->scope = SCOPE_DEVICE;
    text_copy(a->s->by, sizeof a->s->by, a->request->token);
    a->s->longest_ms = a->longest_ms;
    /* for the fleet scope: the turns of an edited job that the seats have had do not run again */
    if (a->due)
        r->done = memory_later(r->done, a->turn);
    memory_keep(r, a->now, a->request->job);
}

/* 11. */
static bool granted(struct ask *a)
{
    if (!sit(a))
        return answer_no_room(a);
    memory_queue_leave(a->s, a->d);
    if (!a->mine)
        begin_attempt(a);
    a->d->ask.ms = 0;
    keep_device(a);
    note_claim(a);
    memory_seats_forget_old(a->s, a->d, a->now, a->request->job->retention_ms);
    return answer_seat(a, ACQUIRE_GRANTED);
}

void memory_seat_acquire(struct memory_claim *r, struct wall now,
                         const struct store_request *request, struct store_reply *reply)
{
    static const ask_step steps[] = {
        same_token, not_ours,       set_back, not_yet,     settled_or_overtaken,
        held,       count_vanished, paused,   first_sight, waiting,
        exhausted,  full,           granted,
    };
    struct memory_seats *s = r->seats;
    struct ask a = {
        .r = r,
        .s = s,
        .d = memory_seats_device(s, request->device),
        .now = now,
        .request = request,
        .reply = reply,
        .turn = request->turn.ms ? request->turn : now,
        .due = request->next.ms > 0,
        .mean_ms = s->mean_ms ? s->mean_ms : request->ttl_ms / 4,
        .longest_ms = longer(request->ttl_ms, s->longest_ms),
    };

    if (!a.d) {
        memory_no_room(reply);
        return;
    }
    a.mine = strcmp(a.d->token, request->token) == 0;
    if (r->scope == SCOPE_DEVICE)
        memory_tell_print(r, request->job, s->by, reply);
    for (size_t i = 0; !steps[i](&a); i++)
        assert(i + 1 < sizeof steps / sizeof steps[0]);
}
