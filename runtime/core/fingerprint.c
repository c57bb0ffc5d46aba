/* SPDX-License-Identifier: MIT */
#include "core/fingerprint.h"
#include <inttypes.h>
#include <stdio.h>

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x00000100000001b3)

/* Adds the text and the NUL at its end. */
static void add(struct fingerprint *f, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    do
        f->hash = (f->hash ^ *p) * FNV_PRIME;
    while (*p++ != '\0');
}

void fingerprint_init(struct fingerprint *f)
{
    f->hash = FNV_BASIS;
}

void fingerprint_text(struct fingerprint *f, const char *key, const char *value)
{
    add(f, key);
    add(f, value);
}

void fingerprint_integer(struct fingerprint *f, const char *key, int64_t value)
{
    char digits[sizeof("-9223372036854775808")];

    snprintf(digits, sizeof(digits), "%" PRId64, value);
    fingerprint_text(f, key, digits);
}

void fingerprint_final(const struct fingerprint *f, char ret_hex[FINGERPRINT_SIZE])
{
    uint32_t folded = (uint32_t)(f->hash >> 32 ^ f->hash);

    snprintf(ret_hex, FINGERPRINT_SIZE, "%08" PRIx32, folded);
}
