/* SPDX-License-Identifier: MIT
 * supervisor/worker_user.h: as whom workers run. */
#ifndef ROTA_SUPERVISOR_WORKER_USER_H
#define ROTA_SUPERVISOR_WORKER_USER_H
#include "base/user.h"
#include "config/config.h"
#include <stdbool.h>

struct worker_user {
    bool other; /* not rotad's own: the worker switches to it */
    struct user user;
};

/* job_user of the configuration where rotad is root and that user exists, else rotad's own, which
 * is said. */
void worker_user_find(const struct config *c, struct worker_user *ret_user);
#endif
