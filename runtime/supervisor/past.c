/* SPDX-License-Identifier: MIT */
#include "supervisor/past.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of its words that are kept, which is all that a guard sends. */
#define PROGRESS_MAX 255

struct past *past_new(void)
{
    return calloc(1, sizeof(struct past));
}

void past_free(struct past *p)
{
    if (!p)
        return;
    for (unsigned i = 0; i < PAST_RUNS; i++)
        free(p->runs[i].why);
    tail_done(&p->tail);
    free(p->unapplied);
    free(p->progress);
    free(p);
}

void past_progress(struct past *p, int32_t permille, const char *words)
{
    free(p->progress);
    p->progress = words[0] ? strndup(words, PROGRESS_MAX) : NULL;
    p->permille = permille;
}

bool past_wants(enum report_kind kind)
{
    return kind == REPORT_ENDED || kind == REPORT_TAKEOVER || kind == REPORT_RENEWED ||
           kind == REPORT_REGAINED;
}

static void take_end(struct past *p, const struct job *job, const struct report *r, struct boot now)
{
    const char *why = outcome_settles(r->outcome) ? NULL : r->text;

    if (r->outcome <= OUTCOME_NOTHING)
        p->done = now;
    free(p->runs[PAST_RUNS - 1].why);
    memmove(p->runs + 1, p->runs, sizeof p->runs - sizeof p->runs[0]);
    p->runs[0] = (struct past_run){
        .turn = job->turn,
        .why = why && why[0] ? strdup(why) : NULL,
        .ran_ms = r->ran_ms,
        .attempt = job->lease.attempt,
        .outcome = r->outcome,
    };
}

static void take_renewal(struct past *p, int64_t left_ms)
{
    if (p->renewals++ == 0 || left_ms < p->least_left_ms)
        p->least_left_ms = left_ms;
}

bool past_take(struct past *p, const struct job *job, const struct report *r, struct boot now,
               struct advice *ret_advice)
{
    struct advice a;

    if (r->kind == REPORT_TAKEOVER)
        p->takeovers++;
    else if (r->kind == REPORT_ENDED)
        take_end(p, job, r, now);
    else
        take_renewal(p, r->left_ms);
    if (r->kind != REPORT_ENDED || r->outcome != OUTCOME_SUCCEEDED)
        return false;
    digest_add(&p->times, r->ran_ms, now);
    a = advice_of(&p->times, job->spec);
    if (!advice_is_news(&p->advice, &a))
        return false;
    *ret_advice = a;
    return true;
}
