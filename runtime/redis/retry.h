/* SPDX-License-Identifier: MIT
 * redis/retry.h: how long a link waits before it connects again. Pure. */
#ifndef ROTA_REDIS_RETRY_H
#define ROTA_REDIS_RETRY_H
#include "base/time.h"
#include "core/backoff.h"
#include "redis/fault.h"

struct redis_retry {
    struct backoff backoff;
    int64_t min_ms, max_ms;
    struct boot up_since; /* BOOT_NEVER: it is not up */
};

void redis_retry_init(struct redis_retry *retry, int64_t min_ms, int64_t max_ms);
/* The connection serves. */
void redis_retry_up(struct redis_retry *retry, struct boot now);
/* It has ended. What it has served begins the windows anew; but where the server's own word ended
 * it, only if it had served for longer than the greatest window: a server that answers one command
 * and refuses the next is not asked ever so quickly. */
void redis_retry_ended(struct redis_retry *retry, enum fault class, struct boot now);
/* The delay before the next try; windows begin far up where a person has to act. `random` is
 * uniform over 64 bits. */
int64_t redis_retry_next_ms(struct redis_retry *retry, enum fault class, uint64_t random);
/* The window of that delay, for people. */
int64_t redis_retry_window_ms(const struct redis_retry *retry);
#endif
