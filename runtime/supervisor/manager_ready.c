/* SPDX-License-Identifier: MIT
 * A guard is made ready before the turn that this device is going to ask for: its start takes
 * longer than a round trip to a Redis nearby, and longer than all else that a short run is. */
#include "supervisor/clock.h"
#include "supervisor/manager.h"
#include <unistd.h>

/* Enough for a small device, which has to read the file. */
#define READY_AHEAD_MS 20

/* It has no order, sees the end of file and goes; the loop reaps it as a stranger. */
void manager_drop_ready(struct manager *m)
{
    if (m->ready.pid > 0)
        close(m->ready.fd);
    m->ready = (struct ready_guard){ 0 };
}

bool manager_ready_ended(struct manager *m, pid_t pid)
{
    if (m->ready.pid != pid)
        return false;
    close(m->ready.fd);
    m->ready.pid = 0; /* the number may be a stranger's from now on */
    return true;
}

/* Also one that failed counts, so that it is tried once. */
static void make_ready(struct manager *m, const struct job *job)
{
    m->ready.job = job;
    if (!m->port.paused(m, job, (struct wall){ 0 }))
        (void)run_make_ready(&m->ready, job);
}

/* The job that is going to ask next; or that asks, and has a guard already. NULL: none; or Redis is
 * not there to answer, or no slot is free, without which none asks. */
static const struct job *find_asker(const struct manager *m)
{
    const struct job *next = NULL;

    if (m->link_words.down)
        return NULL;
    for (const struct device_job *d = m->jobs; d; d = d->next) {
        const struct job *j = &d->job;

        if (j->state == JOB_ASKING && j == m->ready.job)
            return j;
        if (j->state == JOB_WAITING && j->delay_ms >= 0 && (!next || j->at.ms < next->at.ms))
            next = j;
    }
    return fleet_used(&m->fleet) < m->fleet.slots ? next : NULL;
}

void manager_settle_ready(struct manager *m)
{
    const struct job *asker = find_asker(m);
    struct boot now = clock_boot();
    struct boot from = asker ? boot_add(asker->at, -READY_AHEAD_MS) : BOOT_NEVER;
    bool early = !asker || !boot_reached(now, from);

    if (early || asker != m->ready.job)
        manager_drop_ready(m);
    /* By the core's timer: fleet_tick() has nothing to do then, and sets it anew. */
    if (early)
        m->port.arm(m, boot_min(from, m->fleet.wake));
    else if (!m->ready.job && !boot_reached(now, asker->at))
        make_ready(m, asker);
}
