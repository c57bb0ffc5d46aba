/* SPDX-License-Identifier: MIT
 * supervisor/control_access.h: who may ask rotad, and who may change what it does. */
#ifndef ROTA_SUPERVISOR_CONTROL_ACCESS_H
#define ROTA_SUPERVISOR_CONTROL_ACCESS_H
#include <sys/types.h>

#define CONTROL_READERS "rota"
#define CONTROL_CHANGERS "rota-admin"

enum control_access {
    CONTROL_NO_ACCESS,
    CONTROL_MAY_READ,  /* the group CONTROL_READERS */
    CONTROL_MAY_CHANGE /* root, rotad's own user, the group CONTROL_CHANGERS */
};

/* By what the kernel says of the process that has connected to `fd` (AF_UNIX), as it was then, and
 * by /etc/group as it is now: without the file, or the groups, only root and rotad's user are let
 * in. */
enum control_access control_access_of(int fd, uid_t *ret_uid);
/* Who that is, for people, without a colon. Takes USER_NAME_SIZE at most. Returns buf. */
char *control_access_name(uid_t uid, char *buf, size_t size);
#endif
