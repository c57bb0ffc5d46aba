/* SPDX-License-Identifier: MIT
 * guard/sandbox.h: what a forked child does to itself before it may run code of a plugin. */
#ifndef ROTA_GUARD_SANDBOX_H
#define ROTA_GUARD_SANDBOX_H
#include <stdbool.h>
#include <sys/types.h>

#define SANDBOX_FDS 5

struct sandbox {
    pid_t parent;         /* whose death ends this process */
    int fds[SANDBOX_FDS]; /* what becomes descriptor 0, 1, ...; -1: /dev/null */
    int fd_count;         /* all above are closed; those from 3 on do not survive an exec */
    bool switch_user;     /* to uid and gid, with no other groups */
    uid_t uid;
    gid_t gid;
    const char *user, *home; /* or NULL */
};

/* Every signal to its default and unblocked. For the guard itself too: an inherited SIG_IGN of
 * SIGCHLD would lose the exit statuses. */
void sandbox_reset_signals(void);

/* Moves the descriptors to their places and closes all others. 0 or -errno. */
int sandbox_place_descriptors(const struct sandbox *s);
/* The rest: session, signals, environment, limits, user, and last PDEATHSIG. 0; else -errno and
 * *ret_step says what could not be done ("become the job's user"). */
int sandbox_enter(const struct sandbox *s, const char **ret_step);
#endif
