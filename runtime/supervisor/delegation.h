/* SPDX-License-Identifier: MIT
 * supervisor/delegation.h: the control group (cgroup v2) that systemd has given to this rotad to
 * share out (Delegate=), if it has.
 *
 * In the delegated folder no process may stay once controllers are enabled for the groups in it, so
 * rotad moves into a group `_supervisor` there, and its guards with it. Each run gets a group of
 * its own beside that, which its guard makes. */
#ifndef ROTA_SUPERVISOR_DELEGATION_H
#define ROTA_SUPERVISOR_DELEGATION_H
#include <stdbool.h>

struct delegation {
    char *folder;          /* where the runs' groups go; NULL: nothing is delegated */
    bool counts_processes; /* the pids controller is enabled for them */
};

/* Where the kernel shows it. */
struct delegation_source {
    const char *cgroup; /* "/proc/self/cgroup" */
    const char *mounts; /* "/sys/fs/cgroup" */
};

/* Takes over what is delegated: rotad moves into `_supervisor`, the controllers that there are are
 * enabled (cpu, memory, pids), and empty groups of an earlier life are removed. 0 and
 * *ret_delegation, whose folder is NULL where nothing is delegated; -errno where it could not be
 * used. */
int delegation_take(const struct delegation_source *source, struct delegation *ret_delegation);
void delegation_done(struct delegation *d);
#endif
