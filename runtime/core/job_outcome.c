/* SPDX-License-Identifier: MIT */
#include "core/job.h"

/* Results of run(), as plugin.h numbers them; anything else is a failure. */
static enum outcome of_result(int result)
{
    static const enum outcome outcomes[] = { OUTCOME_SUCCEEDED, OUTCOME_NOTHING,  OUTCOME_FAILED,
                                             OUTCOME_REFUSED,   OUTCOME_DECLINED, OUTCOME_LOST };

    if (result < 0 || (size_t)result >= sizeof outcomes / sizeof outcomes[0])
        return OUTCOME_FAILED;
    return outcomes[result];
}

static enum outcome of_stop(const struct run_end *end)
{
    switch (end->stop) {
    case RUN_STOPPED_OVERRUN:
        return OUTCOME_OVERRUN;
    case RUN_STOPPED_DEADLINE:
        return OUTCOME_LOST;
    default:
        break;
    }
    if (end->reason == STOP_FOR_GOOD)
        return OUTCOME_STOPPED;
    return end->reason == STOP_FOR_TAKEN ? OUTCOME_LOST : OUTCOME_DECLINED;
}

enum outcome job_outcome(const struct run_end *end)
{
    /* run() was not called: no attempt, whatever `attempts` is, and another device may have the
     * plugin. */
    if (end->exit == RUN_UNSTARTED || end->exit == RUN_UNLOADABLE)
        return OUTCOME_UNSTARTED;
    /* Whatever run() returns once it was asked to stop: a sleep that the signal cut short looks
     * like success, and a turn that is run again is the smaller harm than one that is lost. */
    if (end->stop != RUN_NOT_STOPPED)
        return of_stop(end);
    return end->exit == RUN_RETURNED ? of_result(end->result) : OUTCOME_CRASHED;
}
