/* SPDX-License-Identifier: MIT
 * base/library.h: code from a file that was looked at (base/trust.h). */
#ifndef ROTA_BASE_LIBRARY_H
#define ROTA_BASE_LIBRARY_H
#include "base/trust.h"

#define LIBRARY_WHY_SIZE 400

/* Loads the file at `place` into this process, all symbols bound and none exported, and for good:
 * by its name in the folder that was looked at, for which nobody needs a way through the folders
 * above. While the file's constructors run, that folder is the working directory, and is open
 * twice (O_PATH, close-on-exec: itself and the way back). A place without folder (-1), or any where
 * the working directory is closed to this process, is loaded by its path. 0 and *ret_handle; else
 * -ENOEXEC and what the loader says, with the file's whole path. */
int library_open(const struct trust_place *place, void **ret_handle, char why[LIBRARY_WHY_SIZE]);

/* The same for a module of our own, found by its path: -EPERM where somebody else could replace it,
 * -EBADF where it is no regular file, -ENOEXEC also where it is cut off, another negative errno of
 * trust_walk(); and a sentence in `why`. */
int library_load(const char *path, void **ret_handle, char why[LIBRARY_WHY_SIZE]);
#endif
