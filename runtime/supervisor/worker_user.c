/* SPDX-License-Identifier: MIT */
#include "supervisor/worker_user.h"
#include "base/text.h"
#include "supervisor/journal.h"
#include <unistd.h>

#define WORKER_USER_DEFAULT "rota-job"

static void take_own(struct worker_user *w)
{
    w->other = false;
    if (user_by_uid(geteuid(), &w->user) == 0)
        return;
    w->user = (struct user){ .uid = geteuid(), .gid = getegid(), .home = "/" };
    text_format(w->user.name, sizeof w->user.name, "%u", (unsigned)geteuid());
}

void worker_user_find(const struct config *c, struct worker_user *ret_user)
{
    const char *wanted = c->job_user ? c->job_user : WORKER_USER_DEFAULT;

    if (geteuid() == 0 && user_by_name(wanted, &ret_user->user) == 0) {
        ret_user->other = ret_user->user.uid != 0;
        return;
    }
    take_own(ret_user);
    if (geteuid() == 0)
        journal_log(LOG_WARNING, NULL, "there is no user %s: jobs run as %s, with all its rights",
                    wanted, ret_user->user.name);
}
