/* SPDX-License-Identifier: MIT */
#include "folder.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Nobody means these as a whole. Compared by what they are, so that no spelling and no link to one
 * gets past. */
static const char *const system_folders[] = {
    "/",        "/bin",     "/boot",      "/dev",      "/etc",       "/home", "/lib",     "/lib32",
    "/lib64",   "/libx32",  "/proc",      "/root",     "/run",       "/sbin", "/sys",     "/usr",
    "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/usr/share", "/var",  "/var/lib",
};

#define SYSTEM_FOLDERS (sizeof(system_folders) / sizeof(system_folders[0]))

/* As many links as Linux follows. */
#define LINKS_MAX 40

/* To the folder, part by part. */
struct way {
    int fd;              /* what is reached, by O_PATH; -1: nothing yet */
    char rest[PATH_MAX]; /* what is still to go */
    int links;
};

static void reach(struct way *w, int fd)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = fd;
}

static int begin(struct way *w)
{
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    reach(w, fd);
    return 0;
}

/* Takes the first part off `rest`; false where there is none. */
static bool next_part(struct way *w, char part[NAME_MAX + 1])
{
    size_t start = strspn(w->rest, "/"), length = strcspn(w->rest + start, "/");

    if (length == 0 || length > NAME_MAX)
        return false;
    memcpy(part, w->rest + start, length);
    part[length] = '\0';
    memmove(w->rest, w->rest + start + length, strlen(w->rest + start + length) + 1);
    return true;
}

/* What the link says goes before `rest`. */
static int follow(struct way *w, int link)
{
    size_t rest = strlen(w->rest) + 1;
    char target[PATH_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof(target));

    if (n < 0)
        return -errno;
    if (++w->links > LINKS_MAX)
        return -ELOOP;
    if ((size_t)n + 1 + rest > sizeof(w->rest))
        return -ENAMETOOLONG;
    memmove(w->rest + n + 1, w->rest, rest);
    memcpy(w->rest, target, (size_t)n);
    w->rest[n] = '/';
    return target[0] == '/' ? begin(w) : 0;
}

static int step(struct way *w, const char *part)
{
    int r, fd = openat(w->fd, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct statx st = { 0 };

    if (fd < 0)
        return -errno;
    r = walk_look(fd, "", &st);
    if (r == 0 && !S_ISLNK(st.stx_mode)) {
        reach(w, fd);
        return 0;
    }
    if (r == 0)
        r = st.stx_uid == 0 || st.stx_uid == geteuid() ? follow(w, fd) : -EPERM;
    close(fd);
    return r;
}

/* Whether the path leads to the folder `fd` by no link that somebody else could turn to wherever he
 * likes. The way is gone after the folder was opened, not to open it: only a whole look-up mounts
 * what is mounted on demand. */
static int check_way(const char *path, int fd)
{
    struct way w = { .fd = -1 };
    struct statx st = { 0 }, reached = { 0 };
    char part[NAME_MAX + 1];
    int r;

    if (strlen(path) >= sizeof(w.rest))
        return -ENAMETOOLONG;
    memcpy(w.rest, path, strlen(path) + 1);
    r = begin(&w);
    while (r == 0 && next_part(&w, part))
        r = step(&w, part);
    if (r == 0)
        r = walk_look(w.fd, "", &reached);
    if (r == 0)
        r = walk_look(fd, "", &st);
    if (r == 0 && !walk_is_same(&st, &reached))
        r = -ESTALE;
    reach(&w, -1);
    return r;
}

int folder_open(const char *path, int mode)
{
    int r, fd = open(path, mode | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    r = check_way(path, fd);
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

const char *folder_say(int error)
{
    switch (error) {
    case EPERM:
        return "a link on the way to it belongs to neither root nor the job's user, so that "
               "somebody else decides where it leads; write the path without that link";
    case ESTALE:
        return "it was moved meanwhile";
    default:
        return strerror(error);
    }
}

const char *folder_why_not(int fd)
{
    struct statx st, other;
    struct statfs fs;

    if (fstatfs(fd, &fs) == 0 && (fs.f_type == (__typeof__(fs.f_type))PROC_SUPER_MAGIC ||
                                  fs.f_type == (__typeof__(fs.f_type))SYSFS_MAGIC))
        return "is the kernel's";
    if (walk_look(fd, "", &st) < 0)
        return NULL;
    for (size_t i = 0; i < SYSTEM_FOLDERS; i++)
        if (statx(AT_FDCWD, system_folders[i], AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &other) == 0 &&
            walk_is_same(&st, &other))
            return "is a folder of the system, which is not pruned as a whole";
    return NULL;
}
