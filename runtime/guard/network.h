/* SPDX-License-Identifier: MIT
 * guard/network.h: a network of its own for the calling process and all that it starts, in which
 * there is nothing but loopback. */
#ifndef ROTA_GUARD_NETWORK_H
#define ROTA_GUARD_NETWORK_H
#include <sys/types.h>

/* 0; -EPERM where this process has not the right to; another -errno. */
int network_leave(void);
/* Without that right: in a user namespace in which there is this one user and group, whose
 * capabilities the caller has to drop then. They must be this process's own. Changes whether the
 * process is dumpable. 0 or -errno. */
int network_leave_as(uid_t uid, gid_t gid);
#endif
