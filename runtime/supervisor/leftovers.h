/* SPDX-License-Identifier: MIT
 * supervisor/leftovers.h: ends what a guard cannot end itself: the tree of one that hangs, and what
 * one that died has left, which is then rotad's own child (rotad is the subreaper above its
 * guards).
 */
#ifndef ROTA_SUPERVISOR_LEFTOVERS_H
#define ROTA_SUPERVISOR_LEFTOVERS_H
#include <stdbool.h>
#include <sys/types.h>

/* Makes this process the one to which orphans below it go. 0 or -errno. */
int leftovers_adopt(void);

/* Kills all below `guard`, which lives on. */
void leftovers_kill_below(pid_t guard);

/* Kills everything below this process but the children that is_ours() knows and what is below them.
 * At most for some milliseconds. 0: two walks in a row found nothing alive, and the kernel lists no
 * such child of ours, not even a dead one; else the number that was found, or -errno: call again.
 */
int leftovers_kill(bool (*is_ours)(void *context, pid_t pid), void *context);
#endif
