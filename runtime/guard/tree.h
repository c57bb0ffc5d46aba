/* SPDX-License-Identifier: MIT
 * guard/tree.h: every process that descends from this one, found by a walk of /proc.
 *
 * This process is a subreaper, so that what is daemonised stays below it. Whether the tree is empty
 * is told by tree_reap() alone: a walk can miss a process that is born while it goes. */
#ifndef ROTA_GUARD_TREE_H
#define ROTA_GUARD_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends the signal to each live descendant, once; 0 only counts. A process is signalled through a
 * pidfd after its start time was compared, so that a reused number is never hit. The number of live
 * descendants that were found; -errno where /proc cannot be read. */
int tree_signal(int signo);

struct tree_death {
    pid_t pid;
    int status; /* of waitpid() */
};

/* Takes one dead child, if there is one. 1 and *ret_death; 0: children live, none is dead; -ECHILD:
 * the tree is empty. */
int tree_reap(struct tree_death *ret_death);
#endif
