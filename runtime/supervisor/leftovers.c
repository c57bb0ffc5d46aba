/* SPDX-License-Identifier: MIT */
#include "supervisor/leftovers.h"
#include "base/cleanup.h"
#include "base/tree.h"
#include "supervisor/clock.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The loop waits meanwhile. What forks for ever outruns single walks that are far apart. */
#define KILL_SLICE_MS 20

int leftovers_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}

void leftovers_kill_below(pid_t guard)
{
    tree_signal(&(struct tree){ .root = guard }, SIGKILL);
}

/* The kernel's own list of our children, the dead ones that were not reaped yet among them: a
 * process that dies hands its children to us in one step, so here, unlike in a walk, nothing can
 * slip through. 0 too where the kernel has no such list. */
static int count_listed(const struct tree *strangers)
{
    CLEANUP_FCLOSE FILE *list = fopen("/proc/thread-self/children", "re");
    int pid, found = 0;

    if (!list)
        return 0;
    while (fscanf(list, "%d", &pid) == 1) /* NOLINT(cert-err34-c): the kernel's numbers */
        found += !strangers->is_spared(strangers->context, pid);
    return found;
}

int leftovers_kill(bool (*is_ours)(void *context, pid_t pid), void *context)
{
    const struct tree strangers = { .root = getpid(), .is_spared = is_ours, .context = context };
    struct boot slice_end = boot_add(clock_boot(), KILL_SLICE_MS);
    int found;

    do {
        found = tree_signal(&strangers, SIGKILL);
        if (found == 0) /* one that was born while the walk went may have been missed */
            found = tree_signal(&strangers, SIGKILL);
    } while (found > 0 && !boot_reached(clock_boot(), slice_end));
    return found != 0 ? found : count_listed(&strangers);
}
