/* SPDX-License-Identifier: MIT
 * guard/cgroup.h: a control group (version 2) of its own for each run, below a folder that is
 * delegated to rota. It keeps the limits that are for a whole tree, and kills in one step what is
 * in it. That a tree is empty it does not tell: who has the right can leave it. Guard and rotad
 * stay outside. */
#ifndef ROTA_GUARD_CGROUP_H
#define ROTA_GUARD_CGROUP_H
#include "base/limits.h"
#include <stdbool.h>

struct cgroup {
    int folder;                     /* a descriptor of the group's */
    bool has_memory, has_processes; /* it keeps these limits */
};

/* Makes `job` in `parent`, or takes the one that is there if it is empty, and sets its limits. 0;
 * -EBUSY where something lives in it; another -errno. */
int cgroup_make(const char *parent, const char *job, const struct limits *limits,
                struct cgroup *ret_group);
/* The calling process, and what it starts from now on. 0 or -errno. */
int cgroup_join(const char *parent, const char *job);
/* SIGKILL to all that is in it. No effect where the kernel cannot (before Linux 5.14), or folder is
 * -1. */
void cgroup_kill(int folder);
/* Whether something in it was killed since it ran out of the group's memory. */
bool cgroup_ran_out_of_memory(int folder);
/* Closes the folder, and removes the group where it is empty. */
void cgroup_remove(const char *parent, const char *job, int folder);
#endif
