/* SPDX-License-Identifier: MIT
 * base/trust.h: files that decide what a process does as its own user. Nobody but root and that
 * user may be able to change or replace them. */
#ifndef ROTA_BASE_TRUST_H
#define ROTA_BASE_TRUST_H
#include <stddef.h>

#define TRUST_WHY_SIZE 320

/* Resolves links and looks at every part of the path: owned by root or our own user, writable by no
 * one else (a folder may be, where it is sticky). 0 and the resolved path on the heap; -EPERM where
 * somebody else could replace it, with a sentence in `why`; -ENOMEM; another negative errno of
 * realpath. */
int trust_resolve(const char *path, char **ret_path, char why[TRUST_WHY_SIZE]);
/* The same look at a path without links, but not at its first `skip` bytes, behind which a slash
 * stands, nor at what is above them. 0; -EPERM with a sentence in `why`; another negative errno. */
int trust_check_below(char *path, size_t skip, char why[TRUST_WHY_SIZE]);
#endif
