/* SPDX-License-Identifier: MIT */
#include "redis/differ/play.h"

#include "base/text.h"
#include <inttypes.h>
#include <string.h>

#define NAME_SIZE 80
/* A twentieth of it is more than the seat that a crowd wants. */
#define LONG_QUEUE 20

static const char *const acquire_words[] = {
    [ACQUIRE_GRANTED] = "granted",   [ACQUIRE_SPARE] = "spare",
    [ACQUIRE_HELD] = "held",         [ACQUIRE_FULL] = "full",
    [ACQUIRE_DONE] = "done",         [ACQUIRE_PASSED] = "passed",
    [ACQUIRE_WAIT] = "wait",         [ACQUIRE_EXHAUSTED] = "exhausted",
    [ACQUIRE_PAUSED] = "paused",     [ACQUIRE_EARLY] = "early",
    [ACQUIRE_OVER] = "over",         [ACQUIRE_MISMATCH] = "mismatch",
    [ACQUIRE_OUTDATED] = "outdated", [ACQUIRE_NEWER] = "newer",
};

static const char *const renew_words[] = {
    [RENEW_RENEWED] = "renewed", [RENEW_REGAINED] = "regained", [RENEW_LOST] = "lost"
};

/* Each must be met; one with a reason counts for the one without it as well. */
static const char *const wanted[] = {
    "lock granted",
    "lock spare",
    "lock held",
    "lock done",
    "lock done, clock",
    "lock done, assumed",
    "lock done, paused",
    "lock passed",
    "lock wait, blank",
    "lock wait, failed",
    "lock wait, gave_up",
    "lock exhausted",
    "lock paused",
    "lock early",
    "lock over, succeeded",
    "lock over, gave_up",
    "lock mismatch, device",
    "lock outdated",
    "lock newer",
    "lock renewed",
    "lock regained",
    "lock lost",
    "lock lost, failed",
    "lock lost, somebody else",
    "lock recorded",
    "lock recorded, given up",
    "lock recorded, held",
    "lock recorded, held, given up",
    "seat granted",
    "seat spare",
    "seat held",
    "seat full",
    "seat full, long queue",
    "seat done",
    "seat done, clock",
    "seat done, assumed",
    "seat done, paused",
    "seat passed",
    "seat wait, blank",
    "seat wait, failed",
    "seat exhausted",
    "seat paused",
    "seat early",
    "seat over, succeeded",
    "seat over, gave_up",
    "seat mismatch, fleet",
    "seat outdated",
    "seat newer",
    "seat renewed",
    "seat regained",
    "seat lost",
    "seat lost, failed",
    "seat recorded",
    "seat recorded, given up",
    "seat recorded, held",
    "seat recorded, held, given up",
    "seat recorded, stopped",
    "another configuration's",
    "hello",
    "hello, fleet",
    "hello, twin",
    "hello, wanted",
    "hello, 8 others",
    "hello, boots",
    "hello, done",
    "configuration",
    "no configuration",
    "paused, instead",
    "resumed",
};
#define WANTED (sizeof wanted / sizeof wanted[0])
_Static_assert(WANTED <= PLAY_ANSWERS, "each has a count");

static void meet(struct play *p, const char *name)
{
    for (size_t i = 0; i < WANTED; i++)
        if (strcmp(wanted[i], name) == 0)
            p->met[i]++;
}

static void meet_with(struct play *p, const char *scope, const char *word, const char *why)
{
    char name[NAME_SIZE];

    text_format(name, sizeof name, "%s %s", scope, word);
    meet(p, name);
    if (!why[0])
        return;
    text_format(name, sizeof name, "%s %s, %s", scope, word, why);
    meet(p, name);
}

static void meet_finish(struct play *p, const char *scope, const struct store_reply *reply)
{
    bool held = reply->finish.held, gave_up = reply->finish.gave_up;

    meet_with(p, scope, "recorded",
              held && gave_up ? "held, given up"
              : held          ? "held"
              : gave_up       ? "given up"
                              : "");
    if (reply->finish.stopped)
        meet_with(p, scope, "recorded", "stopped");
}

static void meet_hello(struct play *p, const struct store_reply *reply)
{
    meet(p, "hello");
    if (reply->hello.fleet > 1)
        meet(p, "hello, fleet");
    if (reply->hello.twin)
        meet(p, "hello, twin");
    if (reply->hello.wanted)
        meet(p, "hello, wanted");
    if (reply->hello.others == STORE_HELLO_OTHERS_MAX)
        meet(p, "hello, 8 others");
    if (reply->hello.boots > 1)
        meet(p, "hello, boots");
    for (size_t i = 0; i < reply->hello.jobs; i++)
        if (reply->hello.done[i].ms > 0)
            meet(p, "hello, done");
}

void play_meet(struct play *p, const struct step *step, const struct store_reply *reply)
{
    const char *scope = step->field[FIELD_SCOPE] ? "seat" : "lock";

    switch (step->kind) {
    case STEP_ACQUIRE:
        meet_with(p, scope, acquire_words[reply->acquire.answer], reply->acquire.why);
        if (reply->acquire.watch > LONG_QUEUE && reply->acquire.answer == ACQUIRE_FULL)
            meet(p, "seat full, long queue");
        if (reply->acquire.print[0])
            meet(p, "another configuration's");
        break;
    case STEP_RENEW:
        meet_with(p, scope, renew_words[reply->renew.answer], reply->renew.why);
        break;
    case STEP_FINISH:
        meet_finish(p, scope, reply);
        break;
    case STEP_HELLO:
        meet_hello(p, reply);
        break;
    case STEP_CONFIG_GET:
        meet(p, reply->config.text[0] ? "configuration" : "no configuration");
        break;
    case STEP_PAUSE:
        if (reply->pause.before[0])
            meet(p, "paused, instead");
        break;
    case STEP_RESUME:
        if (reply->pause.before[0])
            meet(p, "resumed");
        break;
    default:
        break;
    }
}

bool play_report(const struct play *p)
{
    bool all = true;

    for (size_t i = 0; i < WANTED; i++) {
        printf("# %8" PRId64 " %s\n", p->met[i], wanted[i]);
        all = all && p->met[i] > 0;
    }
    return all;
}
