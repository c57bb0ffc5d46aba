/* SPDX-License-Identifier: MIT */
#include "supervisor/leftovers.h"
#include "base/tree.h"
#include "supervisor/clock.h"
#include <errno.h>
#include <signal.h>
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
    return found;
}
