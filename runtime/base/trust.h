/* SPDX-License-Identifier: MIT
 * base/trust.h: files that decide what a process does as its own user. Nobody but root and that
 * user may be able to change or replace them.
 *
 * A path is walked from "/" down by descriptors. Each folder on the way, each link and what the
 * path leads to belongs to root or our own user, and no one else may write to it (but to a folder
 * that is sticky, where entries of others cannot be replaced). Links are followed here, not by the
 * kernel, so that what they lead through is looked at too. Since nobody else can change an entry of
 * a folder that passed, what is read or loaded by its name in that folder is what was looked at.
 *
 * Who is asked: mode and owner. An ACL that lets others write shows in the mode's group bits, which
 * are its mask. The owner of a file system (who serves NFS or FUSE) is believed. */
#ifndef ROTA_BASE_TRUST_H
#define ROTA_BASE_TRUST_H
#include <sys/types.h>

#define TRUST_WHY_SIZE 320

/* What a path leads to. */
struct trust_place {
    char *path;  /* without links, the root in front; on the heap */
    int folder;  /* O_PATH, of the folder that holds it, or of itself where it is one */
    mode_t mode; /* as stat has it */
};

/* Where `path` leads. `root` is "", or the folder that is its "/": neither root nor what is above
 * is looked at then, and no link leads out of it. A path without root may be relative. 0 and
 * *ret_place, trust_done() is the caller's; -EPERM where somebody else could replace it, with a
 * sentence in `why`; another negative errno, and `why` is empty. */
int trust_walk(const char *root, const char *path, struct trust_place *ret_place,
               char why[TRUST_WHY_SIZE]);
/* Opens a regular file at its place for reading, and looks at it once more, open as it is. 0 and
 * *ret_fd; -EBADF where it is no regular file; else as trust_walk(). */
int trust_open(const struct trust_place *place, int *ret_fd, char why[TRUST_WHY_SIZE]);
/* Its name in its folder. */
const char *trust_name(const struct trust_place *place);
/* Zero bytes are no place, and need no done(); after it, it is one of those. */
void trust_done(struct trust_place *place);

/* The path alone, whoever may change it: what is not there is kept as it is written. 0 and a heap
 * string; -ENOMEM; -ELOOP and others where links lead nowhere. */
int trust_where(const char *root, const char *path, char **ret_path);
#endif
