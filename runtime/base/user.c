/* SPDX-License-Identifier: MIT */
#include "base/user.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <pwd.h>

#define USER_FILE "/etc/passwd"
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
        else if (name ? text_equal(pw->pw_name, name) : pw->pw_uid == uid) {
            take(ret_user, pw);
            return 0;
        }
    }
    return r == ENOENT ? -ENOENT : -r;
}

int user_by_name(const char *name, struct user *ret_user)
{
    return find(USER_FILE, name, 0, ret_user);
}

int user_by_name_in(const char *file, const char *name, struct user *ret_user)
{
    return find(file, name, 0, ret_user);
}

int user_by_uid(uid_t uid, struct user *ret_user)
{
    return find(USER_FILE, NULL, uid, ret_user);
}
