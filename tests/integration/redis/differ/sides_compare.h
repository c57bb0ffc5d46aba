/* SPDX-License-Identifier: MIT
 * differ/sides_compare.h: what must be the same on both sides. The first difference is kept, as a
 * sentence part, in `difference`. */
#ifndef ROTA_TESTS_SIDES_COMPARE_H
#define ROTA_TESTS_SIDES_COMPARE_H
#include "redis/differ/sides.h"

/* They differ in `what`. */
void sides_compare_failed(struct sides *s, const char *what, const char *memory, const char *redis);
void sides_compare_text(struct sides *s, const char *what, const char *memory, const char *redis);
void sides_compare_number(struct sides *s, const char *what, int64_t memory, int64_t redis);
/* A key's time left: PTTL's answer, which is -2 where there is no key. */
void sides_compare_end(struct sides *s, const char *what, struct wall end, const redisReply *pttl);
/* Every field that the verb's answer has. */
void sides_compare_replies(struct sides *s, enum store_verb verb, const struct store_reply *memory,
                           const struct store_reply *redis);
/* Every key in Redis, and its time left, with what is kept in memory. */
void sides_compare_records(struct sides *s);
/* The parts of it: first what is sent, then what is done with the replies. */
void sides_compare_send_seats(struct sides *s, size_t job);
void sides_compare_seats(struct sides *s, size_t job);
void sides_compare_send_fleet(struct sides *s);
void sides_compare_fleet(struct sides *s);
/* The next reply. The caller frees it. */
redisReply *sides_compare_next(struct sides *s);
/* "" where it is no text. */
const char *sides_compare_text_of(const redisReply *element);
/* The claim is looked at, so one that had expired is gone. */
void sides_compare_claim_seen(struct sides *s, size_t job);
#endif
