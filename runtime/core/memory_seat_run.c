/* SPDX-License-Identifier: MIT
 *
 * To be read beside redis/scripts/seat_renew.lua and seat_finish.lua: the names and the order are
 * theirs. */
#include "core/memory_internal.h"

#include "base/text.h"
#include <assert.h>
#include <string.h>

/* So many runs are in the mean. */
#define MEAN_RUNS_MAX 128

static void answer_renew(struct store_reply *reply, enum renew_answer answer, int64_t left_ms,
                         const char *why)
{
    reply->renew.answer = answer;
    reply->renew.left_ms = left_ms;
    reply->renew.why = why;
}

/* The record is gone or older: written again. */
static void write_again(struct memory_claim *r, struct memory_device *d, struct wall now,
                        const struct store_request *request)
{
    struct memory_device again = { .queued = d->queued,
                                   .since = d->since,
                                   .turn = request->turn,
                                   .attempt = request->attempt,
                                   .done = d->done,
                                   .state = MEMORY_RUNNING };

    text_copy(again.name, sizeof again.name, d->name);
    text_copy(again.print, sizeof again.print, d->print);
    text_copy(again.token, sizeof again.token, request->token);
    *d = again;
    memory_device_keep(r->seats, d, now, request->job->retention_ms);
}

static uint32_t tries(const struct memory_device *d)
{
    return memory_tries(d->state, d->outcome, d->attempt);
}

/* Why this token has no seat any more, or NULL. */
static const char *why_lost(const struct memory_device *d, const struct store_request *request)
{
    bool mine = strcmp(d->token, request->token) == 0;

    /* Not brought back by a renewal that comes late. */
    if (mine)
        return d->state == MEMORY_RUNNING ? NULL : memory_state_word(d->state, d->outcome);
    /* Nor one after which this device has had a turn. */
    if (d->token[0] && (d->turn.ms > request->turn.ms ||
                        (d->turn.ms == request->turn.ms && tries(d) >= request->attempt)))
        return d->token;
    return NULL;
}

void memory_seat_renew(struct memory_claim *r, struct wall now, const struct store_request *request,
                       struct store_reply *reply)
{
    struct memory_seats *s = r->seats;
    struct memory_device *d = memory_seats_device(s, request->device);
    int64_t left_ms = wall_between(now, memory_seats_find(s, request->token));
    const char *lost = d ? why_lost(d, request) : NULL;

    if (d && !lost && left_ms <= 0 && memory_seats_taken(s, now) >= request->job->concurrency)
        lost = "";
    if (lost) {
        answer_renew(reply, RENEW_LOST, 0, lost);
        return;
    }
    if (!d || !memory_seats_sit(s, now, request)) {
        memory_no_room(reply);
        return;
    }
    if (request->ttl_ms > s->longest_ms)
        s->longest_ms = request->ttl_ms;
    memory_keep(r, now, request->job);
    if (strcmp(d->token, request->token) != 0)
        write_again(r, d, now, request);
    answer_renew(reply, left_ms > 0 ? RENEW_RENEWED : RENEW_REGAINED, left_ms > 0 ? left_ms : 0,
                 "");
}

/* One finish on its way. */
struct end {
    struct memory_claim *r;
    struct memory_seats *s;
    struct memory_device *d;
    struct wall now;
    const struct store_request *request;
    struct wall seat; /* its end; 0: there was none */
    bool mine, manual, held, frees;
    bool again; /* the outcome may be tried again: a failure, for the brake */
    bool stopped;
};

static bool gives_back(const struct store_request *request)
{
    return request->outcome == OUTCOME_DECLINED || request->outcome == OUTCOME_UNSTARTED;
}

/* Where what it left behind is unknown, the seat stays until its end (rule 9). */
static void leave_seat(struct end *e)
{
    char left_behind[MEMORY_SEAT_SIZE] = "~";

    memory_seats_remove(e->s, e->request->token);
    if (!e->held || e->frees)
        return;
    text_copy(left_behind + 1, sizeof left_behind - 1, e->request->token);
    (void)memory_seats_put(e->s, left_behind, e->seat); /* there is room: it had a seat */
    if (e->s->seats_end.ms == MEMORY_FOREVER.ms)
        e->s->seats_end = e->seat;
}

bool memory_brake(struct memory_claim *r, uint32_t limit, const char *token, const char *how)
{
    const char *digits = strrchr(token, ':');
    int device = digits ? (int)(digits - token) : (int)strlen(token);

    if (limit == 0 || r->seats->fails < limit || r->pause->why[0])
        return false;
    text_format(r->pause->why, sizeof r->pause->why, "rota: stopped after %u %s; last: %.*s%s",
                r->seats->fails, r->seats->fails == 1 ? "failure" : "failures in a row", device,
                token, how);
    r->pause->endless = true;
    return true;
}

/* What stopped the job was a run that vanished: memory_brake() says so, and no word of a plugin. */
static bool is_brake_of_vanished(const char *why)
{
    static const char before[] = "; last: ";
    const char *last = strchr(why, before[0]);

    if (!last || strncmp(why, "rota: ", 6) != 0 || strncmp(last, before, strlen(before)) != 0)
        return false;
    last += strlen(before);
    return text_equal(last + strcspn(last, " "), " vanished");
}

/* One that was counted as vanished, for it could not be told in time: that is taken back, and the
 * brake that came of it. */
static void count_no_failure(struct end *e)
{
    enum outcome o = e->request->outcome;
    char *why = e->r->pause->why;
    bool late = e->seat.ms == 0, braked = late && is_brake_of_vanished(why);

    if ((o == OUTCOME_SUCCEEDED || o == OUTCOME_NOTHING) && !braked)
        e->s->fails = 0;
    else if (late && e->s->fails > 0)
        e->s->fails--;
    if (braked && e->s->fails < e->request->job->stop_after_failures)
        why[0] = '\0';
}

/* Failures in a row over the whole fleet. Where the seat is gone, the next acquire counts it. A
 * lost lease is no failure of the job: the way to here was gone, and is back. */
static void count_end(struct end *e)
{
    const struct store_request *q = e->request;
    char how[STORE_TEXT_SIZE];

    if (!e->again || q->outcome == OUTCOME_LOST) {
        count_no_failure(e);
        return;
    }
    if (e->seat.ms == 0 || e->manual)
        return;
    e->s->fails++;
    text_format(how, sizeof how, ", %s%s%s", outcome_name(q->outcome), q->detail[0] ? ": " : "",
                q->detail);
    e->stopped = memory_brake(e->r, q->job->stop_after_failures, q->token, how);
}

/* To the nearest, a half to the even one. */
static int64_t mean_with(int64_t mean_ms, uint32_t runs, int64_t took_ms)
{
    int64_t sum = mean_ms * (runs - 1) + took_ms, mean = sum / runs, rest = sum % runs;

    if (2 * rest > runs || (2 * rest == runs && mean % 2 == 1))
        mean++;
    return mean > 1 ? mean : 1;
}

/* How long a seat is taken: what the queue is told by. */
static void note_length(struct end *e)
{
    struct memory_seats *s = e->s;
    struct wall start = e->d->started, end = e->frees ? e->now : memory_later(e->now, e->seat);

    if (!e->mine || e->seat.ms == 0 || gives_back(e->request) || start.ms == 0 ||
        start.ms > e->now.ms)
        return;
    if (s->runs < MEAN_RUNS_MAX)
        s->runs++;
    s->mean_ms = mean_with(s->mean_ms, s->runs, wall_between(start, end));
}

/* What becomes of the device's newest attempt. Returns whether its turn was given up. */
static bool write_end(struct end *e)
{
    struct memory_device *d = e->d;
    const struct store_request *q = e->request;
    bool gave_up =
        e->again && (e->manual || q->attempt >= q->job->attempts || q->outcome == OUTCOME_REFUSED);
    /* attempts = 1: what was started is never started again */
    bool back = gives_back(q) && !(q->outcome == OUTCOME_DECLINED && q->job->attempts == 1);

    /* Where the record was gone, other runs may have outlived it: the wait for them to take their
     * leases back begins, or goes on. */
    if (d->state == MEMORY_NONE)
        d->blank = wall_add(e->now, q->job->timing.lease_ms);
    d->state = gave_up ? MEMORY_GAVE_UP : MEMORY_ENDED;
    d->outcome = q->outcome;
    d->turn = q->turn;
    d->attempt = q->attempt - (back && q->attempt > 0);
    text_copy(d->token, sizeof d->token, q->token);
    d->ended = e->now;
    d->delay_ms = e->again ? q->job->retry_delay_ms : 0;
    d->retry.ms = e->again ? wall_add(e->now, d->delay_ms).ms : 0;
    d->held = e->held;
    d->stopped = e->stopped;
    d->manual = e->manual;
    return gave_up;
}

static void settle(struct end *e)
{
    const struct store_request *q = e->request;
    struct memory_device *d = e->d;

    d->done = memory_later(d->done, q->turn);
    if (q->covers.ms <= e->now.ms)
        d->done = memory_later(d->done, q->covers);
}

static void answer_finish(struct store_reply *reply, bool held, bool gave_up, bool stopped)
{
    reply->finish.held = held;
    reply->finish.gave_up = gave_up;
    reply->finish.stopped = stopped;
}

static struct end begin_end(struct memory_claim *r, struct memory_device *d, struct wall now,
                            const struct store_request *request)
{
    struct end e = { .r = r, .s = r->seats, .d = d, .now = now, .request = request };

    e.seat = memory_seats_find(e.s, request->token);
    e.mine = strcmp(d->token, request->token) == 0;
    e.manual = e.mine && d->manual;
    e.held = e.seat.ms > now.ms;
    e.frees = outcome_frees_lock(request->outcome) && request->clean;
    e.again = outcome_retries(request->outcome) || request->outcome == OUTCOME_REFUSED;
    return e;
}

void memory_seat_finish(struct memory_claim *r, struct wall now,
                        const struct store_request *request, struct store_reply *reply)
{
    struct memory_device *d = memory_seats_device(r->seats, request->device);
    bool behind, gave_up = false;
    struct end e;

    assert(request->outcome != OUTCOME_VANISHED); /* acquire alone tells that */
    if (!d) {
        memory_no_room(reply);
        return;
    }
    e = begin_end(r, d, now, request);
    /* A repeat: the same answer, nothing twice. */
    if (e.mine && d->state != MEMORY_RUNNING && d->ended.ms > 0) {
        answer_finish(reply, d->held, d->state == MEMORY_GAVE_UP, d->stopped);
        return;
    }
    behind = d->turn.ms < request->turn.ms ||
             (d->turn.ms == request->turn.ms && tries(d) < request->attempt);
    if (e.seat.ms == 0)
        memory_keep(r, now, request->job);
    if (request->outcome == OUTCOME_UNSTARTED && !e.mine) {
        memory_seats_remove(e.s, request->token);
        answer_finish(reply, e.held, false, false);
        return;
    }
    leave_seat(&e);
    count_end(&e);
    if (request->outcome == OUTCOME_SUCCEEDED && request->job->version > r->version)
        r->version = request->job->version;
    note_length(&e);
    memory_keep(r, now, request->job);
    if (outcome_settles(request->outcome))
        settle(&e);
    if (e.mine || behind || !d->token[0])
        gave_up = write_end(&e);
    memory_device_keep(e.s, d, now, request->job->retention_ms);
    answer_finish(reply, e.held, gave_up, e.stopped);
}
