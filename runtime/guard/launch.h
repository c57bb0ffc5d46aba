/* SPDX-License-Identifier: MIT
 * guard/launch.h: forks the worker, with the pipes and the socket between it and the guard. */
#ifndef ROTA_GUARD_LAUNCH_H
#define ROTA_GUARD_LAUNCH_H
#include "ipc/messages.h"
#include <sys/types.h>

/* The guard's ends, all of them non-blocking or used so. */
struct launched {
    pid_t worker;
    struct boot started; /* just before the fork */
    int out, err;        /* what it prints */
    int stop;            /* readable for the worker once this is written to or closed */
    int socket;
};

/* `path`: the plugin's file, checked. 0, or -errno with nothing left open. */
int launch_worker(const struct message_start *start, const char *path,
                  struct launched *ret_launched);
#endif
