/* SPDX-License-Identifier: MIT
 * base/trust.h: files that decide what a process does as its own user. Nobody but root and that
 * user may be able to change or replace them. */
#ifndef ROTA_BASE_TRUST_H
#define ROTA_BASE_TRUST_H

#define TRUST_WHY_SIZE 320

/* Resolves links and looks at every part of the path: owned by root or our own user, writable by no
 * one else (a folder may be, where it is sticky). 0 and the resolved path on the heap; -EPERM where
 * somebody else could replace it, with a sentence in `why`; -ENOMEM; another negative errno of
 * realpath. */
int trust_resolve(const char *path, char **ret_path, char why[TRUST_WHY_SIZE]);
#endif
