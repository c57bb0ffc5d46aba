/* SPDX-License-Identifier: MIT */
#include "config/rooted.h"
#include "base/text.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* As many links as Linux follows. */
#define LINKS_MAX 40

struct walk {
    char done[PATH_MAX]; /* root, and what is resolved */
    char rest[PATH_MAX]; /* what is not */
    size_t root_length;
    int links;
};

/* Takes the first part off `rest`; false where there is none. */
static bool next_part(struct walk *w, char part[NAME_MAX + 1])
{
    size_t start = strspn(w->rest, "/"), length = strcspn(w->rest + start, "/");

    if (length == 0 || length > NAME_MAX)
        return false;
    memcpy(part, w->rest + start, length);
    part[length] = '\0';
    memmove(w->rest, w->rest + start + length, strlen(w->rest + start + length) + 1);
    return true;
}

static void go_up(struct walk *w)
{
    char *slash = strrchr(w->done + w->root_length, '/');

    if (slash)
        *slash = '\0';
}

/* `done` is a link with this text: what it says goes before `rest`. */
static int follow(struct walk *w, const char *target)
{
    char rest[PATH_MAX];

    if (++w->links > LINKS_MAX)
        return -ELOOP;
    if (!text_format(rest, sizeof(rest), "%s/%s", target, w->rest))
        return -ENAMETOOLONG;
    memcpy(w->rest, rest, sizeof(rest));
    if (target[0] == '/')
        w->done[w->root_length] = '\0';
    else
        go_up(w);
    return 0;
}

static int step(struct walk *w, const char *part)
{
    size_t length = strlen(w->done);
    char target[PATH_MAX];
    ssize_t n;

    if (strcmp(part, ".") == 0)
        return 0;
    if (strcmp(part, "..") == 0) {
        go_up(w);
        return 0;
    }
    if (!text_format(w->done + length, sizeof(w->done) - length, "/%s", part))
        return -ENAMETOOLONG;
    n = readlink(w->done, target, sizeof(target) - 1);
    if (n < 0)
        return 0; /* no link, or not there */
    target[n] = '\0';
    return follow(w, target);
}

int rooted_resolve(const char *root, const char *path, char **ret_path)
{
    struct walk w = { .root_length = strlen(root) };
    char part[NAME_MAX + 1], *resolved;
    int error = 0;

    if (!text_copy(w.done, sizeof(w.done), root) || !text_copy(w.rest, sizeof(w.rest), path))
        return -ENAMETOOLONG;
    while (error == 0 && next_part(&w, part))
        error = step(&w, part);
    if (error == 0 && w.rest[strspn(w.rest, "/")] != '\0')
        error = -ENAMETOOLONG;
    if (error < 0)
        return error;
    resolved = text_print("%s", w.done);
    if (!resolved)
        return -ENOMEM;
    *ret_path = resolved;
    return 0;
}
