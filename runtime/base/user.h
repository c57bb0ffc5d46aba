/* SPDX-License-Identifier: MIT
 * base/user.h: users of this machine, from /etc/passwd alone. The C library's own look-up loads
 * whatever nsswitch.conf names (48 KiB and more for the rest of the process's life) and may ask a
 * network. */
#ifndef ROTA_BASE_USER_H
#define ROTA_BASE_USER_H
#include <sys/types.h>

#define USER_NAME_SIZE 64
#define USER_HOME_SIZE 256

struct user {
    uid_t uid;
    gid_t gid;
    char name[USER_NAME_SIZE];
    char home[USER_HOME_SIZE];
};

/* 0, -ENOENT where there is no such user, or -errno where the file cannot be read. */
int user_by_name(const char *name, struct user *ret_user);
/* From another file of that format. */
int user_by_name_in(const char *file, const char *name, struct user *ret_user);
int user_by_uid(uid_t uid, struct user *ret_user);
#endif
