/* SPDX-License-Identifier: MIT
 * core/fingerprint.h: a short name for a configuration: equal settings, equal name on every device
 * and every build. FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923), xor-folded to 32, written as 8 hex
 * digits. It tells configurations apart for people and scripts; it is no protection against
 * forgery. */
#ifndef ROTA_CORE_FINGERPRINT_H
#define ROTA_CORE_FINGERPRINT_H
#include <stdint.h>

#define FINGERPRINT_SIZE 9

struct fingerprint {
    uint64_t hash;
};

void fingerprint_init(struct fingerprint *f);
/* Adds one setting; both texts are added with their ends, so "ab","c" and "a","bc" differ. */
void fingerprint_text(struct fingerprint *f, const char *key, const char *value);
/* The same as fingerprint_text with the number in decimal. */
void fingerprint_integer(struct fingerprint *f, const char *key, int64_t value);
void fingerprint_final(const struct fingerprint *f, char ret_hex[FINGERPRINT_SIZE]);
#endif
