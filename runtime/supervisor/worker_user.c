/* SPDX-License-Identifier: MIT */
#include "supervisor/worker_user.h"
#include "base/text.h"
#include "supervisor/journal.h"
#include <errno.h>
#include <unistd.h>

#define WORKER_USER_DEFAULT "rota-job"

void worker_user_own(struct worker_user *ret_user)
{
    struct user *u = &ret_user->user;

    ret_user->other = false;
    if (user_by_uid(geteuid(), u) == 0)
        return;
    *u = (struct user){ .uid = geteuid(), .gid = getegid(), .home = "/" };
    text_format(u->name, sizeof u->name, "%u", (unsigned)geteuid());
}

static int as_root(const struct config *c, struct worker_user *ret_user)
{
    const char *wanted = c->job_user ? c->job_user : WORKER_USER_DEFAULT;
    int r = user_by_name(wanted, &ret_user->user);

    if (r == -ENOENT && !c->job_user) {
        worker_user_own(ret_user);
        return 0;
    }
    ret_user->other = r == 0 && ret_user->user.uid != 0;
    return r;
}

int worker_user_find(const struct config *c, struct worker_user *ret_user)
{
    if (geteuid() == 0)
        return as_root(c, ret_user);
    worker_user_own(ret_user);
    return 0;
}

void worker_user_say(const struct config *c, const struct worker_user *w)
{
    if (geteuid() != 0 && c->job_user && !text_equal(c->job_user, w->user.name))
        journal_log(LOG_WARNING, NULL, "job_user is %s, but rotad is not root: jobs run as %s",
                    c->job_user, w->user.name);
    if (geteuid() == 0 && !c->job_user && !w->other)
        journal_log(LOG_WARNING, NULL, "there is no user %s: jobs run as %s, with all its rights",
                    WORKER_USER_DEFAULT, w->user.name);
}
