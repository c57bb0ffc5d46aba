/* SPDX-License-Identifier: MIT
 * differ/sides_compare.h: what must be the same on both sides. The first difference is kept, as a
 * sentence part, in `difference`. */
#ifndef ROTA_TESTS_SIDES_COMPARE_H
#define ROTA_TESTS_SIDES_COMPARE_H
#include "redis/differ/sides.h"

/* They differ in `what`. */
void sides_compare_failed(struct sides *s, const char *what, const char *memory, const char *redis);
/* Every field that the verb's answer has. */
void sides_compare_replies(struct sides *s, enum store_verb verb, const struct store_reply *memory,
                           const struct store_reply *redis);
/* Each claim and lock in Redis, and their times left, with the records. */
void sides_compare_records(struct sides *s);
#endif
