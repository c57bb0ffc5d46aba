/* SPDX-License-Identifier: MIT */
#include "base/trust.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_part(const char *path, char why[TRUST_WHY_SIZE])
{
    struct stat st;
    bool sticky_folder;

    if (lstat(path, &st) < 0)
        return -errno;
    sticky_folder = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX);
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        text_format(why, TRUST_WHY_SIZE,
                    "'%s' belongs to user %u, who could replace it; chown it to root or to the "
                    "user of rotad, or call rotad as that user",
                    path, (unsigned)st.st_uid);
        return -EPERM;
    }
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !sticky_folder) {
        text_format(why, TRUST_WHY_SIZE, "'%s' can be changed by %s; chmod it go-w", path,
                    st.st_mode & S_IWOTH ? "everybody" : "its group");
        return -EPERM;
    }
    return 0;
}

/* The folders from there on, then the file. */
int trust_check_below(char *path, size_t skip, char why[TRUST_WHY_SIZE])
{
    int r = 0;

    for (char *slash = strchr(path + skip + 1, '/'); r >= 0 && slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        r = check_part(path, why);
        *slash = '/';
    }
    return r < 0 ? r : check_part(path, why);
}

int trust_resolve(const char *path, char **ret_path, char why[TRUST_WHY_SIZE])
{
    CLEANUP_FREE char *resolved = realpath(path, NULL);
    int r;

    if (!resolved)
        return -errno;
    r = check_part("/", why);
    if (r >= 0)
        r = trust_check_below(resolved, 0, why);
    if (r < 0)
        return r;
    *ret_path = resolved;
    resolved = NULL;
    return 0;
}
