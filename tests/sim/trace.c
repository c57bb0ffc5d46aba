/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "sim.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void stamp(const struct sim *s, const struct device *d)
{
    int64_t ms = s->now_ms - SIM_BEGIN_MS;

    printf("%2lld:%02lld:%02lld.%03lld  %-9s ", (long long)(ms / HOUR_MS),
           (long long)(ms / MINUTE_MS % 60), (long long)(ms / SECOND_MS % 60),
           (long long)(ms % SECOND_MS), d ? d->name : "-");
    if (d)
        printf("#%-5u ", d->number);
}

void trace_say(const struct sim *s, const struct device *d, const char *format, ...)
{
    va_list arguments;

    if (!s->trace)
        return;
    stamp(s, d);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static const char *verb_name(enum store_verb verb)
{
    static const char *const names[STORE_VERB_COUNT] = {
        [STORE_CLOCK] = "clock",           [STORE_ACQUIRE] = "acquire",
        [STORE_RENEW] = "renew",           [STORE_FINISH] = "finish",
        [STORE_HELLO] = "hello",           [STORE_INDEX] = "index",
        [STORE_CONFIG_GET] = "config get", [STORE_CONFIG_PUT] = "config put",
    };

    return names[verb] ? names[verb] : "?";
}

/* Of a token: the device's name says nothing where names are the same. */
static const char *random_part(const char *token)
{
    const char *colon = strrchr(token, ':');

    return colon ? colon + 1 : token;
}

void trace_request(const struct sim *s, const struct flight *f)
{
    const struct store_request *q = &f->request;
    char what[] = "Redis 0 gets";

    if (!s->trace)
        return;
    what[sizeof "Redis " - 1] = (char)('0' + f->server);
    if (!q->job || q->verb == STORE_INDEX)
        trace_say(s, f->device, "%s %s", what, verb_name(q->verb));
    else if (q->verb == STORE_FINISH)
        trace_say(s, f->device, "%s finish %s, turn %lld, attempt %u, %s, token %.8s", what,
                  q->job->name, (long long)q->turn.ms, q->attempt, outcome_name(q->outcome),
                  random_part(q->token));
    else
        trace_say(s, f->device, "%s %s %s, turn %lld for %lld ms, token %.8s", what,
                  verb_name(q->verb), q->job->name, (long long)q->turn.ms, (long long)q->ttl_ms,
                  random_part(q->token));
}

static const char *answer_name(enum acquire_answer answer)
{
    static const char *const names[] = {
        [ACQUIRE_GRANTED] = "granted",   [ACQUIRE_SPARE] = "spare",
        [ACQUIRE_HELD] = "held",         [ACQUIRE_FULL] = "full",
        [ACQUIRE_DONE] = "done",         [ACQUIRE_PASSED] = "passed",
        [ACQUIRE_WAIT] = "wait",         [ACQUIRE_EXHAUSTED] = "exhausted",
        [ACQUIRE_PAUSED] = "paused",     [ACQUIRE_EARLY] = "early",
        [ACQUIRE_OVER] = "over",         [ACQUIRE_MISMATCH] = "mismatch",
        [ACQUIRE_OUTDATED] = "outdated", [ACQUIRE_NEWER] = "newer",
        [ACQUIRE_SPLIT] = "split",
    };

    return names[answer];
}

static void say_acquired(const struct device *d, const struct store_request *q,
                         const struct store_reply *r)
{
    trace_say(d->sim, d,
              "  %s is answered %s (turn %lld, attempt %u, fence %llu, left %lld ms, watch %u) %s",
              q->job->name, answer_name(r->acquire.answer), (long long)r->acquire.turn.ms,
              r->acquire.attempt, (unsigned long long)r->acquire.fence,
              (long long)r->acquire.left_ms, r->acquire.watch, r->acquire.why);
}

static void say_reply(const struct device *d, const struct store_request *q,
                      const struct store_reply *r)
{
    static const char *const renewed[] = { "renewed", "regained", "lost" };
    const struct sim *s = d->sim;

    if (!s->trace)
        return;
    if (r->status == STORE_NO_ANSWER)
        trace_say(s, d, "  %s is not answered", verb_name(q->verb));
    else if (r->status == STORE_ERROR)
        trace_say(s, d, "  is answered by an error: %s", r->error);
    else if (q->verb == STORE_ACQUIRE)
        say_acquired(d, q, r);
    else if (q->verb == STORE_HELLO)
        trace_say(s, d, "  the fleet has %u devices, by %u hellos and %u boots", r->hello.fleet,
                  r->hello.hellos, r->hello.boots);
    else if (q->verb == STORE_RENEW)
        trace_say(s, d, "  %s is %s", q->job->name, renewed[r->renew.answer]);
    else if (q->verb == STORE_FINISH)
        trace_say(s, d, "  %s is recorded%s%s", q->job->name, r->finish.held ? "" : ", not held",
                  r->finish.gave_up ? ", given up" : "");
}

void trace_reply(const struct sim *s, const struct flight *f)
{
    (void)s;
    say_reply(f->device, &f->request, &f->reply);
}

void trace_decided(const struct device *d, const struct store_request *q,
                   const struct store_reply *r)
{
    trace_say(d->sim, d, "the quorum decides on %s:", verb_name(q->verb));
    say_reply(d, q, r);
}
