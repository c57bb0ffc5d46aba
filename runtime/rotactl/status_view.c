/* SPDX-License-Identifier: MIT */
#include "rotactl/status_view.h"
#include "base/text.h"
#include "base/units.h"
#include "rotactl/when.h"
#include <inttypes.h>
#include <string.h>

#define ROTAD(name, kind)                                                                          \
    {                                                                                              \
#name, kind, offsetof(struct status_facts, name)                                           \
    }
#define JOB(name, kind)                                                                            \
    {                                                                                              \
#name, kind, offsetof(struct status_job, name)                                             \
    }

const struct fact status_facts[] = {
    ROTAD(version, FACT_TEXT),
    ROTAD(uptime_ms, FACT_NUMBER),
    ROTAD(fleet, FACT_TEXT),
    ROTAD(store, FACT_TEXT),
    ROTAD(redis, FACT_TEXT),
    ROTAD(redis_why, FACT_TEXT),
    ROTAD(redis_down_ms, FACT_NUMBER),
    ROTAD(trip_ms, FACT_NUMBER),
    ROTAD(tls, FACT_FLAG),
    ROTAD(now, FACT_NUMBER),
    ROTAD(ours_ms, FACT_NUMBER),
    ROTAD(missed, FACT_NUMBER),
    ROTAD(draining, FACT_FLAG),
    ROTAD(busy, FACT_FLAG),
    ROTAD(unread, FACT_TEXT),
    ROTAD(master, FACT_TEXT),
    ROTAD(servers, FACT_NUMBER),
    ROTAD(servers_ok, FACT_NUMBER),
};
const size_t status_facts_count = sizeof status_facts / sizeof status_facts[0];

/* The last one, the state, is not for JSON, which has people's word for it. */
const struct fact status_job_facts[] = {
    JOB(why, FACT_TEXT),
    JOB(bar, FACT_TEXT),
    JOB(paused_here, FACT_TEXT),
    JOB(turn, FACT_NUMBER),
    JOB(turn_went, FACT_TEXT),
    JOB(turn_by, FACT_TEXT),
    JOB(next, FACT_NUMBER),
    JOB(again, FACT_NUMBER),
    JOB(ran_ms, FACT_NUMBER),
    JOB(limit_ms, FACT_NUMBER),
    JOB(attempt, FACT_NUMBER),
    JOB(attempts, FACT_NUMBER),
    JOB(holder, FACT_TEXT),
    JOB(outcome, FACT_TEXT),
    JOB(outcome_why, FACT_TEXT),
    JOB(outcome_turn, FACT_NUMBER),
    JOB(outcome_attempt, FACT_NUMBER),
    JOB(outcome_ms, FACT_NUMBER),
    JOB(fault, FACT_TEXT),
    JOB(mixed, FACT_FLAG),
    JOB(stuck, FACT_FLAG),
    JOB(slow, FACT_FLAG),
    JOB(state, FACT_TEXT),
};
const size_t status_job_facts_count = sizeof status_job_facts / sizeof status_job_facts[0];

/* --- a job --- */

static bool is(const char *a, const char *b)
{
    return text_equal(a, b);
}

bool status_runs(const struct status_job *job)
{
    return is(job->state, "STARTING") || is(job->state, "RUNNING") || is(job->state, "STOPPING");
}

/* The newest turn was run here, as `outcome` says. */
static bool has_run(const struct status_job *job)
{
    return job->outcome && job->turn != FACT_NONE && job->outcome_turn == job->turn;
}

static bool went_well(const char *outcome)
{
    return is(outcome, "succeeded") || is(outcome, "nothing");
}

/* What was declined, or stopped because this device stops, is nobody's fault; and where another
 * device has done the turn since, all is well. */
static bool has_failed(const struct status_job *job)
{
    return has_run(job) && !went_well(job->outcome) && !is(job->outcome, "declined") &&
           !is(job->outcome, "stopped") && !is(job->turn_went, "done");
}

const char *status_state(const struct status_job *job)
{
    static const struct {
        const char *state, *word;
    } words[] = {
        { "INVALID", "invalid" },   { "DISABLED", "disabled" }, { "ELSEWHERE", "elsewhere" },
        { "OFF", "off" },           { "NO_CLOCK", "no clock" }, { "WAITING", "ready" },
        { "NO_SLOT", "due" },       { "ASKING", "asking" },     { "WATCHING", "watching" },
        { "STARTING", "starting" }, { "RUNNING", "running" },   { "STOPPING", "stopping" },
        { "CLOSING", "ending" },    { "STUCK", "stuck" },
    };

    if (is(job->state, "WATCHING") && has_failed(job))
        return "retrying";
    if (job->paused_here && (is(job->state, "WAITING") || is(job->state, "WATCHING")))
        return "paused";
    if (job->bar && (is(job->state, "WAITING") || is(job->state, "WATCHING")))
        return job->bar;
    if (is(job->state, "WAITING") && is(job->turn_went, "given up"))
        return job->turn_went;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is(words[i].state, job->state))
            return words[i].word;
    return job->state ? job->state : "-"; /* a newer rotad's */
}

char status_mark(const struct status_job *job)
{
    bool paused = job->paused_here || is(job->bar, "paused");

    if (is(job->state, "INVALID"))
        return 'x';
    if (job->stuck || job->fault || job->slow || (job->bar && !is(job->bar, "paused")))
        return '!';
    if (status_runs(job))
        return '>';
    if (has_failed(job) || is(job->turn_went, "given up"))
        return '!';
    return job->mixed ? '~' : paused ? 'p' : ' ';
}

/* Then its hour says enough. */
static bool is_soon(const struct status *s, int64_t next)
{
    return next != FACT_NONE && next - s->now_ms < HOUR_MS;
}

void status_last(const struct status *s, const struct status_job *job, bool local, char *buf)
{
    if (job->turn == FACT_NONE)
        text_copy(buf, STATUS_CELL_SIZE, "-");
    else if (is_soon(s, job->next))
        when_say_short(job->turn, s->now_ms, local, buf);
    else
        when_say_last(job->turn, s->now_ms, local, buf);
}

static void say_running(const struct status_job *job, char *buf)
{
    char ran[UNITS_SIZE], limit[UNITS_SIZE];

    if (job->ran_ms != FACT_NONE)
        text_format(buf, STATUS_CELL_SIZE, "%s of %s",
                    units_say_duration(job->ran_ms, ran, sizeof ran),
                    units_say_duration(job->limit_ms, limit, sizeof limit));
    else
        text_format(buf, STATUS_CELL_SIZE, "attempt %" PRId64 " of %" PRId64, job->attempt,
                    job->attempts);
}

static void say_outcome(const struct status_job *job, char *buf)
{
    char took[UNITS_SIZE], outcome[32];

    if (is(job->outcome, "succeeded"))
        text_format(buf, STATUS_CELL_SIZE, "done here, %s",
                    units_say_duration(job->outcome_ms, took, sizeof took));
    else if (is(job->outcome, "nothing"))
        text_copy(buf, STATUS_CELL_SIZE, "nothing to do here");
    else
        text_format(buf, STATUS_CELL_SIZE, "%s here, %" PRId64 " of %" PRId64,
                    text_escape(outcome, sizeof outcome, job->outcome, strlen(job->outcome)),
                    job->outcome_attempt, job->attempts);
}

/* "held by NAME". */
static void say_by(const char *how, const char *device, char *buf)
{
    char shown[128];

    text_format(buf, STATUS_CELL_SIZE, "%s by %s", how,
                text_escape(shown, sizeof shown, device, strlen(device)));
}

static void say_done(const struct status *s, const struct status_job *job, char *buf)
{
    if (!job->turn_by || is(job->turn_by, s->device)) /* before rotad was started */
        text_copy(buf, STATUS_CELL_SIZE, "done here");
    else
        say_by(job->turn_went, job->turn_by, buf);
}

void status_result(const struct status *s, const struct status_job *job, char *buf)
{
    if (status_runs(job))
        say_running(job, buf);
    else if (has_run(job) && !is(job->turn_went, "done"))
        say_outcome(job, buf);
    else if (is(job->turn_went, "done") || is(job->turn_went, "taken"))
        say_done(s, job, buf);
    else if (job->holder)
        say_by("held", job->holder, buf);
    else
        text_copy(buf, STATUS_CELL_SIZE, job->turn == FACT_NONE ? "-" : "not run here");
}

static void say_in(int64_t ms, char *buf, size_t size)
{
    char in[WHEN_SIZE];

    text_format(buf, size, "in %s", when_say_span(ms, in));
}

void status_next(const struct status *s, const struct status_job *job, bool local, char *buf)
{
    char at[WHEN_SIZE], in[WHEN_SIZE + 4];
    const char *clock;

    if (job->again != FACT_NONE) {
        say_in(job->again - s->now_ms, buf, STATUS_CELL_SIZE);
        return;
    }
    if (job->next == FACT_NONE) {
        text_copy(buf, STATUS_CELL_SIZE, "-");
        return;
    }
    when_say(job->next, s->now_ms, local, at);
    if (!is_soon(s, job->next)) {
        text_copy(buf, STATUS_CELL_SIZE, at);
        return;
    }
    clock = strchr(at, ' ');
    say_in(job->next - s->now_ms, in, sizeof in);
    text_format(buf, STATUS_CELL_SIZE, "%s, %s", clock ? clock + 1 : at, in);
}

static const char *bar_reason(const char *bar)
{
    static const struct {
        const char *bar, *reason;
    } reasons[] = {
        { "mismatch", "not run here, since other devices have another scope or lock for it" },
        { "paused", "paused in the whole fleet; rotactl fleet says by whom" },
        { "blocked", "not run here, since its lock in Redis has no end, and is no device's" },
        { "outdated", "not run here, since a higher version of it has succeeded" },
        { "newer", "not run here, since devices with a newer rota run it" },
    };

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (is(reasons[i].bar, bar))
            return reasons[i].reason;
    return bar; /* a newer rotad's */
}

const char *status_reason(const struct status_job *job)
{
    if (is(job->state, "INVALID"))
        return job->why ? job->why : "its configuration has a mistake; rotad --check says which";
    if (job->stuck)
        return "something of its run cannot be killed; nothing is started until it is gone";
    if (job->fault)
        return job->fault;
    if (job->paused_here)
        return job->paused_here;
    if (job->bar)
        return bar_reason(job->bar);
    if (has_failed(job) && !status_runs(job))
        return job->outcome_why ? job->outcome_why : job->outcome;
    if (is(job->turn_went, "given up"))
        return "given up by the whole fleet until its next turn; rotactl history says why";
    if (job->slow)
        return "its runs come close to worst_case; rotactl show has the value to write";
    return job->mixed ? "other devices run it by another configuration too" : NULL;
}

const char *status_reason_begin(const struct status_job *job)
{
    const char *reason = status_reason(job);

    /* Who it was, and why. */
    return reason && reason == job->paused_here ? "paused on this device by " : "";
}

bool status_lacks_servers(const struct status_facts *f)
{
    return is(f->redis, "ok") && f->servers_ok >= 0 && f->servers_ok < f->servers;
}

bool status_redis_needs_look(const struct status_facts *f)
{
    return is(f->redis, "unreachable") || is(f->redis, "refuses") || status_lacks_servers(f);
}

bool status_needs_look(const struct status *s)
{
    if (status_redis_needs_look(&s->rotad) || s->rotad.unread)
        return true;
    for (size_t i = 0; i < s->job_count; i++)
        if (strchr("!x~", status_mark(&s->jobs[i])))
            return true;
    return false;
}
