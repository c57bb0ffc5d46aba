/* SPDX-License-Identifier: MIT
 * guard/launch.h: forks the worker, with the pipes and the socket between it and the guard. */
#ifndef ROTA_GUARD_LAUNCH_H
#define ROTA_GUARD_LAUNCH_H
#include "base/trust.h"
#include "guard/limits.h"
#include "ipc/messages.h"
#include <sys/types.h>

/* The guard's ends, all of them non-blocking or used so. */
struct launched {
    pid_t worker;
    struct boot started; /* just before the fork */
    int out, err;        /* what it prints */
    int stop;            /* readable for the worker once this is written to or closed */
    int socket;
    int group; /* the folder of the run's control group; -1: there is none */
    char unapplied[LIMITS_UNAPPLIED_SIZE]; /* what of the setup could not be; "" */
};

/* Opens what is between the two, which needs no START; launch_worker() tells where that failed.
 * Once a process. */
void launch_open(void);
/* `plugin`: as loader_find() found it. 0; else -errno with nothing left open, and why. */
int launch_worker(const struct message_start *start, const struct trust_place *plugin,
                  struct launched *ret_launched, const char **ret_why);
#endif
