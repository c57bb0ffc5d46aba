/* SPDX-License-Identifier: MIT
 * guard/sandbox.h: what a forked child does to itself before it may run code of a plugin. */
#ifndef ROTA_GUARD_SANDBOX_H
#define ROTA_GUARD_SANDBOX_H
#include "guard/limits.h"
#include "ipc/messages.h"
#include <stdbool.h>
#include <sys/types.h>

#define SANDBOX_FDS 6
/* The last one is there only where it was looked at, and until the plugin is loaded: its folder. */
#define SANDBOX_FOLDER 5

struct sandbox {
    pid_t parent;         /* whose death ends this process */
    int fds[SANDBOX_FDS]; /* what becomes descriptor 0, 1, ...; those from 3 on do not survive an
                             exec. -1: /dev/null; of the folder: none */
    const struct message_setup *setup; /* but its limits and its cgroup, of which these are left: */
    const struct limits_plan *limits;
    const char *group;  /* the name of the group in setup->cgroup to join; NULL: none */
    bool may_be_dumped; /* and traced by its own user: it holds nothing that is to be kept */
};

/* Every signal to its default and unblocked: once, in the process that forks or in its child. For
 * the guard itself too: an inherited SIG_IGN of SIGCHLD would lose the exit statuses. */
void sandbox_reset_signals(void);

/* Moves the descriptors to their places and closes all others. 0 or -errno. */
int sandbox_place_descriptors(const struct sandbox *s);
/* The rest, in the one order that stands in sandbox.c. 0; else -errno and *ret_step says what could
 * not be done ("become the job's user"). */
int sandbox_enter(const struct sandbox *s, const char **ret_step);
#endif
