/* SPDX-License-Identifier: MIT
 * What is said of a run by hand. */
#include "base/text.h"
#include "base/units.h"
#include "core/lease.h"
#include "core/turns.h"
#include "supervisor/control_hand.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FOREIGN_SIZE 300

static char *escape(char buf[FOREIGN_SIZE], const char *text)
{
    return text_escape(buf, FOREIGN_SIZE, text ? text : "", text ? strlen(text) : 0);
}

__attribute__((format(printf, 3, 4))) static void say(struct control_said *said, const char *word,
                                                      const char *format, ...)
{
    va_list args;

    said->good = false;
    said->word = word;
    va_start(args, format);
    (void)vsnprintf(said->sentence, sizeof said->sentence, format, args);
    va_end(args);
}

__attribute__((format(printf, 3, 4))) static void refuse(struct control_said *said,
                                                         const char *word, const char *format, ...)
{
    static const char start[] = "not started: ";
    va_list args;

    said->good = false;
    said->word = word;
    memcpy(said->sentence, start, sizeof start);
    va_start(args, format);
    (void)vsnprintf(said->sentence + sizeof start - 1, sizeof said->sentence - sizeof start + 1,
                    format, args);
    va_end(args);
}

/* --- before the question --- */

static const struct {
    const char *word, *why;
} obstacles[] = {
    [JOB_RUNS] = { "running", "it runs here already" },
    [JOB_IS_TOLD] = { "ending", "how its last run here ended is still to be told to Redis" },
    [JOB_IS_STUCK] = { "stuck", "something of its last run cannot be killed" },
    [JOB_IS_ASKED] = { "busy", "Redis is being asked for a turn of its schedule; try again in a "
                               "moment" },
    [JOB_WAITS_FOR_TIME] = { "no clock", "the time that its turns go by is not known yet; rotactl "
                                         "status says why" },
    [JOB_IS_APART] = { "mismatch", "other devices have another lock for it" },
    [JOB_LEAVES] = { "leaving", "this device takes no turns of it any more" },
    [JOB_NEEDS_FENCE] = { "no fence", "without its lock it has no fence, and its require_fence is "
                                      "true" },
    [JOB_HAND_BUSY] = { "busy", "another run by hand is being asked for; try again in a moment" },
};

void control_hand_say_obstacle(const struct manager *m, const struct device_job *d,
                               enum job_obstacle obstacle, struct control_said *ret)
{
    char text[FOREIGN_SIZE];

    if (obstacle == JOB_LEAVES && (m->draining || m->stopping))
        control_hand_say_absent(m, d->config, ret);
    else if (obstacle == JOB_HAS_NO_SLOT)
        refuse(ret, "no slot",
               "this device runs as many jobs as it may (max_running = %" PRIu32 ")",
               m->fleet.slots);
    else if (obstacle == JOB_HAS_PAUSE)
        refuse(ret, "paused", "it is paused on this device by %s; --force runs it all the same",
               escape(text, control_pause_text(m->control, d->config->name)));
    else
        refuse(ret, obstacles[obstacle].word, "%s", obstacles[obstacle].why);
}

void control_hand_say_absent(const struct manager *m, const struct job_config *config,
                             struct control_said *ret)
{
    char text[FOREIGN_SIZE];

    if (m->stopping)
        refuse(ret, "stopping", "rotad stops");
    else if (m->draining)
        refuse(ret, "draining", "this device is drained; rotactl undrain ends that");
    else if (!m->began)
        refuse(ret, "starting", "plugins are still being probed; try again in a moment");
    else if (config->invalid)
        refuse(ret, "invalid", "its configuration has a mistake: %s",
               escape(text, config->invalid_why));
    else if (!config->enabled)
        refuse(ret, "disabled", "enabled is false in its configuration");
    else if (config->elsewhere)
        refuse(ret, "elsewhere", "its devices are others than this one");
    else
        refuse(ret, "leaving", "this device takes no turns of it yet; try again in a moment");
}

/* --- the store's answer --- */

static void say_no_answer(const struct manager *m, const struct job *job, struct control_said *ret)
{
    const struct device_job *d = (const struct device_job *)job;
    char text[FOREIGN_SIZE];

    if (job->leaving)
        control_hand_say_obstacle(m, d, JOB_LEAVES, ret);
    else if (m->link_words.down && m->link_words.text[0])
        refuse(ret, "unanswered",
               "Redis cannot be asked: %s; rotad --check --online says how far it comes",
               escape(text, m->link_words.text));
    else if (d->fault.said || m->fault.said)
        refuse(ret, "unanswered", "Redis refuses: %s",
               escape(text, d->fault.said ? d->fault.said->text : m->fault.said->text));
    else
        refuse(ret, "unanswered", "Redis has not answered in time");
}

/* A refusal that the job waits for the end of, where it has asked for its open turn. */
static const char *then_words(const struct job *job)
{
    return job_is_by_hand(job) ? "" : "; it is asked for again then, by itself";
}

static void say_held(const struct job *job, const struct store_reply *reply,
                     struct control_said *ret)
{
    char device[DEVICE_NAME_MAX + 1], text[FOREIGN_SIZE], left[UNITS_SIZE];
    const char *holder = reply->acquire.holder ? reply->acquire.holder : "";
    /* 0: it has its place already. */
    uint32_t place = reply->acquire.watch ? reply->acquire.watch : job->watch;

    lease_token_device(holder, device);
    escape(text, device[0] ? device : holder);
    if (reply->acquire.left_ms < 0)
        refuse(ret, "held", "its lock is held by %s, and has no end", text);
    else
        refuse(ret, "held", "held by %s, whose lease ends in %s unless it is renewed%s", text,
               units_say_duration(reply->acquire.left_ms, left, sizeof left),
               place <= TURNS_WATCHERS ? then_words(job) : "");
}

static void say_done(const struct store_reply *reply, struct control_said *ret)
{
    char device[DEVICE_NAME_MAX + 1] = "", text[FOREIGN_SIZE];

    if (reply->acquire.holder)
        lease_token_device(reply->acquire.holder, device);
    if (text_same(reply->acquire.why, "paused"))
        refuse(ret, "done",
               "its newest turn fell due while the job was paused, and has passed; "
               "rotactl resume --fleet --catch-up opens it again");
    else
        refuse(ret, "done", "no turn is open: the newest is done%s%s", device[0] ? ", by " : "",
               escape(text, device));
}

static void say_wait(const struct job *job, const struct store_reply *reply,
                     struct control_said *ret)
{
    const char *why = reply->acquire.why;
    char left[UNITS_SIZE];
    bool blank = text_same(why, "blank") || text_same(why, "assumed");

    units_say_duration(reply->acquire.left_ms, left, sizeof left);
    if (blank)
        refuse(ret, "waits",
               "Redis knows nothing of its runs yet, and one may be under way; that "
               "is waited for %s%s",
               left, then_words(job));
    else
        refuse(ret, "waits", "its last try has failed, and the next one is due in %s%s", left,
               then_words(job));
}

static void say_paused(const struct job *job, const struct store_reply *reply,
                       struct control_said *ret)
{
    char text[FOREIGN_SIZE];

    refuse(ret, "paused", "it is paused in the whole fleet by %s%s",
           escape(text, reply->acquire.why),
           job_is_by_hand(job) ? "; --force runs it all the same" : "");
}

static void say_full(const struct job *job, const struct store_reply *reply,
                     struct control_said *ret)
{
    char left[UNITS_SIZE];

    units_say_duration(reply->acquire.left_ms, left, sizeof left);
    refuse(ret, "full", "no seat is free, %" PRIu32 " %s taken; one may be in %s%s",
           reply->acquire.seats, reply->acquire.seats == 1 ? "is" : "are", left, then_words(job));
}

void control_hand_say_answer(const struct manager *m, const struct job *job,
                             const struct store_reply *reply, struct control_said *ret)
{
    if (!reply) {
        say_no_answer(m, job, ret);
        return;
    }
    switch (reply->acquire.answer) {
    case ACQUIRE_HELD:
        say_held(job, reply, ret);
        break;
    case ACQUIRE_FULL:
        say_full(job, reply, ret);
        break;
    case ACQUIRE_DONE:
        say_done(reply, ret);
        break;
    case ACQUIRE_WAIT:
        say_wait(job, reply, ret);
        break;
    case ACQUIRE_PAUSED:
        say_paused(job, reply, ret);
        break;
    case ACQUIRE_EXHAUSTED:
        refuse(ret, "exhausted",
               "the tries of its newest turn are used up (%" PRIu32
               "); without --as-due it runs as a turn of its own",
               reply->acquire.attempt);
        break;
    case ACQUIRE_MISMATCH:
        refuse(ret, "mismatch", "other devices run it by another scope");
        break;
    case ACQUIRE_OUTDATED:
        refuse(ret, "outdated",
               "version %" PRIu64 " of it has succeeded, and this device's is lower",
               reply->acquire.version);
        break;
    case ACQUIRE_NEWER:
        refuse(ret, "newer", "devices with a newer rota run it; upgrade this one");
        break;
    case ACQUIRE_SPLIT:
        refuse(ret, "split",
               "no device has a majority of the quorum's servers; try again in a moment");
        break;
    default: /* PASSED, EARLY, OVER: a newer turn, or clock, than the question's */
        refuse(ret, "passed", "Redis knows a newer turn of it; try again in a moment");
        break;
    }
}

/* --- its end --- */

void control_hand_say_stillborn(const struct report *r, struct control_said *ret)
{
    refuse(ret, outcome_name(OUTCOME_UNSTARTED), "rota-guard could not be started: %s",
           strerror(-r->error));
}

void control_hand_say_end(const struct report *r, struct control_said *ret)
{
    char ran[UNITS_SIZE], text[FOREIGN_SIZE];
    const char *word = outcome_name(r->outcome);
    bool good = r->outcome == OUTCOME_SUCCEEDED || r->outcome == OUTCOME_NOTHING;

    units_say_duration(r->ran_ms, ran, sizeof ran);
    escape(text, r->text);
    if (r->outcome == OUTCOME_UNSTARTED)
        refuse(ret, word, "%s", text);
    else if (r->outcome == OUTCOME_NOTHING)
        say(ret, word, "had nothing to do, in %s", ran);
    else
        say(ret, word, "%s %s %s%s%s", word, good ? "in" : "after", ran,
            good || !text[0] ? "" : ": ", good ? "" : text);
    ret->good = good;
}

/* Whose turn it is now. */
static const char *left_to(const struct job *job, enum outcome outcome)
{
    bool shared = job->spec->scope == SCOPE_FLEET && job->spec->lock == LOCK_STORE;

    if (job_is_by_hand(job))
        return "";
    if (!shared)
        return "; its turn is not run here again";
    if (outcome == OUTCOME_STOPPED)
        return "; its turn is closed, and no device runs it again";
    return job->spec->attempts == 1 ? "; no device runs its turn again, since attempts is 1"
                                    : "; another device may take its turn now";
}

void control_hand_say_stopped(const struct job *job, const struct report *r,
                              struct control_said *ret)
{
    char ran[UNITS_SIZE];

    if (r->outcome == OUTCOME_STOPPED || r->outcome == OUTCOME_DECLINED) {
        say(ret, outcome_name(r->outcome), "stopped after %s%s",
            units_say_duration(r->ran_ms, ran, sizeof ran), left_to(job, r->outcome));
        ret->good = true;
        return;
    }
    control_hand_say_end(r, ret);
}
