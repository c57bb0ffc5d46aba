/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_view.h"
#include "base/text.h"
#include "base/units.h"
#include "rotactl/when.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

static void escape(const char *text, char *buf)
{
    text_escape(buf, FLEET_CELL_SIZE, text, strlen(text));
}

static bool is(const char *a, const char *b)
{
    return text_equal(a, b);
}

void fleet_token_device(const char *token, char *buf, size_t size)
{
    const char *colon = strrchr(token, ':');

    text_escape(buf, size, token, colon ? (size_t)(colon - token) : strlen(token));
}

char *fleet_count(size_t number, char *buf)
{
    char digits[FLEET_COUNT_SIZE], *at = buf;
    int length = snprintf(digits, sizeof digits, "%zu", number);

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return buf;
}

/* --- how it is --- */

enum kind {
    KIND_UNKNOWN, /* Redis did not say */
    KIND_RETIRED,
    KIND_UNLOCKED, /* every device runs it, and tells nobody */
    KIND_NEW,      /* no turn was taken yet */
    KIND_EACH,     /* on each device */
    KIND_RUNNING,
    KIND_VANISHED, /* its device said nothing more, and its lock is gone */
    KIND_PAUSED,
    KIND_OK,
    KIND_GAVE_UP,
    KIND_FAILED, /* and the turn is tried again */
    KIND_OTHER   /* the state's own word says it */
};

bool fleet_runs(const struct fleet_job *job)
{
    return is(job->state, "running") && *job->token && is(job->holder, job->token);
}

bool fleet_gave_up(const struct fleet_job *job)
{
    /* An earlier attempt's success may have settled it. */
    return is(job->state, "gave_up") && job->turn > job->done && !job->retired;
}

/* By rota itself, for failures in a row. */
static bool was_stopped(const struct fleet_job *job)
{
    return strncmp(job->pause, "rota: ", strlen("rota: ")) == 0;
}

static enum kind kind_of_run(const struct fleet_job *job)
{
    static const char *const failures[] = { "failed", "refused", "crashed", "overrun", "lost" };

    if (job->turn == 0 || is(job->state, "assumed") || is(job->state, "blank"))
        return KIND_NEW;
    /* An earlier attempt's success may have settled it. */
    if (job->turn <= job->done || is(job->state, "succeeded") || is(job->state, "nothing"))
        return is(job->state, "stopped") ? KIND_OTHER : KIND_OK;
    if (fleet_gave_up(job))
        return KIND_GAVE_UP;
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        if (is(job->state, failures[i]))
            return KIND_FAILED;
    return KIND_OTHER;
}

static enum kind kind_of(const struct fleet_job *job)
{
    if (job->trouble)
        return KIND_UNKNOWN;
    if (!job->each && fleet_runs(job))
        return KIND_RUNNING;
    if (job->retired)
        return KIND_RETIRED;
    if (job->unlocked)
        return KIND_UNLOCKED;
    if (*job->pause)
        return KIND_PAUSED;
    if (job->each)
        return job->done > 0 ? KIND_EACH : KIND_NEW;
    if (is(job->state, "running") && job->turn > job->done)
        return KIND_VANISHED;
    return kind_of_run(job);
}

char fleet_mark(const struct fleet_job *job)
{
    enum kind kind = kind_of(job);

    if (kind == KIND_UNKNOWN || kind == KIND_GAVE_UP || kind == KIND_FAILED ||
        kind == KIND_VANISHED || (kind == KIND_PAUSED && was_stopped(job)))
        return '!';
    if (job->conf_count > 1 && kind != KIND_RETIRED)
        return '~';
    if (kind == KIND_RUNNING || (kind == KIND_EACH && job->running > 0))
        return '>';
    return kind == KIND_PAUSED ? 'p' : ' ';
}

bool fleet_needs_look(const struct fleet *f)
{
    for (size_t i = 0; i < f->job_count; i++)
        if (strchr("!~", fleet_mark(&f->jobs[i])))
            return true;
    return false;
}

/* --- cells --- */

void fleet_state(const struct fleet_job *job, char *buf)
{
    static const char *const words[] = {
        [KIND_UNKNOWN] = "unknown",   [KIND_RETIRED] = "retired", [KIND_UNLOCKED] = "no lock",
        [KIND_NEW] = "new",           [KIND_EACH] = NULL,         [KIND_RUNNING] = "running",
        [KIND_VANISHED] = "vanished", [KIND_PAUSED] = "paused",   [KIND_OK] = "ok",
        [KIND_GAVE_UP] = "given up",  [KIND_FAILED] = "retrying", [KIND_OTHER] = NULL,
    };
    enum kind kind = kind_of(job);

    if (words[kind])
        text_copy(buf, FLEET_CELL_SIZE, words[kind]);
    else if (kind == KIND_EACH)
        text_format(buf, FLEET_CELL_SIZE, "%zu/%zu", job->has_done, job->devices);
    else
        escape(*job->state ? job->state : "-", buf);
}

void fleet_due(const struct fleet *f, const struct fleet_job *job, bool local, char *buf)
{
    int64_t turn = job->each ? job->done : job->turn;

    if (turn <= 0 || job->retired || job->trouble)
        text_copy(buf, FLEET_CELL_SIZE, "-");
    else
        when_say_short(turn, f->now_ms, local, buf);
}

void fleet_device(const struct fleet_job *job, char *buf)
{
    enum kind kind = kind_of(job);

    if (kind == KIND_EACH && job->running > 0)
        text_format(buf, FLEET_CELL_SIZE, "%zu running", job->running);
    else if (kind == KIND_GAVE_UP && job->tried > 1)
        text_format(buf, FLEET_CELL_SIZE, "%zu devices", job->tried);
    else if (kind >= KIND_RUNNING && *job->token)
        fleet_token_device(job->token, buf, FLEET_CELL_SIZE);
    else
        text_copy(buf, FLEET_CELL_SIZE, "-");
}

static bool has_run(const struct fleet_job *job)
{
    return kind_of(job) >= KIND_RUNNING && !job->each && job->attempt > 0;
}

void fleet_try(const struct fleet_job *job, char *buf)
{
    if (!has_run(job))
        text_copy(buf, FLEET_CELL_SIZE, "-");
    else if (job->attempts == FACT_NONE)
        text_format(buf, FLEET_CELL_SIZE, "%" PRId64, job->attempt);
    else
        text_format(buf, FLEET_CELL_SIZE, "%" PRId64 "/%" PRId64, job->attempt, job->attempts);
}

void fleet_took(const struct fleet *f, const struct fleet_job *job, char *buf)
{
    int64_t took_ms = FACT_NONE;

    if (job->each)
        took_ms = job->took_ms;
    else if (kind_of(job) == KIND_RUNNING && job->started > 0)
        took_ms = f->now_ms - job->started;
    else if (has_run(job) && job->started > 0 && job->ended >= job->started)
        took_ms = job->ended - job->started;
    if (took_ms < 0)
        text_copy(buf, FLEET_CELL_SIZE, "-");
    else
        units_say_duration(took_ms, buf, FLEET_CELL_SIZE);
}

void fleet_lease(const struct fleet_job *job, char *buf)
{
    if (kind_of(job) == KIND_RUNNING && job->left_ms >= 0)
        when_say_span(job->left_ms, buf);
    else
        text_copy(buf, FLEET_CELL_SIZE, "-");
}

void fleet_conf(const struct fleet_job *job, char *buf)
{
    if (job->retired)
        buf[0] = '\0';
    else if (job->conf_count == 0)
        text_copy(buf, FLEET_CELL_SIZE, "-");
    else
        text_format(buf, FLEET_CELL_SIZE, job->conf_count > 1 ? "%zu !" : "%zu", job->conf_count);
}

/* --- sentences --- */

static void say_pause(const struct fleet_job *job, char *buf)
{
    const char *why = strstr(job->pause, ": ");
    char who[80], shown[FLEET_CELL_SIZE], left[UNITS_SIZE], until[UNITS_SIZE + 4] = "";

    text_escape(who, sizeof who, job->pause, why ? (size_t)(why - job->pause) : 0);
    why = why ? why + 2 : job->pause;
    if (job->pause_left_ms >= 0)
        text_format(until, sizeof until, ", %s",
                    units_say_duration(job->pause_left_ms, left, sizeof left));
    text_format(buf, FLEET_CELL_SIZE, "%s%s%s\"%s\"%s", *who ? "by " : "", who, *who ? ": " : "",
                text_escape(shown, sizeof shown, why, strlen(why)), until);
}

static void say_retired(const struct fleet_job *job, bool local, char *buf)
{
    int64_t last = job->ended > job->started ? job->ended : job->started;
    char day[WHEN_SIZE];

    if (last < job->done)
        last = job->done;
    if (last < job->settled)
        last = job->settled;
    if (last > 0)
        text_format(buf, FLEET_CELL_SIZE, "last seen %s; rotactl forget",
                    when_day(last, local, day));
    else
        text_copy(buf, FLEET_CELL_SIZE, "rotactl forget");
}

bool fleet_instead(const struct fleet_job *job, bool local, char *buf)
{
    enum kind kind = kind_of(job);

    if (kind == KIND_PAUSED)
        say_pause(job, buf);
    else if (kind == KIND_RETIRED)
        say_retired(job, local, buf);
    else
        return false;
    return true;
}

static void add(char *buf, const char *text)
{
    size_t used = strlen(buf);

    text_copy(buf + used, FLEET_REASON_SIZE - used, text);
}

/* Whether the schedules tell them apart: else it is another setting, and the fingerprints do. */
static bool differ_in_schedule(const struct fleet_job *job)
{
    for (size_t i = 0; i < job->conf_count; i++) {
        if (!job->confs[i].schedule)
            return false;
        for (size_t j = 0; j < i; j++)
            if (is(job->confs[i].schedule, job->confs[j].schedule))
                return false;
    }
    return true;
}

static bool differ_in_kind(const struct fleet_job *job)
{
    for (size_t i = 1; i < job->conf_count; i++)
        if (!is(job->confs[i].kind, job->confs[0].kind))
            return true;
    return false;
}

static void say_confs(const struct fleet_job *job, char *buf)
{
    bool schedule = differ_in_schedule(job);
    char part[FLEET_CELL_SIZE], devices[FLEET_COUNT_SIZE];

    text_format(part, sizeof part, "%zu configurations: ", job->conf_count);
    add(buf, part);
    for (size_t i = 0; i < job->conf_count && i < 8; i++) {
        const struct fleet_conf *c = &job->confs[i];

        text_format(part, sizeof part, "%s%s on %s%s", i ? ", " : "",
                    schedule ? c->schedule : c->fingerprint, fleet_count(c->devices, devices),
                    i == 0 && c->devices == 1 ? " device"
                    : i == 0                  ? " devices"
                                              : "");
        add(buf, part);
    }
    if (differ_in_kind(job))
        add(buf, "; they differ in scope or lock, so not all of these run it");
}

static const char *say_failure(const struct fleet_job *job)
{
    if (*job->detail)
        return job->detail;
    return is(job->state, "gave_up") ? "it did not succeed, and did not say why" : job->state;
}

bool fleet_reason(const struct fleet_job *job, char *buf)
{
    enum kind kind = kind_of(job);

    buf[0] = '\0';
    if (kind == KIND_UNKNOWN) {
        add(buf, job->trouble);
    } else if (kind == KIND_GAVE_UP || kind == KIND_FAILED) {
        add(buf, say_failure(job));
        add(buf, ". rotactl history ");
        add(buf, job->name);
    } else if (kind == KIND_VANISHED) {
        add(buf, "its device said nothing more, and its lock has ended; the next to ask takes it");
    } else if (kind == KIND_PAUSED && was_stopped(job)) {
        add(buf, job->pause + strlen("rota: "));
        add(buf, ". Mend that, then rotactl resume --fleet ");
        add(buf, job->name);
    } else if (kind == KIND_RUNNING && *job->pause) {
        add(buf, "paused from its next turn on, by ");
        add(buf, job->pause);
    }
    if (job->conf_count > 1 && kind != KIND_RETIRED) {
        if (*buf)
            add(buf, "; ");
        say_confs(job, buf);
    }
    return *buf;
}
