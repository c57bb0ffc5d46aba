/* SPDX-License-Identifier: MIT
 * config/trust.h: reads files that only those could write who may, by the rule of base/trust.h. */
#ifndef ROTA_CONFIG_TRUST_H
#define ROTA_CONFIG_TRUST_H
#include "base/trust.h"
#include <stdbool.h>
#include <stddef.h>

struct trust_text {
    char *text; /* on the heap, with a NUL behind */
    size_t size;
};

/* trust_walk() of a path as reading_path() gives it: with the root in front. 0 and *ret_place; or a
 * negative errno, and perhaps a sentence in `why`. */
int trust_find(const char *root, const char *path, struct trust_place *ret_place,
               char why[TRUST_WHY_SIZE]);

/* Who may read the file, by its mode. */
enum trust_reader {
    TRUST_ANYBODY,
    TRUST_OWNER,      /* it holds a secret */
    TRUST_CREDENTIAL, /* too; in systemd's files the group's bits are the limit of an ACL */
};

struct trust_rule {
    const char *root; /* as trust_find's */
    size_t max;       /* bytes */
    enum trust_reader reader;
};

/* Reads a regular file whole. 0; or a negative errno and a sentence in `why`. */
int trust_read(const char *path, const struct trust_rule *rule, struct trust_text *ret_text,
               char why[TRUST_WHY_SIZE]);
#endif
