/* SPDX-License-Identifier: MIT */
#include "supervisor/words.h"
#include "base/text.h"
#include "base/units.h"
#include "supervisor/journal.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* Longest piece of foreign text in a sentence. */
#define WORDS_FOREIGN_SIZE 300

struct context {
    const struct job *job;
    const struct report *report;
    struct boot now;
    char text[WORDS_FOREIGN_SIZE];
    char device[DEVICE_NAME_MAX + 16];
    char turn[WORDS_INSTANT_SIZE];
    char ran[UNITS_SIZE];
    char meanwhile[64];
};

typedef void sentence(const struct context *c);

char *words_instant(struct wall at, struct wall now, char *buf, size_t size)
{
    time_t seconds = (time_t)(at.ms / 1000);
    int64_t days = at.ms / DAY_MS - now.ms / DAY_MS;
    char clock[16], day[16] = "";
    struct tm tm;

    gmtime_r(&seconds, &tm);
    if (at.ms % MINUTE_MS != 0)
        strftime(clock, sizeof clock, "%H:%M:%S UTC", &tm);
    else
        strftime(clock, sizeof clock, "%H:%M UTC", &tm);
    if (days > 6 || days < -6)
        strftime(day, sizeof day, "%F ", &tm);
    else if (days != 0)
        strftime(day, sizeof day, "%A ", &tm);
    text_format(buf, size, "%s%s", day, clock);
    return buf;
}

static struct wall wall_now(const struct context *c)
{
    return fleet_clock_at(&c->job->fleet->clock, c->now);
}

/* One entry with the job's fields. */
#define SAY(c, level, ...)                                                                         \
    do {                                                                                           \
        struct field_texts texts;                                                                  \
        journal_log(level, fields_of(c, &texts), __VA_ARGS__);                                     \
    } while (0)

struct field_texts {
    char turn[24], fence[24], attempt[12];
    struct journal_field fields[8];
};

static const struct journal_field *fields_of(const struct context *c, struct field_texts *t)
{
    bool ended = c->report->kind == REPORT_ENDED;

    text_format(t->turn, sizeof t->turn, "%" PRId64, c->job->turn.ms);
    text_format(t->fence, sizeof t->fence, "%" PRIu64, c->job->lease.fence);
    text_format(t->attempt, sizeof t->attempt, "%" PRIu32, c->job->lease.attempt);
    memcpy(t->fields,
           (struct journal_field[8]){
               { "ROTA_JOB", c->job->spec->name },
               { "ROTA_TURN", t->turn },
               { "ROTA_FENCE", c->job->lease.fence ? t->fence : NULL },
               { "ROTA_ATTEMPT", c->job->lease.attempt ? t->attempt : NULL },
               { "ROTA_OUTCOME", ended ? outcome_name(c->report->outcome) : NULL },
           },
           sizeof t->fields);
    return t->fields;
}

#define NAME(c) ((c)->job->spec->name)
#define ATTEMPT(c) (c)->job->lease.attempt, (c)->job->spec->attempts

static void say_state(const struct context *c)
{
    SAY(c, LOG_DEBUG, "%s: %s -> %s (%s)", NAME(c), job_state_name(c->report->from),
        job_state_name(c->report->to), job_event_name(c->report->event));
}

static void say_started(const struct context *c)
{
    SAY(c, LOG_DEBUG, "%s: started, turn of %s, attempt %" PRIu32 " of %" PRIu32, NAME(c), c->turn,
        ATTEMPT(c));
}

static void say_takeover(const struct context *c)
{
    char silent[UNITS_SIZE];

    if (c->job->spec->timing.renew_ms <= 0) {
        SAY(c, LOG_NOTICE,
            "%s: taken over from %s, whose lease has run out; attempt %" PRIu32 " of %" PRIu32,
            NAME(c), c->device, ATTEMPT(c));
        return;
    }
    SAY(c, LOG_NOTICE,
        "%s: taken over from %s, which stopped renewing %s ago; attempt %" PRIu32 " of %" PRIu32,
        NAME(c), c->device, units_say_duration(c->report->silent_ms, silent, sizeof silent),
        ATTEMPT(c));
}

static void say_lost(const struct context *c)
{
    const struct lease *l = &c->job->lease;
    char silent[UNITS_SIZE], free_at[WORDS_INSTANT_SIZE], then[96] = "it was the last attempt";
    int64_t since = boot_between(l->confirmed, c->now);
    struct wall expiry = wall_add(wall_now(c), boot_between(c->now, l->expires));

    if (l->attempt < c->job->spec->attempts)
        text_format(then, sizeof then, "another device may run it from %s on",
                    words_instant(expiry, wall_now(c), free_at, sizeof free_at));
    SAY(c, LOG_ERR, "%s: stopped after %s, because the lock could not be renewed for %s; %s",
        NAME(c), c->ran, units_say_duration(since, silent, sizeof silent), then);
}

static void say_overrun(const struct context *c)
{
    char worst[UNITS_SIZE];

    units_say_duration(c->job->spec->timing.worst_case_ms, worst, sizeof worst);
    SAY(c, LOG_ERR,
        "%s: overrun: stopped after %s, since its worst_case is %s; turn of %s, attempt %" PRIu32
        " of %" PRIu32 "%s",
        NAME(c), c->ran, worst, c->turn, ATTEMPT(c), c->meanwhile);
}

static int ended_level(enum outcome o)
{
    switch (o) {
    case OUTCOME_SUCCEEDED:
    case OUTCOME_NOTHING:
    case OUTCOME_STOPPED:
        return LOG_INFO;
    case OUTCOME_DECLINED:
        return LOG_NOTICE;
    default:
        return LOG_WARNING;
    }
}

/* "nothing" is the plugin's word for the log's "had nothing to do". */
static const char *ended_words(enum outcome o)
{
    return o == OUTCOME_NOTHING ? "had nothing to do" : outcome_name(o);
}

static void say_ended(const struct context *c)
{
    enum outcome o = c->report->outcome;

    /* A lease that the store calls another's was told already, with the holder; this one ran out of
     * time. */
    if (o == OUTCOME_LOST && c->job->lease.state != LEASE_GONE)
        say_lost(c);
    else if (o == OUTCOME_OVERRUN)
        say_overrun(c);
    else
        SAY(c, ended_level(o), "%s: %s %s %s%s%s, turn of %s, attempt %" PRIu32 " of %" PRIu32 "%s",
            NAME(c), ended_words(o), outcome_settles(o) ? "in" : "after", c->ran,
            c->text[0] && !outcome_settles(o) ? ": " : "", outcome_settles(o) ? "" : c->text,
            c->turn, ATTEMPT(c), c->meanwhile);
}

static void say_given_up(const struct context *c)
{
    char until[WORDS_INSTANT_SIZE];
    struct wall next = schedule_next(&c->job->spec->schedule, c->job->turn);
    bool mine = c->report->text != NULL;
    char last[WORDS_FOREIGN_SIZE + 8] = "";
    bool refused = mine && c->report->outcome == OUTCOME_REFUSED;

    if (c->text[0])
        text_format(last, sizeof last, "%s \"%s\"", refused ? ":" : ",", c->text);
    words_instant(next, wall_now(c), until, sizeof until);
    if (refused)
        SAY(c, LOG_ERR, "%s: given up until %s, since trying again cannot help%s", NAME(c), until,
            last);
    else if (mine)
        SAY(c, LOG_ERR,
            "%s: given up until %s after attempt %" PRIu32 " of %" PRIu32 "; last: %s%s", NAME(c),
            until, ATTEMPT(c), outcome_name(c->report->outcome), last);
    else
        SAY(c, LOG_ERR, "%s: given up until %s, since its attempts are used up", NAME(c), until);
}

static void say_passed(const struct context *c)
{
    if (c->report->held)
        SAY(c, LOG_DEBUG, "%s: turn of %s is held by %s", NAME(c), c->turn,
            c->device[0] ? c->device : "another holder");
    else
        SAY(c, LOG_DEBUG, "%s: turn of %s is settled%s%s", NAME(c), c->turn, c->text[0] ? ": " : "",
            c->text);
}

static void say_first_sight(const struct context *c)
{
    char wait[UNITS_SIZE];

    if (c->report->silent_ms > 0)
        SAY(c, LOG_INFO,
            "%s: there is no record of it; its turn of %s waits %s for a holder that may still "
            "run",
            NAME(c), c->turn, units_say_duration(c->report->silent_ms, wait, sizeof wait));
    else
        SAY(c, LOG_INFO,
            "%s: there is no record of it, so its past turn of %s is not run; it waits for its "
            "next one",
            NAME(c), c->turn);
}

static void say_void(const struct context *c)
{
    SAY(c, LOG_WARNING,
        "%s: its record lay in the future (a clock was ahead for a while) and is void; it waits "
        "for "
        "its next turn",
        NAME(c));
}

static void say_too_late(const struct context *c)
{
    char allowed[UNITS_SIZE];

    /* A turn that was never asked for here may well be done: no news at each start. */
    SAY(c, c->report->asked ? LOG_WARNING : LOG_DEBUG,
        "%s: the turn of %s is more than catch_up (%s) late and is left out%s", NAME(c), c->turn,
        units_write_duration(c->job->spec->catch_up_ms, allowed, sizeof allowed),
        c->report->waited ? ": no slot was free (max_running)" : "");
}

static void say_spare(const struct context *c)
{
    SAY(c, LOG_NOTICE, "%s: the turn of %s came too late to be wanted; given back", NAME(c),
        c->turn);
}

static void say_taken(const struct context *c)
{
    SAY(c, LOG_ERR, "%s: the lock is no longer this device's (now: %s); the run is stopped",
        NAME(c), c->text[0] ? c->text : "nobody's");
}

static void say_renewed(const struct context *c)
{
    char left[UNITS_SIZE];

    SAY(c, LOG_DEBUG, "%s: lease renewed, %s left", NAME(c),
        units_say_duration(boot_between(c->now, c->job->lease.deadline), left, sizeof left));
}

static void say_regained(const struct context *c)
{
    SAY(c, LOG_WARNING,
        "%s: its lock was gone from Redis, nobody had taken it, and it is taken back", NAME(c));
}

static void say_stuck(const struct context *c)
{
    SAY(c, LOG_ERR,
        "%s: something that it started cannot be killed; its lock is left to expire, and it is not "
        "started here until that is gone",
        NAME(c));
}

static void say_unstuck(const struct context *c)
{
    SAY(c, LOG_NOTICE, "%s: the last process of its stuck run is gone", NAME(c));
}

static void say_stillborn(const struct context *c)
{
    SAY(c, LOG_ERR,
        "%s: rota-guard could not be started: %s; the turn of %s is left to other devices", NAME(c),
        strerror(-c->report->error), c->turn);
}

static void say_illegal(const struct context *c)
{
    SAY(c, LOG_ERR, "%s: a bug in rotad: event %s in state %s; nothing was changed", NAME(c),
        c->report->text ? c->report->text : "?", job_state_name(c->report->from));
}

static sentence *const sentences[] = {
    [REPORT_STATE] = say_state,
    [REPORT_STARTED] = say_started,
    [REPORT_TAKEOVER] = say_takeover,
    [REPORT_ENDED] = say_ended,
    [REPORT_GIVEN_UP] = say_given_up,
    [REPORT_PASSED] = say_passed,
    [REPORT_FIRST_SIGHT] = say_first_sight,
    [REPORT_VOID] = say_void,
    [REPORT_TOO_LATE] = say_too_late,
    [REPORT_SPARE] = say_spare,
    [REPORT_TAKEN] = say_taken,
    [REPORT_RENEWED] = say_renewed,
    [REPORT_REGAINED] = say_regained,
    [REPORT_STUCK] = say_stuck,
    [REPORT_UNSTUCK] = say_unstuck,
    [REPORT_STILLBORN] = say_stillborn,
    [REPORT_ILLEGAL] = say_illegal,
};

void words_report(const struct job *job, const struct report *r, struct boot now)
{
    struct context c = { .job = job, .report = r, .now = now };

    if (r->text)
        text_escape(c.text, sizeof c.text, r->text, strlen(r->text));
    if (r->device)
        text_escape(c.device, sizeof c.device, r->device, strlen(r->device));
    units_say_duration(r->ran_ms, c.ran, sizeof c.ran);
    if (r->meanwhile > 0)
        text_format(c.meanwhile, sizeof c.meanwhile, "; %" PRId64 " turn%s fell due meanwhile",
                    r->meanwhile, r->meanwhile == 1 ? "" : "s");
    if (job->fleet->clock.known)
        words_instant(job->turn, wall_now(&c), c.turn, sizeof c.turn);
    sentences[r->kind](&c);
}

const char *words_end_detail(const struct run_end *end)
{
    if (job_outcome(end) == OUTCOME_DECLINED && end->stop == RUN_STOPPED_ORDERED)
        return "rotad stops, or the job was removed";
    return end->detail;
}

void words_output(const struct job *job, int level, const char *text, uint32_t dropped)
{
    struct journal_field fields[] = { { "ROTA_JOB", job->spec->name }, { NULL, NULL } };
    char line[4 * 1024];

    if (dropped > 0)
        journal_log(LOG_WARNING, fields, "%s| %" PRIu32 " lines left out", job->spec->name,
                    dropped);
    if (text[0] != '\0')
        journal_log(level, fields, "%s| %s", job->spec->name,
                    text_escape(line, sizeof line, text, strlen(text)));
}
