/* SPDX-License-Identifier: MIT */
#include "base/user.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/syscall.h>

/* Longest line that is understood. */
#define USER_LINE_SIZE 2048

static void take(struct user *u, const struct passwd *pw)
{
    u->uid = pw->pw_uid;
    u->gid = pw->pw_gid;
    text_copy(u->name, sizeof u->name, pw->pw_name);
    text_copy(u->home, sizeof u->home, pw->pw_dir);
}

static void skip_line(FILE *file)
{
    int c;

    do
        c = getc(file);
    while (c != EOF && c != '\n');
}

/* A line "+..." or "-..." tells the C library's NIS where to look: it is no user and no group of
 * this machine, and has fields that are not there. */
static bool is_reference(const char *name)
{
    return name[0] == '+' || name[0] == '-';
}

static bool is_wanted(const struct passwd *pw, const char *name, uid_t uid)
{
    return !is_reference(pw->pw_name) && (name ? text_equal(pw->pw_name, name) : pw->pw_uid == uid);
}

/* By name where there is one, else by uid. */
static int find(const char *path, const char *name, uid_t uid, struct user *ret_user)
{
    CLEANUP_FCLOSE FILE *file = fopen(path, "re");
    struct passwd entry, *pw;
    char line[USER_LINE_SIZE];
    int r;

    if (!file)
        return -errno;
    while ((r = fgetpwent_r(file, &entry, line, sizeof line, &pw)) == 0 || r == ERANGE) {
        if (r == ERANGE) /* longer than any line of ours */
            skip_line(file);
        else if (is_wanted(pw, name, uid)) {
            take(ret_user, pw);
            return 0;
        }
    }
    return r == ENOENT ? -ENOENT : -r;
}

int user_by_name(const char *name, struct user *ret_user)
{
    return find(USER_PASSWD_FILE, name, 0, ret_user);
}

int user_by_name_in(const char *file, const char *name, struct user *ret_user)
{
    return find(file, name, 0, ret_user);
}

int user_by_uid(uid_t uid, struct user *ret_user)
{
    return find(USER_PASSWD_FILE, NULL, uid, ret_user);
}

/* One line of a group file: "name:password:gid:member,member". A member list may be long: the line
 * is cut in place. False where it is none. */
static bool split_group(char *line, char **ret_name, gid_t *ret_gid, char **ret_members)
{
    char *rest = line, *end;
    char *name = strsep(&rest, ":"), *password = strsep(&rest, ":"), *number = strsep(&rest, ":");
    long long gid;

    if (is_reference(name) || !password || !number || *number < '0' || *number > '9')
        return false;
    errno = 0;
    gid = strtoll(number, &end, 10);
    if (errno != 0 || *end != '\0' || gid >= UINT32_MAX) /* the last means nobody */
        return false;
    *ret_name = name;
    *ret_gid = (gid_t)gid;
    *ret_members = rest;
    return true;
}

static bool has_member(char *members, const char *name)
{
    char *member;

    while ((member = strsep(&members, ",\n")))
        if (strcmp(member, name) == 0)
            return true;
    return false;
}

/* The group of that name, or, where it is NULL, those with the member: how many, -E2BIG, or -errno.
 */
static int find_groups(const char *path, const char *wanted, const char *member, uint32_t *groups)
{
    CLEANUP_FCLOSE FILE *file = fopen(path, "re");
    CLEANUP_FREE char *line = NULL;
    char *name, *members;
    size_t size = 0;
    int count = 0;
    gid_t gid;

    if (!file)
        return -errno;
    while (!(wanted && count == 1) && getline(&line, &size, file) >= 0) {
        if (!split_group(line, &name, &gid, &members) ||
            !(wanted ? strcmp(name, wanted) == 0 : has_member(members, member)))
            continue;
        if (count == USER_GROUPS_MAX)
            return -E2BIG;
        groups[count++] = gid;
    }
    return (wanted && count == 1) || feof(file) ? count : -EIO;
}

int user_group_by_name_in(const char *file, const char *name, gid_t *ret_gid)
{
    uint32_t gid = 0;
    int count = find_groups(file, name, NULL, &gid);

    if (count <= 0)
        return count < 0 ? count : -ENOENT;
    *ret_gid = gid;
    return 0;
}

int user_groups_in(const char *file, const char *name, uint32_t ret_groups[USER_GROUPS_MAX])
{
    return find_groups(file, NULL, name, ret_groups);
}

bool user_has_right(int capability)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

    return syscall(SYS_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

bool user_may_switch(void)
{
    return user_has_right(CAP_SETUID) && user_has_right(CAP_SETGID);
}
