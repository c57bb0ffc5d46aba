/* SPDX-License-Identifier: MIT
 * base/tree.h: every process that descends from one, found by a walk of /proc.
 *
 * The root is a subreaper, so that what is daemonised stays below it. A walk can miss a process
 * that is born while it goes: that its own tree is empty is told to a process by tree_reap() alone.
 */
#ifndef ROTA_BASE_TREE_H
#define ROTA_BASE_TREE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tree {
    pid_t root;
    /* A child of the root that is not meant, nor what is below it. NULL: all are meant. */
    bool (*is_spared)(void *context, pid_t child);
    void *context;
    /* NULL, or raised to when the youngest live descendant began, in the kernel's ticks. */
    uint64_t *newest;
};

/* Sends the signal to each live descendant, once, and SIGKILL to its whole process group; 0 only
 * counts. A process is signalled through a pidfd after its start time was compared, so that a
 * reused number is never hit. The number of live descendants that were found; -errno where /proc
 * cannot be read. Where the kernel or a container refuses pidfds the number alone has to do. */
int tree_signal(const struct tree *t, int signo);

/* Whether tree_signal() has what it needs: a /proc of our numbers that shows us what we start, and
 * free descriptors. `traceable`: all that we start is our own user's and may be traced by it, so
 * that it is shown to us in any case. 0; else -errno and what is wrong, for people. */
int tree_check(bool traceable, const char **ret_why);

struct tree_death {
    pid_t pid;  /* 0: nobody */
    int status; /* of waitpid() */
};

/* Takes one dead child of this process, if there is one. 1 and *ret_death; 0: children live, none
 * is dead; -ECHILD: there is none. A child can make its parent trace it, unasked, and then stops
 * for it: such a one is let go, and told as a death of nobody, pid 0. Both may come without end:
 * who asks again and again counts. */
int tree_reap(struct tree_death *ret_death);
#endif
