/* SPDX-License-Identifier: MIT */
#include "core/fleet_need.h"
#include "core/job.h"

/* While a token is out the connection stays: a long lease is renewed, and a short one's finish is
 * to be recorded at once, whenever the run ends. */
static struct boot next_of(const struct job *j)
{
    if (j->spec->lock == LOCK_NONE) /* its turns are kept in this device */
        return BOOT_NEVER;
    if (j->lease.state != LEASE_NONE && j->lease.way != LEASE_WITHOUT_LOCK)
        return STORE_NEED_NOW;
    /* It wakes only to draw which of its turns to ask for. */
    return j->state == JOB_WAITING && j->delay_ms < 0 ? BOOT_NEVER : j->armed;
}

struct store_need fleet_need(const struct fleet *f)
{
    struct store_need need = { .next = f->question_at, .watch = BOOT_NEVER };

    for (const struct job *j = f->jobs; j; j = j->next_in_fleet) {
        need.next = boot_min(need.next, next_of(j));
        if (j->state == JOB_WATCHING && j->spec->lock == LOCK_STORE && j->at.ms < need.watch.ms) {
            need.watch = j->at;
            need.watch_slot = j->lease.call.slot;
        }
    }
    return need;
}
