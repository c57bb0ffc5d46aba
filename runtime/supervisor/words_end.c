/* SPDX-License-Identifier: MIT
 *
 * How runs end. */
#include "base/text.h"
#include "supervisor/journal.h"
#include "supervisor/words_internal.h"
#include <inttypes.h>

static void say_lost(const struct words_context *c)
{
    const struct lease *l = &c->job->lease;
    char silent[UNITS_SIZE], free_at[WORDS_INSTANT_SIZE], then[96] = "it was the last attempt";
    int64_t since = boot_between(l->confirmed, c->now);
    struct wall expiry = wall_add(words_now(c), boot_between(c->now, l->expires));

    if (l->attempt < job_attempts(c->job))
        text_format(then, sizeof then, "%s from %s on",
                    words_is_shared_out(c) ? "another device may run it" : "it may run here again",
                    words_instant(expiry, words_now(c), free_at, sizeof free_at));
    words_say(c, LOG_ERR | MESSAGE_RUN_LOST,
              "stopped after %s, because the %s could not be renewed for %s; %s", c->ran,
              words_lock(c), units_say_duration(since, silent, sizeof silent), then);
}

static void say_overrun(const struct words_context *c)
{
    const struct timing *t = &c->job->spec->timing;
    const char *since = "its worst_case is";
    int64_t limit_ms = t->worst_case_ms;
    char limit[UNITS_SIZE];

    if (t->max_runtime_ms > 0 && c->report->ran_ms >= t->max_runtime_ms) {
        since = "its max_runtime is";
        limit_ms = t->max_runtime_ms;
    } else if (t->max_runtime_ms > 0) {
        since = "it reported no progress for";
    }
    words_say(c, LOG_ERR | MESSAGE_RUN_OVERRUN, "overrun: stopped after %s, since %s %s; %s%s",
              c->ran, since, units_say_duration(limit_ms, limit, sizeof limit), c->which,
              c->meanwhile);
}

static const int ends[OUTCOME_COUNT] = {
    [OUTCOME_SUCCEEDED] = LOG_INFO | MESSAGE_RUN_DONE,
    [OUTCOME_NOTHING] = LOG_INFO | MESSAGE_RUN_DONE,
    [OUTCOME_FAILED] = LOG_WARNING | MESSAGE_RUN_FAILED,
    [OUTCOME_REFUSED] = LOG_WARNING | MESSAGE_RUN_REFUSED,
    [OUTCOME_DECLINED] = LOG_NOTICE | MESSAGE_RUN_DECLINED,
    [OUTCOME_STOPPED] = LOG_INFO | MESSAGE_RUN_DONE,
    [OUTCOME_CRASHED] = LOG_WARNING | MESSAGE_RUN_CRASHED,
    [OUTCOME_OVERRUN] = LOG_ERR | MESSAGE_RUN_OVERRUN,
    [OUTCOME_LOST] = LOG_WARNING | MESSAGE_RUN_LOST,
    [OUTCOME_UNSTARTED] = LOG_WARNING | MESSAGE_RUN_UNSTARTED,
    [OUTCOME_VANISHED] = LOG_WARNING, /* Redis's word, no run's */
};

/* "nothing" is the plugin's word for the log's "had nothing to do". */
static const char *ended_words(enum outcome o)
{
    return o == OUTCOME_NOTHING ? "had nothing to do" : outcome_name(o);
}

void words_end_ended(const struct words_context *c)
{
    enum outcome o = c->report->outcome;
    bool good = o == OUTCOME_SUCCEEDED || o == OUTCOME_NOTHING;

    /* A lease that the store calls another's was told already, with the holder; and where the
     * work's own storage knows a newer one, the plugin tells of it. This one ran out of time. */
    if (o == OUTCOME_LOST && c->report->asked && c->job->lease.state != LEASE_GONE)
        say_lost(c);
    else if (o == OUTCOME_OVERRUN)
        say_overrun(c);
    else
        words_say(c, ends[o], "%s %s %s%s%s, %s%s", ended_words(o), good ? "in" : "after", c->ran,
                  c->text[0] && !good ? ": " : "", good ? "" : c->text, c->which, c->meanwhile);
}

void words_end_given_up(const struct words_context *c)
{
    char until[WORDS_INSTANT_SIZE];
    struct wall next = schedule_next(&c->job->spec->schedule, c->job->turn);
    bool mine = c->report->text != NULL;
    char last[WORDS_FOREIGN_SIZE + 8] = "";
    char tries[64] = "its only attempt (an earlier turn was given up)";
    bool refused = mine && c->report->outcome == OUTCOME_REFUSED;

    if (c->text[0])
        text_format(last, sizeof last, "%s \"%s\"", refused ? ":" : ",", c->text);
    if (c->job->lease.attempt >= c->job->spec->attempts)
        text_format(tries, sizeof tries, "attempt %" PRIu32 " of %" PRIu32, WORDS_ATTEMPT(c));
    words_instant(next, words_now(c), until, sizeof until);
    if (refused)
        words_say(c, LOG_ERR | MESSAGE_GIVEN_UP,
                  "given up until %s, since trying again cannot help%s", until, last);
    else if (mine)
        words_say(c, LOG_ERR | MESSAGE_GIVEN_UP, "given up until %s after %s; last: %s%s", until,
                  tries, outcome_name(c->report->outcome), last);
    else
        words_say(c, LOG_ERR | MESSAGE_GIVEN_UP,
                  "given up until %s, since its attempts are used up", until);
}

const char *words_end_detail(const struct run_end *end)
{
    enum outcome outcome = job_outcome(end);

    if (end->stop != RUN_STOPPED_ORDERED ||
        (outcome != OUTCOME_DECLINED && outcome != OUTCOME_STOPPED))
        return end->detail;
    switch (end->reason) {
    case STOP_FOR_SERVICE:
        return "rotad stops, or is drained";
    case STOP_FOR_GOOD:
        return "stopped by an operator";
    case STOP_FOR_OTHERS:
        return "handed over by an operator";
    default:
        return end->detail;
    }
}
