/* SPDX-License-Identifier: MIT
 * The end of a run, as the store has just recorded it: promises 1 and 6. */
#include "check_served.h"
#include <string.h>

/* By hand: turns that were given up before stay so (rule 15). */
static void check_streak(struct sim *s, const struct served *v)
{
    const struct memory_claim *a = &v->before->record, *b = &v->after->record;

    if (!served_by_seat(v) && a->manual && !served_is_new(v) && a->streak != b->streak)
        check_breach(s, "%s: a run by hand makes the streak %u, of %u", served_name(v), b->streak,
                     a->streak);
}

/* The same answer, and nothing twice (rule 4). */
static void check_repeat(struct sim *s, const struct served *v)
{
    const struct memory_claim *a = &v->before->record, *b = &v->after->record;

    if (a->retry.ms != b->retry.ms || a->streak != b->streak || a->attempt != b->attempt ||
        a->held != b->held)
        check_breach(s, "%s: the end of %s is told again, and counted twice", served_name(v),
                     v->f->token);
}

void served_finish(struct sim *s, const struct served *v)
{
    const struct store_request *q = &v->f->request;
    bool mine = strcmp(v->before->record.token, v->f->token) == 0;
    bool first = mine && !v->before->record.ended, repeat = mine && !first;
    bool covers = !repeat && q->covers.ms <= v->now.ms && q->covers.ms > q->turn.ms;
    int64_t done = covers ? q->covers.ms : q->turn.ms;

    if (outcome_settles(q->outcome)) {
        if (done > v->ledger->done) {
            s->tally.successes++;
            if (!mine || !v->before->record.manual) /* which changes no streak (rule 15) */
                check_settled(v->check, q->job->attempts);
            v->ledger->done = done;
            v->ledger->done_ms = s->now_ms;
        }
        if (v->after->record.done.ms < done)
            check_breach(s, "%s: the success of turn %lld is not recorded", served_name(v),
                         (long long)done);
    }
    s->tally.declined += first && q->outcome == OUTCOME_DECLINED;
    s->tally.unstarted += first && q->outcome == OUTCOME_UNSTARTED;
    s->tally.failures += first && outcome_retries(q->outcome);
    if (q->outcome == OUTCOME_SUCCEEDED && q->job->version > v->whole->version)
        v->whole->version = q->job->version;
    served_brake(s, v, first);
    check_streak(s, v);
    if (repeat)
        check_repeat(s, v);
    if (first && outcome_retries(q->outcome)) {
        v->ledger->retry_turn = q->turn.ms;
        v->ledger->retry_ms = v->now.ms + q->job->retry_delay_ms;
    }
    v->ledger->unstarted = v->ledger->unstarted || (first && q->outcome == OUTCOME_UNSTARTED);
    if (first && v->f->reply.finish.gave_up)
        v->check->unsure = true; /* the next has one try, whatever was started */
    if (first && q->outcome == OUTCOME_REFUSED)
        check_refused(v->check, q->turn.ms);
    if (first && q->outcome == OUTCOME_DECLINED && q->job->attempts > 1)
        check_given_back(v->check, q->turn.ms);
}
