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

/* Reads a regular file of at most `max` bytes whole. `secret`: its group and others may not even
 * read it. 0; or a negative errno and a sentence in `why`. */
int trust_read(const char *path, bool secret, size_t max, struct trust_text *ret_text,
               char why[TRUST_WHY_SIZE]);
#endif
