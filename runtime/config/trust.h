/* SPDX-License-Identifier: MIT
 * config/trust.h: files that decide what rotad does as its own user. Nobody but root and that user
 * may be able to change or replace them. */
#ifndef ROTA_CONFIG_TRUST_H
#define ROTA_CONFIG_TRUST_H
#include <stdbool.h>
#include <stddef.h>

#define TRUST_WHY_SIZE 320

/* Resolves links and looks at every part of the path: owned by root or our own user, writable by no
 * one else (a folder may be, where it is sticky). 0 and the resolved path on the heap; -EPERM where
 * somebody else could replace it, with a sentence in `why`; -ENOMEM; another negative errno of
 * realpath. */
int trust_resolve(const char *path, char **ret_path, char why[TRUST_WHY_SIZE]);

struct trust_text {
    char *text; /* on the heap, with a NUL behind */
    size_t size;
};

/* Reads a regular file of at most `max` bytes whole. `secret`: its group and others may not even
 * read it. 0; or a negative errno and a sentence in `why`. */
int trust_read(const char *path, bool secret, size_t max, struct trust_text *ret_text,
               char why[TRUST_WHY_SIZE]);
#endif
