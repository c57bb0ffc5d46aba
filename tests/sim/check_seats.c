/* SPDX-License-Identifier: MIT
 * Seats, their queue and the brake, as the store has them. */
#include "base/units.h"
#include "check_served.h"

/* Who has a place in the queue and asks later than told, by a slow link, has it for so long. */
#define QUEUE_SLACK_MS SECOND_MS

/* Who asked first has a seat first, within as many places as there are seats or a twentieth of the
 * queue. */
void served_queue(struct sim *s, const struct served *v)
{
    const struct ledger *own = s->servers[v->f->server].copy.jobs[v->record].own;
    enum acquire_answer answer = v->f->reply.acquire.answer;
    int64_t since = v->ledger->queued_since > 0 ? v->ledger->queued_since : v->now.ms;
    unsigned ahead = 0;

    if (!served_by_seat(v))
        return;
    if (answer == ACQUIRE_FULL) {
        /* who asks later than it was told may have lost its place */
        if (v->ledger->queued_ms == 0 || v->now.ms > v->ledger->ask_ms + QUEUE_SLACK_MS)
            v->ledger->queued_ms = v->now.ms;
        v->ledger->queued_since = since;
        v->ledger->ask_ms = v->now.ms + v->f->reply.acquire.left_ms;
        return;
    }
    if (answer != ACQUIRE_GRANTED || !served_is_new(v))
        return;
    v->ledger->queued_ms = v->ledger->queued_since = 0;
    for (unsigned i = 0; i < s->plan.devices; i++) {
        bool waits = own[i].queued_ms > 0 && own[i].ask_ms + QUEUE_SLACK_MS > v->now.ms;

        ahead += waits && own[i].queued_ms < since;
    }
    if (!s->stepped_back && ahead > 2 * v->f->request.job->concurrency + s->plan.devices / 10)
        check_breach(s, "%s: %s #%u has a seat before %u who asked earlier", served_name(v),
                     v->f->device->name, v->f->device->number, ahead);
}

/* Which count for the brake. */
static bool is_failure(enum outcome outcome)
{
    return outcome == OUTCOME_REFUSED || (outcome_retries(outcome) && outcome != OUTCOME_LOST);
}

/* So many failures in a row, by those who told them in time. What is told late, and is none, takes
 * one back: the store takes it for one that it has counted as vanished. */
void served_brake(struct sim *s, const struct served *v, bool first)
{
    const struct store_request *q = &v->f->request;
    bool seated = memory_holder(&v->before->lock, v->now)[0] != '\0';
    bool failed = is_failure(q->outcome);

    if (!served_by_seat(v))
        return;
    if (q->outcome == OUTCOME_SUCCEEDED || q->outcome == OUTCOME_NOTHING)
        v->whole->fails = 0;
    else if (!failed && !seated && v->whole->fails > 0)
        v->whole->fails--;
    if (!first || !seated || !failed || v->before->record.manual) /* of turns in a row (rule 15) */
        return;
    v->whole->fails++;
    if (q->job->stop_after_failures > 0 && v->whole->fails >= q->job->stop_after_failures &&
        !v->after->paused)
        check_breach(s, "%s: %u runs in a row have failed, and it is not stopped", served_name(v),
                     v->whole->fails);
}

/* The seats of one copy of the store. */
void served_seats(struct sim *s, const struct served *v)
{
    if (served_by_seat(v) && v->after->taken > v->f->request.job->concurrency &&
        v->after->taken > v->before->taken)
        check_breach(s, "%s: %u seats are taken, of %u", served_name(v), v->after->taken,
                     v->f->request.job->concurrency);
}

/* What is no failure comes after its seat was given away: it was taken for one that had vanished.
 */
static bool is_late_word(const struct served *v)
{
    return v->f->request.verb == STORE_FINISH && !is_failure(v->f->request.outcome) &&
           memory_holder(&v->before->lock, v->now)[0] == '\0';
}

/* Who stopped it was the store, by its failures in a row; it goes on where they were none. */
void served_note_brake(struct sim *s, const struct served *v)
{
    if (v->before->paused && !v->after->paused && served_by_seat(v) && is_late_word(v))
        v->whole->held_until_ms = 0;
    if (!v->after->paused || v->now.ms <= v->whole->held_until_ms)
        return;
    v->whole->held_until_ms = INT64_MAX;
    person_call(s, v->record);
}
