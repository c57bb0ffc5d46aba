/* SPDX-License-Identifier: MIT
 * guard/rights.h: as whom a process runs, and what it may. All of it is about the calling
 * process. */
#ifndef ROTA_GUARD_RIGHTS_H
#define ROTA_GUARD_RIGHTS_H
#include "ipc/messages.h"

/* Whether this process may kill what will run as the setup's user. 0; else -EPERM and what is
 * wrong, for people. */
int rights_check_kill(const struct message_setup *setup, const char **ret_why);
/* Becomes the setup's user, with its groups and no other, for good. 0 or -errno. */
int rights_switch_user(const struct message_setup *setup);
/* Gives up every capability: a change from one user to another that are both not root keeps them.
 * 0 or -errno. */
int rights_drop(void);
/* From now on this process and all that it starts may signal and trace none but each other. Others
 * may signal and trace them as before, and what they may do with files stays as it is. Needs
 * no_new_privs. 0, also where the kernel cannot do it (before Linux 6.12, or switched off); else
 * -errno. */
int rights_stay_apart(void);
#endif
