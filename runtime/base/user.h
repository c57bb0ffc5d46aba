/* SPDX-License-Identifier: MIT
 * base/user.h: users and groups of this machine, from /etc/passwd and /etc/group alone. The C
 * library's own look-up loads whatever nsswitch.conf names (48 KiB and more for the rest of the
 * process's life) and may ask a network. */
#ifndef ROTA_BASE_USER_H
#define ROTA_BASE_USER_H
#include <stdbool.h>
#include <stdint.h>
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

#define USER_PASSWD_FILE "/etc/passwd"
#define USER_GROUP_FILE "/etc/group"
/* More groups than a user is usually in. */
#define USER_GROUPS_MAX 64

/* A group by its name, from a file of that format. 0, -ENOENT, or -errno where the file cannot be
 * read. */
int user_group_by_name_in(const char *file, const char *name, gid_t *ret_gid);
/* The groups that name the user as a member. How many, at most USER_GROUPS_MAX; -E2BIG where there
 * are more; -errno where the file cannot be read. */
int user_groups_in(const char *file, const char *name, uint32_t ret_groups[USER_GROUPS_MAX]);

/* Whether a capability (linux/capability.h) of this process is effective. */
bool user_has_right(int capability);
/* Whether this process may become another user with that user's groups: it has CAP_SETUID and
 * CAP_SETGID. */
bool user_may_switch(void);
#endif
