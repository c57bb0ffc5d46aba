/* SPDX-License-Identifier: MIT
 * walk.h: looks at every entry below one folder, never outside it. Everything is reached by name
 * from an open descriptor of its folder, and no link is followed. A folder is entered only if it is
 * still the one that was looked at; a parent is gone back to only if it is still the same one.
 * One folder is open at a time, so the depth costs no descriptors. */
#ifndef PRUNE_WALK_H
#define PRUNE_WALK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Deeper folders are left alone. */
#define WALK_DEPTH_MAX 8192
/* Of folders that wait to be entered, all together; those past it are left alone. */
#define WALK_NAMES_MAX ((size_t)32 * 1024 * 1024)

struct walk;

struct walk_level {
    char *name;               /* in its parent; NULL: the root */
    struct statx st;          /* before anything was removed in it */
    char *names;              /* folders in it that wait, each with its NUL */
    size_t next, used, room;  /* in names */
    uint64_t stayed, removed; /* entries */
};

/* Called with the walk's context. Each `remove` looks at what it is given, an entry of the open
 * folder `fd`, and says whether the entry is gone (or, in a dry run, would be). */
struct walk_calls {
    bool (*wants)(void *context, const char *name); /* whether to look closer at a file */
    bool (*remove_file)(void *context, int fd, const char *name, const struct statx *st);
    /* A folder in which nothing stayed. */
    bool (*remove_folder)(void *context, int fd, const struct walk_level *level);
    /* An entry that cannot be looked at, and why. `name` NULL: the open folder itself. */
    void (*trouble)(void *context, const char *name, int error);
    bool (*stop)(void *context); /* asked before each entry */
};

struct walk {
    int root; /* its descriptor, the caller's */
    bool recursive, one_file_system;
    const struct walk_calls *calls;
    void *context;
    uint64_t mounts;           /* passed by */
    int fd;                    /* the open folder; the rest is the walk's own */
    struct walk_level *levels; /* from the root to the open folder */
    size_t depth, room, names_used;
};

/* What is asked of each entry, and how: about a link itself, and without mounting anything. */
int walk_look(int fd, const char *name, struct statx *ret_st);
bool walk_is_same(const struct statx *a, const struct statx *b);

/* Walks. Set the first five members, the rest zero. 0; -ECANCELED where it was stopped; -ENOMEM; or
 * the -errno with which the root cannot be read. Trouble with entries is no error. */
int walk_run(struct walk *w);

/* The path of an entry of the open folder below the root ("a/b/name", escaped), for a message. Its
 * end is what is kept where it does not fit. Returns buf. */
char *walk_path(const struct walk *w, const char *name, char *buf, size_t size);
#endif
