/* SPDX-License-Identifier: MIT */
#include "supervisor/words_fault.h"
#include "base/text.h"
#include "base/units.h"
#include "supervisor/journal.h"
#include "supervisor/words.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const verbs[STORE_VERB_COUNT] = {
    [STORE_CLOCK] = "time",
    [STORE_ACQUIRE] = "acquire",
    [STORE_RENEW] = "renew",
    [STORE_FINISH] = "finish",
    [STORE_HELLO] = "hello",
    [STORE_INDEX] = "index",
    [STORE_CONFIG_GET] = "config_get",
    [STORE_CONFIG_PUT] = "config_put",
    [STORE_PAUSE] = "pause",
    [STORE_RESUME] = "resume",
};

static const int begins[FAULT_COUNT] = {
    [FAULT_LINK] = LOG_WARNING | MESSAGE_REDIS_BUSY,
    [FAULT_ALIEN] = LOG_WARNING | MESSAGE_REDIS_BUSY,
    [FAULT_BUSY] = LOG_WARNING | MESSAGE_REDIS_BUSY,
    [FAULT_STORAGE] = LOG_ERR | MESSAGE_REDIS_FULL,
    [FAULT_REPLICA] = LOG_WARNING | MESSAGE_REDIS_REPLICA,
    [FAULT_CLOCK] = LOG_WARNING | MESSAGE_REDIS_BUSY,
    [FAULT_OPERATOR] = LOG_ERR | MESSAGE_REDIS_SETTING,
    [FAULT_UNKNOWN] = LOG_WARNING | MESSAGE_REDIS_ODD,
    [FAULT_OURS] = LOG_WARNING | MESSAGE_REDIS_ODD,
};

static void say_repeat(const struct job *job, const struct report *r, const char *why)
{
    if (job)
        words_about(job, LOG_DEBUG, "Redis (%s): %s; faults of this kind (%s) so far: %" PRIu64,
                    verbs[r->verb], why, fault_name(r->fault), job->fleet->faults[r->fault]);
    else
        words_about(NULL, LOG_DEBUG, "%s (%s)", why, fault_name(r->fault));
}

void words_fault_forget(struct words_fault *slot)
{
    free(slot->said);
    slot->said = NULL;
}

/* Where memory is short, it is said again. */
static void remember(struct words_fault *slot, int what, const char *why)
{
    size_t size = strlen(why) + 1;

    words_fault_forget(slot);
    slot->said = malloc(sizeof *slot->said + size);
    if (!slot->said)
        return;
    slot->said->what = what;
    memcpy(slot->said->text, why, size);
}

static void say_fault(const struct job *job, const struct report *r, struct words_fault *slot)
{
    char why[REDIS_FAULT_REASON_SIZE];

    text_copy(why, sizeof why, r->text ? r->text : "the answer came too late to be used");
    /* Where a connection was lost, its own line says so for all jobs, and why. */
    if (r->no_answer || (slot->said && text_equal(slot->said->text, why))) {
        say_repeat(job, r, why);
        return;
    }
    remember(slot, begins[r->fault], why);
    words_about(job, begins[r->fault], "Redis (%s): %s; it is tried again", verbs[r->verb], why);
}

static void say_over(const struct job *job, struct words_fault *own, struct words_fault *shared)
{
    if (own->said && own != shared)
        words_about(job, LOG_NOTICE | MESSAGE_END_OF(own->said->what), "Redis answers it again");
    if (shared->said)
        journal_log(LOG_NOTICE | MESSAGE_END_OF(shared->said->what), NULL,
                    "Redis answers again; it was: %s", shared->said->text);
    words_fault_forget(own);
    words_fault_forget(shared);
}

void words_fault_report(const struct job *job, const struct report *r, struct words_fault *own,
                        struct words_fault *shared)
{
    if (r->kind == REPORT_ANSWERED)
        say_over(job, own, shared);
    else
        say_fault(job, r, fault_is_shared(r->fault) ? shared : own);
}

static void say_link_up(struct words_fault_link *w, const char *endpoint, uint64_t missed,
                        struct boot now)
{
    char after[UNITS_SIZE];

    if (!w->down)
        return;
    w->down = false;
    /* A replica lets in whoever may log in. */
    if (w->fault == FAULT_REPLICA)
        return;
    units_say_duration(boot_between(w->since, now), after, sizeof after);
    if (missed > w->missed_before)
        journal_log(LOG_NOTICE | MESSAGE_REDIS_BACK, NULL,
                    "%s answers again after %s; %" PRIu64 " turn%s missed", endpoint, after,
                    missed - w->missed_before, missed - w->missed_before == 1 ? " was" : "s were");
    else
        journal_log(LOG_NOTICE | MESSAGE_REDIS_BACK, NULL,
                    "%s answers again after %s; no turn was missed", endpoint, after);
}

/* An outage may show itself differently at each server and each try: a kind of fault is said once.
 */
static void say_link_down(struct words_fault_link *w, const struct redis_link_change *change)
{
    bool lost = change->fault == FAULT_LINK || change->fault == FAULT_ALIEN;
    uint32_t bit = UINT32_C(1) << change->fault;
    char next[UNITS_SIZE];

    units_say_duration(change->window_ms, next, sizeof next);
    if (w->said & bit)
        journal_log(LOG_DEBUG, NULL, "%s: still the same (%s); next try within %s",
                    change->endpoint, w->text, next);
    else if (lost)
        journal_log(LOG_ERR | MESSAGE_REDIS_AWAY, NULL,
                    "%s does not answer (%s); jobs wait; next try within %s", change->endpoint,
                    w->text, next);
    else
        journal_log(LOG_ERR | MESSAGE_REDIS_UNUSABLE, NULL,
                    "%s cannot be used: %s; jobs wait; next try within %s", change->endpoint,
                    w->text, next);
    w->said |= bit;
}

void words_fault_proven(struct words_fault_link *w)
{
    if (!w->down)
        w->fault = FAULT_NONE;
}

void words_fault_link(struct words_fault_link *w, const struct redis_link_change *change,
                      uint64_t missed, struct boot now)
{
    const char *reason = change->reason ? change->reason : "no reply";

    if (change->state == REDIS_LINK_UP)
        say_link_up(w, change->endpoint, missed, now);
    if (change->state == REDIS_LINK_IDLE && change->fault == FAULT_NONE && !w->down)
        journal_log(LOG_DEBUG, NULL, "%s: the connection is closed, since it is not needed for now",
                    change->endpoint);
    if (change->state != REDIS_LINK_WAITING)
        return;
    if (!w->down && (w->fault != FAULT_REPLICA || change->fault != FAULT_REPLICA)) {
        w->said = 0;
        w->since = now;
        w->missed_before = missed;
    }
    w->down = true;
    w->fault = change->fault;
    text_escape(w->text, sizeof w->text, reason, strlen(reason));
    say_link_down(w, change);
}
