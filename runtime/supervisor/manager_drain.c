/* SPDX-License-Identifier: MIT
 * Drained: this device takes no turns until it is told to, or rotad is started anew. */
#include "supervisor/clock.h"
#include "supervisor/control.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"

void manager_leave_jobs(struct manager *m, bool stop_runs)
{
    struct boot now = clock_boot();

    m->jobs_stale = m->status_stale = true;
    for (struct device_job *d = m->jobs; d; d = d->next)
        job_leave(&d->job, now, stop_runs);
}

void manager_drain(struct manager *m)
{
    if (!m->draining)
        journal_log(LOG_NOTICE | MESSAGE_DRAINING, NULL,
                    "draining: no turns until rotactl undrain or a restart");
    m->draining = true;
    manager_leave_jobs(m, false);
}

void manager_hand_over(struct manager *m)
{
    manager_drain(m);
    manager_leave_jobs(m, true);
}

void manager_undrain(struct manager *m)
{
    if (m->draining)
        journal_log(LOG_NOTICE | MESSAGE_UNDRAINED, NULL, "jobs take turns again");
    m->draining = false;
    /* Those that left are missing since. */
    m->jobs_stale = m->status_stale = true;
    control_answer(m->control, CONTROL_WAITS_DRAIN, false);
}

/* Whether Redis is being told how runs ended. Where it does not take that, an outage is not waited
 * for: rotad goes on trying, also when it stops. */
static bool is_telling(const struct manager *m)
{
    for (const struct device_job *d = m->jobs; d && !m->link_words.down; d = d->next)
        if (d->job.fault == FAULT_NONE)
            return true;
    return false;
}

void manager_settle_drain(struct manager *m)
{
    if (m->draining && m->status_stale && !m->stopping && !m->runs && !is_telling(m))
        control_answer(m->control, CONTROL_WAITS_DRAIN, true);
}
