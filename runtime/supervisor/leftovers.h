/* SPDX-License-Identifier: MIT
 * supervisor/leftovers.h: what a guard that died left behind. rotad is the subreaper above its
 * guards, so these processes become its children; whatever is its child and was not started by it
 * is one of them. */
#ifndef ROTA_SUPERVISOR_LEFTOVERS_H
#define ROTA_SUPERVISOR_LEFTOVERS_H
#include <stdbool.h>
#include <sys/types.h>

/* Makes rotad the subreaper. 0 or -errno. */
int leftovers_adopt(void);
/* SIGKILL to every child of ours that is_ours() does not know. How many there are that have not
 * ended (zombies are reaped by the loop and not counted), or -errno where /proc cannot be read.
 * Children of these come with the next call, when their parent is dead. */
int leftovers_kill(bool (*is_ours)(void *context, pid_t pid), void *context);
#endif
