/* SPDX-License-Identifier: MIT */
#include "supervisor/worker_user.h"
#include "base/text.h"
#include "supervisor/journal.h"
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORKER_USER_DEFAULT "rota-job"
/* landlock_create_ruleset(2), on every architecture; asked for its version with this flag. Since
 * version 6 (Linux 6.12) the guard can keep jobs of one user apart by it. */
#define NR_LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_ASK_VERSION 1U
#define LANDLOCK_APART 6

static void take_own(struct worker_user *ret_user)
{
    struct user *u = &ret_user->user;

    ret_user->other = false;
    if (user_by_uid(geteuid(), u) == 0)
        return;
    *u = (struct user){ .uid = geteuid(), .gid = getegid(), .home = "/" };
    text_format(u->name, sizeof u->name, "%u", (unsigned)geteuid());
}

static int find_meant(const struct config *c, struct worker_user *ret_user)
{
    const char *wanted = c->job_user ? c->job_user : WORKER_USER_DEFAULT;
    int r = user_by_name(wanted, &ret_user->user);

    if (r == -ENOENT && !c->job_user) {
        take_own(ret_user);
        return 0;
    }
    ret_user->other = r == 0 && ret_user->user.uid != geteuid();
    return r;
}

int worker_user_find(const struct config *c, struct worker_user *ret_user)
{
    if (user_may_switch())
        return find_meant(c, ret_user);
    take_own(ret_user);
    return 0;
}

bool worker_user_same(const struct worker_user *a, const struct worker_user *b)
{
    return a->other == b->other && a->user.uid == b->user.uid && a->user.gid == b->user.gid &&
           strcmp(a->user.name, b->user.name) == 0;
}

static size_t count_sharing(const struct config *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->job_count; i++)
        count += !c->jobs[i].setup->user;
    return count;
}

static bool can_keep_apart(void)
{
    return syscall(NR_LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_ASK_VERSION) >= LANDLOCK_APART;
}

void worker_user_say(const struct config *c, const struct worker_user *w)
{
    bool switches = user_may_switch();

    if (!switches && c->job_user && !text_equal(c->job_user, w->user.name))
        journal_log(LOG_WARNING, NULL,
                    "job_user is %s, but rotad is not root and has no right to switch: jobs run as "
                    "%s",
                    c->job_user, w->user.name);
    if (switches && !c->job_user && !w->other)
        journal_log(LOG_WARNING | MESSAGE_NO_JOB_USER, NULL,
                    "there is no user %s: jobs run as %s, with all its rights", WORKER_USER_DEFAULT,
                    w->user.name);
    if (w->user.uid != 0 && count_sharing(c) > 1 && !can_keep_apart())
        journal_log(LOG_NOTICE | MESSAGE_SHARED_USER, NULL,
                    "jobs of the user %s can signal and trace each other: Linux 6.12 would keep "
                    "them apart. A job that others must not touch needs a user of its own",
                    w->user.name);
}
