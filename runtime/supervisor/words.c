/* SPDX-License-Identifier: MIT
 *
 * How runs go; how they end is in words_end.c, what the fleet means for a job in words_fleet.c. */
#include "supervisor/words.h"
#include "base/text.h"
#include "base/units.h"
#include "supervisor/journal.h"
#include "supervisor/words_internal.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

struct wall words_now(const struct words_context *c)
{
    return fleet_clock_at(job_time(c->job), c->now);
}

struct field_texts {
    char turn[24], fence[24], attempt[12];
    struct journal_field fields[8];
};

/* outcome: NULL where it is not known yet. */
static const struct journal_field *fields_of(const struct job *job, const char *outcome,
                                             struct field_texts *t)
{
    text_format(t->turn, sizeof t->turn, "%" PRId64, job->turn.ms);
    text_format(t->fence, sizeof t->fence, "%" PRIu64, job->lease.fence);
    text_format(t->attempt, sizeof t->attempt, "%" PRIu32, job->lease.attempt);
    memcpy(t->fields,
           (struct journal_field[8]){
               { "ROTA_JOB", job->spec->name },
               { "ROTA_TURN", job->turn.ms > 0 ? t->turn : NULL },
               { "ROTA_FENCE", job->lease.fence ? t->fence : NULL },
               { "ROTA_ATTEMPT", job->lease.attempt ? t->attempt : NULL },
               { "ROTA_OUTCOME", outcome },
           },
           sizeof t->fields);
    return t->fields;
}

__attribute__((format(printf, 4, 0))) static void say_with_fields(const struct job *job, int what,
                                                                  const char *outcome,
                                                                  const char *format, va_list args)
{
    char text[JOURNAL_TEXT_SIZE];
    struct field_texts texts;

    if (!journal_wants(what))
        return;
    vsnprintf(text, sizeof text, format, args);
    journal_log(what, job ? fields_of(job, outcome, &texts) : NULL, "%s: %s",
                job ? job->spec->name : "the fleet", text);
}

void words_about(const struct job *job, int what, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_with_fields(job, what, NULL, format, args);
    va_end(args);
}

void words_say(const struct words_context *c, int what, const char *format, ...)
{
    bool ended = c->report->kind == REPORT_ENDED;
    va_list args;

    va_start(args, format);
    say_with_fields(c->job, what, ended ? outcome_name(c->report->outcome) : NULL, format, args);
    va_end(args);
}

static void say_state(const struct words_context *c)
{
    words_say(c, LOG_DEBUG, "%s -> %s (%s)", job_state_name(c->report->from),
              job_state_name(c->report->to), job_event_name(c->report->event));
}

static void say_started(const struct words_context *c)
{
    words_say(c, LOG_DEBUG, "started, %s", c->which);
}

static void say_takeover(const struct words_context *c)
{
    char silent[UNITS_SIZE];

    if (c->job->spec->timing.renew_ms <= 0) {
        words_say(c, LOG_NOTICE | MESSAGE_TAKEN_OVER,
                  "taken over from %s, whose lease has run out; attempt %" PRIu32 " of %" PRIu32,
                  c->device, WORDS_ATTEMPT(c));
        return;
    }
    words_say(c, LOG_NOTICE | MESSAGE_TAKEN_OVER,
              "taken over from %s, which stopped renewing %s ago; attempt %" PRIu32 " of %" PRIu32,
              c->device, units_say_duration(c->report->silent_ms, silent, sizeof silent),
              WORDS_ATTEMPT(c));
}

static void say_alone(const struct words_context *c)
{
    words_say(c, LOG_NOTICE | MESSAGE_ALONE,
              "Redis cannot be reached, and the turn of %s is run all the same (if_unreachable)",
              c->turn);
}

bool words_is_shared_out(const struct words_context *c)
{
    return !job_is_by_hand(c->job) && c->job->spec->scope == SCOPE_FLEET &&
           c->job->spec->lock == LOCK_STORE;
}

const char *words_lock(const struct words_context *c)
{
    return c->job->spec->scope == SCOPE_DEVICE ? "seat" : "lock";
}

static void say_passed(const struct words_context *c)
{
    if (c->report->held)
        words_say(c, LOG_DEBUG, "turn of %s is held by %s", c->turn,
                  c->device[0] ? c->device : "another holder");
    else
        words_say(c, LOG_DEBUG, "turn of %s is settled%s%s", c->turn, c->text[0] ? ": " : "",
                  c->text);
}

static void say_queued(const struct words_context *c)
{
    words_say(c, LOG_DEBUG, "turn of %s: no seat is free; place %" PRIu32 " in the queue", c->turn,
              c->report->place);
}

static void say_too_late(const struct words_context *c)
{
    char allowed[UNITS_SIZE];

    /* A turn that was never asked for here may well be done: no news at each start. */
    words_say(c, c->report->asked ? LOG_WARNING | MESSAGE_TOO_LATE : LOG_DEBUG,
              "the turn of %s is more than catch_up (%s) late and is left out%s", c->turn,
              units_write_duration(c->job->spec->catch_up_ms, allowed, sizeof allowed),
              c->report->waited ? ": no slot was free (max_running)" : "");
}

static void say_spare(const struct words_context *c)
{
    words_say(c, LOG_NOTICE | MESSAGE_TOO_LATE,
              "the turn of %s came too late to be wanted; given back", c->turn);
}

static void say_taken(const struct words_context *c)
{
    words_say(c, LOG_ERR | MESSAGE_LOCK_TAKEN,
              "the %s is no longer this device's (now: %s); the run is stopped", words_lock(c),
              c->device[0] ? c->device
              : c->text[0] ? c->text
                           : "nobody's");
}

static void say_renewed(const struct words_context *c)
{
    char left[UNITS_SIZE];

    words_say(c, LOG_DEBUG, "lease renewed, %s left",
              units_say_duration(boot_between(c->now, c->job->lease.deadline), left, sizeof left));
}

static void say_regained(const struct words_context *c)
{
    words_say(c, LOG_WARNING | MESSAGE_LOCK_REGAINED,
              "its %s was gone from Redis, nobody had taken it, and it is taken back",
              words_lock(c));
}

static void say_stuck(const struct words_context *c)
{
    words_say(c, LOG_ERR | MESSAGE_STUCK,
              "something that it started cannot be killed; its %s is left to expire, and it is not "
              "started here until that is gone",
              words_lock(c));
}

static void say_unstuck(const struct words_context *c)
{
    words_say(c, LOG_NOTICE | MESSAGE_UNSTUCK, "the last process of its stuck run is gone");
}

static void say_stillborn(const struct words_context *c)
{
    words_say(c, LOG_ERR | MESSAGE_RUN_UNSTARTED,
              "rota-guard could not be started: %s; the turn of %s is %s",
              strerror(-c->report->error), c->turn,
              words_is_shared_out(c) ? "left to other devices" : "not run here");
}

static void say_illegal(const struct words_context *c)
{
    words_say(c, LOG_ERR | MESSAGE_BUG, "a bug in rotad: event %s in state %s; nothing was changed",
              c->report->text ? c->report->text : "?", job_state_name(c->report->from));
}

static words_sentence *const sentences[] = {
    [REPORT_STATE] = say_state,
    [REPORT_STARTED] = say_started,
    [REPORT_TAKEOVER] = say_takeover,
    [REPORT_ALONE] = say_alone,
    [REPORT_ENDED] = words_end_ended,
    [REPORT_GIVEN_UP] = words_end_given_up,
    [REPORT_PASSED] = say_passed,
    [REPORT_QUEUED] = say_queued,
    [REPORT_FIRST_SIGHT] = words_fleet_first_sight,
    [REPORT_VOID] = words_fleet_void,
    [REPORT_TOO_LATE] = say_too_late,
    [REPORT_SPARE] = say_spare,
    [REPORT_TAKEN] = say_taken,
    [REPORT_RENEWED] = say_renewed,
    [REPORT_REGAINED] = say_regained,
    [REPORT_BRAKE] = words_fleet_brake,
    [REPORT_PAUSED] = words_fleet_paused,
    [REPORT_RESUMED] = words_fleet_resumed,
    [REPORT_BLOCKED] = words_fleet_blocked,
    [REPORT_MIXED] = words_fleet_mixed,
    [REPORT_MISMATCH] = words_fleet_mismatch,
    [REPORT_APART] = words_fleet_apart,
    [REPORT_AHEAD] = words_fleet_apart,
    [REPORT_OUTDATED] = words_fleet_outdated,
    [REPORT_NEWER] = words_fleet_newer,
    [REPORT_STUCK] = say_stuck,
    [REPORT_UNSTUCK] = say_unstuck,
    [REPORT_STILLBORN] = say_stillborn,
    [REPORT_ILLEGAL] = say_illegal,
};

static void say_which(struct words_context *c)
{
    if (job_is_by_hand(c->job))
        text_format(c->which, sizeof c->which, "by hand at %s", c->turn);
    else
        text_format(c->which, sizeof c->which, "turn of %s, attempt %" PRIu32 " of %" PRIu32,
                    c->turn, WORDS_ATTEMPT(c));
}

void words_report(const struct job *job, const struct report *r, struct boot now)
{
    struct words_context c = { .job = job, .report = r, .now = now };

    if (r->text)
        text_escape(c.text, sizeof c.text, r->text, strlen(r->text));
    if (r->device)
        text_escape(c.device, sizeof c.device, r->device, strlen(r->device));
    units_say_duration(r->ran_ms, c.ran, sizeof c.ran);
    if (r->meanwhile > 0)
        text_format(c.meanwhile, sizeof c.meanwhile, "; %" PRId64 " turn%s fell due meanwhile",
                    r->meanwhile, r->meanwhile == 1 ? "" : "s");
    if (job_time(job)->known)
        words_instant(job->turn, words_now(&c), c.turn, sizeof c.turn);
    say_which(&c);
    sentences[r->kind](&c);
}

void words_unapplied(const struct job *job, const char *sentence)
{
    words_about(job, LOG_WARNING | MESSAGE_UNAPPLIED, "%s", sentence);
}

void words_outlived(const struct job *job, uint32_t processes)
{
    words_about(job, LOG_WARNING | MESSAGE_OUTLIVED,
                "processes that outlived its run and were killed: %" PRIu32, processes);
}

void words_output(const struct job *job, int level, const char *text)
{
    struct field_texts texts;

    if (journal_wants(level))
        journal_pass_on(level, job->spec->name, fields_of(job, NULL, &texts), text);
}

void words_left_out(const struct job *job, uint32_t lines)
{
    char text[64];

    text_format(text, sizeof text, "(%" PRIu32 " line%s left out)", lines,
                lines == 1 ? " was" : "s were");
    words_output(job, LOG_WARNING, text);
}
