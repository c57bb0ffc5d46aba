/* SPDX-License-Identifier: MIT */
#include "base/trust.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As many links as Linux follows. */
#define LINKS_MAX 40

struct walk {
    size_t root_length;
    int top;     /* the root's folder */
    int folder;  /* where `done` is, or lies; -1: adrift, behind what is not there */
    mode_t mode; /* of what `done` is */
    int links;
    char *rest;          /* what is not resolved, at the end of `room` */
    char *why;           /* NULL: nobody is judged, and what is not there is no error */
    char done[PATH_MAX]; /* root, and what is resolved */
    char room[PATH_MAX];
};

static int judge(const struct stat *st, const char *path, char why[TRUST_WHY_SIZE])
{
    bool sticky_folder = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX);

    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        text_format(why, TRUST_WHY_SIZE,
                    "'%s' belongs to user %u, who could replace it; chown it to root or to the "
                    "user of rotad, or call rotad as that user",
                    path, (unsigned)st->st_uid);
        return -EPERM;
    }
    /* A link's mode means nothing. */
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) && !sticky_folder && !S_ISLNK(st->st_mode)) {
        text_format(why, TRUST_WHY_SIZE, "'%s' can be changed by %s; chmod it go-w", path,
                    st->st_mode & S_IWOTH ? "everybody" : "its group");
        return -EPERM;
    }
    return 0;
}

static void enter(struct walk *w, int fd)
{
    if (w->folder >= 0)
        close(w->folder);
    w->folder = fd;
    w->mode = S_IFDIR;
}

static int return_to_top(struct walk *w)
{
    int fd = fcntl(w->top, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    enter(w, fd);
    w->done[w->root_length] = '\0';
    return 0;
}

/* `length` bytes come before the rest; they may stand in `room`, before it. */
static int insert(struct walk *w, const char *text, size_t length)
{
    if ((size_t)(w->rest - w->room) < length)
        return -ENAMETOOLONG;
    w->rest -= length;
    memmove(w->rest, text, length);
    return 0;
}

/* Not by the folder's "..", which may have been moved to anywhere meanwhile: down again from the
 * top. */
static int go_up(struct walk *w)
{
    char *done = w->done + w->root_length, *slash = strrchr(done, '/');
    int r = 0;

    if (!slash)
        return 0;
    *slash = '\0';
    if (w->folder >= 0)
        r = insert(w, done, strlen(done));
    return r < 0 || w->folder < 0 ? r : return_to_top(w);
}

static int follow(struct walk *w, int link)
{
    size_t size = (size_t)(w->rest - w->room);
    ssize_t n = readlinkat(link, "", w->room, size);

    if (n < 0)
        return -errno;
    if ((size_t)n == size)
        return -ENAMETOOLONG;
    if (++w->links > LINKS_MAX)
        return -ELOOP;
    insert(w, w->room, (size_t)n); /* there is room */
    return w->rest[0] == '/' ? return_to_top(w) : 0;
}

/* O_PATH: whatever it is, a FIFO or a device as well, nothing happens to it. What must be a folder
 * is asked for as one first, which lets the kernel mount what is mounted when it is needed. -1:
 * errno. */
static int open_part(int folder, const char *part, bool last, struct stat *ret_st)
{
    int fd = openat(folder, part, O_PATH | O_NOFOLLOW | O_CLOEXEC | (last ? 0 : O_DIRECTORY));

    if (fd < 0 && errno == ENOTDIR && !last)
        fd = openat(folder, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, ret_st) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* What is behind is kept as it is written. */
static int drift(struct walk *w, int error)
{
    if (w->why)
        return error;
    enter(w, -1);
    return 0;
}

/* Takes the first part off the rest. */
static int step(struct walk *w)
{
    size_t before = strlen(w->done), length = (size_t)(strchrnul(w->rest, '/') - w->rest);
    char *part = w->done + before + 1;
    CLEANUP_CLOSE int fd = -1;
    struct stat st;

    if (before + 1 + length >= sizeof(w->done))
        return -ENAMETOOLONG;
    text_copy(part, length + 1, w->rest);
    w->rest += length;
    if (strcmp(part, ".") == 0)
        return 0;
    if (strcmp(part, "..") == 0)
        return go_up(w);
    part[-1] = '/';
    if (w->folder < 0)
        return 0;
    fd = open_part(w->folder, part, w->rest[0] == '\0', &st);
    if (fd < 0)
        return drift(w, -errno);
    if (w->why && judge(&st, w->done, w->why) < 0)
        return -EPERM;
    if (S_ISDIR(st.st_mode)) {
        enter(w, cleanup_take_fd(&fd));
    } else if (S_ISLNK(st.st_mode)) {
        w->done[before] = '\0';
        return follow(w, fd);
    } else if (w->rest[0] != '\0') {
        return drift(w, -ENOTDIR);
    }
    w->mode = st.st_mode;
    return 0;
}

static int begin(struct walk *w, const char *root, const char *path)
{
    struct stat st;
    int r;

    w->root_length = strlen(root);
    w->links = 0;
    w->rest = w->room + sizeof(w->room) - 1;
    *w->rest = '\0';
    if (w->why && path[0] == '\0')
        return -ENOENT;
    if (!text_copy(w->done, sizeof(w->done), root) || insert(w, path, strlen(path)) < 0 ||
        insert(w, "/", 1) < 0)
        return -ENAMETOOLONG;
    if (w->root_length == 0 && path[0] != '/') {
        if (!getcwd(w->room, (size_t)(w->rest - w->room)))
            return -errno;
        insert(w, w->room, strlen(w->room));
    }
    w->top = open(w->root_length > 0 ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w->top < 0 || fstat(w->top, &st) < 0)
        return drift(w, -errno);
    r = w->why && w->root_length == 0 ? judge(&st, "/", w->why) : 0;
    return r < 0 ? r : return_to_top(w);
}

/* As trust_walk(), or, where nobody is judged, as trust_where(). */
static int walk(struct walk *w, const char *root, const char *path, struct trust_place *ret_place)
{
    char *copy;
    int r;

    w->top = w->folder = -1;
    r = begin(w, root, path);
    while (r == 0 && *w->rest)
        if (*w->rest == '/')
            w->rest++;
        else
            r = step(w);
    if (w->top >= 0)
        close(w->top);
    copy = r == 0 ? strdup(w->done[0] != '\0' ? w->done : "/") : NULL;
    if (copy) {
        *ret_place = (struct trust_place){ copy, w->folder, w->mode };
        return 0;
    }
    if (w->folder >= 0)
        close(w->folder);
    return r == 0 ? -ENOMEM : r;
}

int trust_walk(const char *root, const char *path, struct trust_place *ret_place,
               char why[TRUST_WHY_SIZE])
{
    struct walk w; /* not zeroed: pages of its paths that are not touched cost nothing */

    w.why = why;
    why[0] = '\0';
    return walk(&w, root, path, ret_place);
}

int trust_where(const char *root, const char *path, char **ret_path)
{
    struct trust_place place = { 0 };
    struct walk w;
    int r;

    w.why = NULL;
    r = walk(&w, root, path, &place);
    if (r < 0)
        return r;
    if (place.folder >= 0)
        close(place.folder);
    *ret_path = place.path;
    return 0;
}

int trust_open(const struct trust_place *place, int *ret_fd, char why[TRUST_WHY_SIZE])
{
    CLEANUP_CLOSE int fd = -1;
    struct stat st;

    if (!S_ISREG(place->mode))
        return -EBADF;
    /* Who may change the entry may have put a FIFO there meanwhile: O_NONBLOCK. */
    fd = openat(place->folder, trust_name(place),
                O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EBADF;
    if (judge(&st, place->path, why) < 0)
        return -EPERM;
    *ret_fd = cleanup_take_fd(&fd);
    return 0;
}

const char *trust_name(const struct trust_place *place)
{
    return strrchr(place->path, '/') + 1;
}

void trust_done(struct trust_place *place)
{
    if (!place->path)
        return;
    free(place->path);
    if (place->folder >= 0)
        close(place->folder);
    *place = (struct trust_place){ 0 };
}
