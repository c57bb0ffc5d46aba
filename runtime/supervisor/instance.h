/* SPDX-License-Identifier: MIT
 * supervisor/instance.h: one rotad a runtime folder. */
#ifndef ROTA_SUPERVISOR_INSTANCE_H
#define ROTA_SUPERVISOR_INSTANCE_H

/* Makes the folder if it is not there (mode 0755) and locks its empty file `lock`. 0 and *ret_fd,
 * which holds the lock until it is closed or the process ends, however it ends; -EBUSY where
 * another rotad has it; -errno. Not the folder itself: whoever may list that could lock it, and
 * keep rotad from starting. */
int instance_lock(const char *runtime_dir, int *ret_fd);
#endif
