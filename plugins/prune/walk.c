/* SPDX-License-Identifier: MIT */
#include "walk.h"
#include "words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define LOOK_MASK (STATX_BASIC_STATS | STATX_MNT_ID)
#define FIRST_ROOM 16

int walk_look(int fd, const char *name, struct statx *ret_st)
{
    int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name[0] ? 0 : AT_EMPTY_PATH);

    return statx(fd, name, flags, LOOK_MASK, ret_st) < 0 ? -errno : 0;
}

static bool is_on_same_device(const struct statx *a, const struct statx *b)
{
    return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

bool walk_is_same(const struct statx *a, const struct statx *b)
{
    return is_on_same_device(a, b) && a->stx_ino == b->stx_ino;
}

/* Kernels before 5.8 tell no mounts apart: there a folder bound to another place is not noticed. */
static bool is_other_mount(const struct statx *a, const struct statx *b)
{
    if (!is_on_same_device(a, b))
        return true;
    return (a->stx_mask & b->stx_mask & STATX_MNT_ID) && a->stx_mnt_id != b->stx_mnt_id;
}

static struct walk_level *top(struct walk *w)
{
    return &w->levels[w->depth - 1];
}

static void move_to(struct walk *w, int fd)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = fd;
}

static void trouble(struct walk *w, const char *name, int error)
{
    top(w)->stayed++;
    w->calls->trouble(w->context, name, error);
}

/* `name` is copied; NULL: the root. */
static int push(struct walk *w, const char *name, const struct statx *st)
{
    size_t room = w->room ? w->room * 2 : FIRST_ROOM;
    struct walk_level level = { .st = *st }, *levels;

    if (w->depth == w->room) {
        levels = realloc(w->levels, room * sizeof(*levels));
        if (!levels)
            return -ENOMEM;
        w->levels = levels;
        w->room = room;
    }
    if (name && !(level.name = strdup(name)))
        return -ENOMEM;
    w->levels[w->depth++] = level;
    return 0;
}

static void pop(struct walk *w)
{
    struct walk_level *level = top(w);

    w->names_used -= level->used;
    free(level->names);
    free(level->name);
    w->depth--;
}

static int add_folder(struct walk *w, const char *name)
{
    struct walk_level *level = top(w);
    size_t length = strlen(name) + 1, room = level->room ? level->room * 2 : 256;
    char *names;

    if (w->names_used + length > WALK_NAMES_MAX) {
        trouble(w, name, ENOBUFS);
        return 0;
    }
    if (level->used + length > level->room) {
        while (room < level->used + length)
            room *= 2;
        names = realloc(level->names, room);
        if (!names)
            return -ENOMEM;
        level->names = names;
        level->room = room;
    }
    memcpy(level->names + level->used, name, length);
    level->used += length;
    w->names_used += length;
    return 0;
}

static int look_at(struct walk *w, const struct dirent *entry)
{
    bool maybe_folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    struct statx st = { 0 };
    int r;

    if (!maybe_folder && !w->calls->wants(w->context, entry->d_name)) {
        top(w)->stayed++;
        return 0;
    }
    r = walk_look(w->fd, entry->d_name, &st);
    if (r < 0) {
        if (r != -ENOENT)
            trouble(w, entry->d_name, -r);
    } else if (!S_ISDIR(st.stx_mode)) {
        if (w->calls->wants(w->context, entry->d_name) &&
            w->calls->remove_file(w->context, w->fd, entry->d_name, &st))
            top(w)->removed++;
        else
            top(w)->stayed++;
    } else if (!w->recursive) {
        top(w)->stayed++;
    } else if (w->one_file_system && is_other_mount(&st, &w->levels[0].st)) {
        top(w)->stayed++;
        w->mounts++;
    } else {
        return add_folder(w, entry->d_name);
    }
    return 0;
}

/* All entries of the open folder: files at once, folders onto its list. */
static int read_folder(struct walk *w)
{
    const struct dirent *entry;
    /* An offset of its own: the root is read once for each walk. */
    int fd = openat(w->fd, ".", OPEN_FOLDER), r = 0;
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);

    if (!folder) {
        r = -errno;
        if (fd >= 0)
            close(fd);
        return r;
    }
    while (r == 0) {
        if (w->calls->stop(w->context)) {
            r = -ECANCELED;
            break;
        }
        errno = 0;
        entry = readdir(folder);
        if (!entry) {
            if (errno != 0)
                trouble(w, NULL, errno);
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = look_at(w, entry);
    }
    closedir(folder);
    return r;
}

/* Opens a folder in `fd` by its name, if it may be entered. */
static int open_folder(const struct walk *w, int fd, const char *name, struct statx *ret_st)
{
    struct statx st = { 0 };
    int child, r = walk_look(fd, name, &st);

    if (r < 0)
        return r;
    if (!S_ISDIR(st.stx_mode))
        return -ENOTDIR;
    if (w->one_file_system && is_other_mount(&st, &w->levels[0].st))
        return -EXDEV;
    child = openat(fd, name, OPEN_FOLDER);
    if (child < 0)
        return -errno;
    r = walk_look(child, "", ret_st);
    if (r == 0 && !walk_is_same(&st, ret_st))
        r = -ESTALE;
    if (r == 0 && w->one_file_system && is_other_mount(ret_st, &w->levels[0].st))
        r = -EXDEV;
    if (r < 0) {
        close(child);
        return r;
    }
    return child;
}

/* Enters a folder of the open one, and reads it. What changed since its name was read is simply not
 * there any more. */
static int enter(struct walk *w, const char *name)
{
    struct statx st = { 0 };
    int fd, r;

    if (w->depth > WALK_DEPTH_MAX) {
        trouble(w, name, ENAMETOOLONG);
        return 0;
    }
    fd = open_folder(w, w->fd, name, &st);
    if (fd == -ENOENT)
        return 0;
    if (fd == -EXDEV || fd == -ENOTDIR || fd == -ELOOP) {
        top(w)->stayed++;
        w->mounts += fd == -EXDEV;
        return 0;
    }
    if (fd < 0) {
        trouble(w, name, -fd);
        return 0;
    }
    r = push(w, name, &st);
    if (r < 0) {
        close(fd);
        return r;
    }
    move_to(w, fd);
    r = read_folder(w);
    if (r < 0 && r != -ECANCELED && r != -ENOMEM) {
        trouble(w, NULL, -r);
        return 0;
    }
    return r;
}

/* From the root down to the open folder again, as far as all is where it was; the levels below that
 * are given up. */
static int find_again(struct walk *w)
{
    int fd = openat(w->root, ".", OPEN_FOLDER), child;
    struct statx st = { 0 };
    size_t found = 1;

    if (fd < 0)
        return -errno;
    for (; found < w->depth; found++) {
        child = open_folder(w, fd, w->levels[found].name, &st);
        if (child >= 0 && !walk_is_same(&st, &w->levels[found].st)) {
            close(child);
            child = -ESTALE;
        }
        if (child < 0)
            break;
        close(fd);
        fd = child;
    }
    move_to(w, fd);
    if (found == w->depth)
        return 0;
    while (w->depth > found)
        pop(w);
    trouble(w, NULL, ESTALE);
    return 0;
}

/* Opens the parent of the open folder, whose level is no longer there. */
static int go_back(struct walk *w)
{
    int fd = openat(w->fd, "..", OPEN_FOLDER);
    struct statx st = { 0 };

    if (fd >= 0 && walk_look(fd, "", &st) == 0 && walk_is_same(&st, &top(w)->st)) {
        move_to(w, fd);
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return find_again(w);
}

/* The open folder is finished. */
static int leave(struct walk *w)
{
    struct walk_level done = *top(w);
    size_t parent = w->depth - 1;
    int r;

    w->names_used -= done.used;
    w->depth--;
    r = go_back(w);
    if (r == 0 && w->depth == parent) {
        if (done.stayed == 0 && w->calls->remove_folder(w->context, w->fd, &done))
            top(w)->removed++;
        else
            top(w)->stayed++;
    }
    free(done.names);
    free(done.name);
    return r;
}

int walk_run(struct walk *w)
{
    struct statx st = { 0 };
    int r = walk_look(w->root, "", &st);

    w->fd = -1;
    if (r == 0)
        r = push(w, NULL, &st);
    if (r == 0) {
        w->fd = openat(w->root, ".", OPEN_FOLDER);
        r = w->fd < 0 ? -errno : read_folder(w);
    }
    while (r == 0) {
        struct walk_level *level = top(w);

        if (w->calls->stop(w->context)) {
            r = -ECANCELED;
        } else if (level->next < level->used) {
            const char *name = level->names + level->next;

            level->next += strlen(name) + 1;
            r = enter(w, name);
        } else if (w->depth == 1) {
            break;
        } else {
            r = leave(w);
        }
    }
    while (w->depth > 0)
        pop(w);
    free(w->levels);
    w->levels = NULL;
    w->room = 0;
    move_to(w, -1);
    return r;
}

char *walk_path(const struct walk *w, const char *name, char *buf, size_t size)
{
    size_t at = size - 1, level = w->depth;
    char part[4 * 256 + 1]; /* a name of NAME_MAX bytes, all escaped */

    buf[at] = '\0';
    while (level > 0) {
        size_t length;

        if (name) {
            words_escape(name, part, sizeof(part));
            length = strlen(part);
            if (length + 5 > at) {
                memcpy(buf + (at -= 4), ".../", 4);
                break;
            }
            if (buf[at])
                buf[--at] = '/';
            memcpy(buf + (at -= length), part, length);
        }
        name = w->levels[--level].name;
    }
    memmove(buf, buf + at, size - at);
    return buf;
}
