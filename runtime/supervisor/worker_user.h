/* SPDX-License-Identifier: MIT
 * supervisor/worker_user.h: as whom workers run whose jobs name no user. */
#ifndef ROTA_SUPERVISOR_WORKER_USER_H
#define ROTA_SUPERVISOR_WORKER_USER_H
#include "base/user.h"
#include "config/config.h"
#include <stdbool.h>

struct worker_user {
    bool other; /* not rotad's own: the worker switches to it */
    struct user user;
};

/* job_user of the configuration, else rota-job, where rotad may switch (it is root, or has the
 * capabilities); rotad's own where it may not, or where nobody named a user and there is no
 * rota-job. 0; -ENOENT where the user that was named is not there, or -errno where /etc/passwd
 * cannot be read: then no job may start, since it would have rotad's rights; *ret_user is void. */
int worker_user_find(const struct config *c, struct worker_user *ret_user);
/* Whether both are one user with the same rights. Zeros are nobody. */
bool worker_user_same(const struct worker_user *a, const struct worker_user *b);
/* Says in the journal where it is rotad's own against what was meant. */
void worker_user_say(const struct config *c, const struct worker_user *w);
#endif
