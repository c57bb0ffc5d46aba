/* SPDX-License-Identifier: MIT
 * What it means for a job that its question was answered, and not by a grant. */
#include "base/text.h"
#include "core/job_internal.h"
#include "core/turns.h"

/* `over` twice in a row for tokens that were never finished: a server that answers anything. */
#define JOB_OVERS_MAX 2
/* Each `split` doubles the wait for the next question, so often: from half a second on average to
 * five. */
#define JOB_DOUBLINGS_MAX 4

static void refused_held(struct job *j, const struct store_reply *reply)
{
    const struct timing *t = &j->spec->timing;
    int64_t left = reply->acquire.left_ms, in;
    char holder[DEVICE_NAME_MAX + 1] = "";
    struct report r = { .kind = REPORT_PASSED, .device = holder, .held = true };

    if (reply->acquire.watch > 0)
        j->watch = reply->acquire.watch;
    if (reply->acquire.holder_turn.ms == j->turn.ms)
        lease_token_device(reply->acquire.holder, holder);
    /* In device scope it is this device's own run before, which nothing is taken over from. */
    job_keep_holder(j, j->spec->scope == SCOPE_FLEET ? holder : NULL);
    j->holder_until = boot_add(reply->received, left);
    if (j->refusals == 0) {
        j->counters.passed_held++;
        job_report(j, &r);
    }
    in = turns_watch_ms(j->watch, left, t->lease_ms, t->renew_ms > 0, j->refusals++);
    if (in < 0)
        job_turn_is_settled(j, reply->received, j->turn);
    else
        job_ask_again(j, reply->received, in);
}

/* No seat is free, and this device has a place in the queue: its instant comes from the store,
 * which knows how long runs take. Nobody else can take its turn. */
static void refused_full(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_QUEUED, .place = reply->acquire.watch };

    if (j->refusals++ == 0) {
        j->counters.passed_held++;
        job_report(j, &r);
    }
    j->queued = true;
    job_ask_again(j, reply->received, reply->acquire.left_ms);
}

/* Hello made this device ask for what is settled: the index does not know, and others would ask
 * too.
 */
static void mend_index(struct job *j, struct wall turn)
{
    if (j->urged && j->drawn_for.ms == j->turn.ms)
        fleet_hello_index(j->fleet, j, turn);
}

static void refused_done(struct job *j, const struct store_reply *reply)
{
    const char *why = reply->acquire.why;
    char device[DEVICE_NAME_MAX + 1] = "";
    struct report r = { .kind = REPORT_PASSED, .text = why };

    if (reply->acquire.answer == ACQUIRE_DONE) {
        mend_index(j, reply->acquire.turn);
        if (reply->acquire.holder)
            lease_token_device(reply->acquire.holder, device);
    }
    job_keep_holder(j, device); /* who did it, for people */
    j->counters.passed_done++;
    if (text_equal(why, "assumed"))
        r.kind = REPORT_FIRST_SIGHT;
    else if (text_equal(why, "clock"))
        r.kind = REPORT_VOID;
    job_report(j, &r);
    job_turn_is_settled(j, reply->received,
                        reply->acquire.turn.ms > j->turn.ms ? reply->acquire.turn : j->turn);
}

static void refused_wait(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_FIRST_SIGHT, .silent_ms = reply->acquire.left_ms };

    /* Said by the device that found it, which is told to wait the whole lease. */
    if (text_equal(reply->acquire.why, "blank") && r.silent_ms >= j->spec->timing.lease_ms)
        job_report(j, &r);
    job_ask_again(j, reply->received, time_add_ms(reply->acquire.left_ms, 1));
}

/* By a hair, or because the server's clock was set back: then the turn that was asked for is not
 * the one to wait for. */
static void refused_early(struct job *j, const struct store_reply *reply)
{
    int64_t in = time_add_ms(reply->acquire.left_ms, 1);

    if (in <= schedule_period_ms(&j->spec->schedule))
        job_ask_again(j, reply->received, in);
    else
        job_happen(j, j->leaving ? JOB_EVENT_LEAVE : JOB_EVENT_SETTLE, reply->received);
}

static void refused_exhausted(struct job *j, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_GIVEN_UP };

    j->counters.passed_done++;
    if (reply->acquire.first)
        job_report(j, &r);
    mend_index(j, j->turn);
    job_turn_is_settled(j, reply->received, j->turn);
}

static void refused_over(struct job *j, const struct store_reply *reply)
{
    lease_renew_token(&j->lease);
    if (++j->overs >= JOB_OVERS_MAX)
        job_turn_is_settled(j, reply->received, j->turn);
    else
        job_ask_again(j, reply->received, 0);
}

/* A quorum's servers are divided among those that ask, or some of them are away: nobody has won. */
static void refused_split(struct job *j, const struct store_reply *reply)
{
    job_ask_again(j, reply->received, reply->acquire.left_ms << j->splits);
    if (j->splits < JOB_DOUBLINGS_MAX)
        j->splits++;
}

/* The turn has passed by that, whenever the pause ends (PROTOCOL rule 17). */
static void refused_paused(struct job *j, const struct store_reply *reply)
{
    j->counters.passed_paused++;
    mend_index(j, j->turn);
    job_turn_is_settled(j, reply->received, j->turn);
}

static void refused_barred(struct job *j, const struct store_reply *reply)
{
    j->counters.passed_barred++;
    job_turn_is_settled(j, reply->received, j->turn);
}

void job_refused(struct lease *l, const struct store_reply *reply)
{
    struct job *j = job_of_lease(l);

    if (job_hand_refused(j, reply))
        return;
    l->answer = (uint8_t)reply->acquire.answer;
    job_answered_turn(j, l->turn);
    job_versions_heard(j, reply);
    if (reply->acquire.answer != ACQUIRE_OVER)
        j->overs = 0;
    if (reply->acquire.answer != ACQUIRE_SPLIT)
        j->splits = 0;
    if (reply->acquire.answer != ACQUIRE_HELD && reply->acquire.answer != ACQUIRE_SPLIT)
        job_keep_holder(j, NULL); /* its run has ended, and did not go silent */
    switch (reply->acquire.answer) {
    case ACQUIRE_HELD:
        refused_held(j, reply);
        break;
    case ACQUIRE_FULL:
        refused_full(j, reply);
        break;
    case ACQUIRE_WAIT:
        refused_wait(j, reply);
        break;
    case ACQUIRE_EARLY:
        refused_early(j, reply);
        break;
    case ACQUIRE_EXHAUSTED:
        refused_exhausted(j, reply);
        break;
    case ACQUIRE_PAUSED:
        refused_paused(j, reply);
        break;
    case ACQUIRE_SPLIT:
        refused_split(j, reply);
        break;
    case ACQUIRE_OVER:
        refused_over(j, reply);
        break;
    case ACQUIRE_MISMATCH:
    case ACQUIRE_OUTDATED:
    case ACQUIRE_NEWER:
        refused_barred(j, reply);
        break;
    default:
        refused_done(j, reply);
        break;
    }
}
