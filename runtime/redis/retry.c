/* SPDX-License-Identifier: MIT */
#include "redis/retry.h"

/* The first window where a person has to act: so much of the greatest one. */
#define SLOW_PART 4

void redis_retry_init(struct redis_retry *retry, int64_t min_ms, int64_t max_ms)
{
    *retry = (struct redis_retry){
        .backoff = { .min_ms = min_ms, .max_ms = max_ms },
        .min_ms = min_ms,
        .max_ms = max_ms,
        .up_since = BOOT_NEVER,
    };
}

void redis_retry_up(struct redis_retry *retry, struct boot now)
{
    retry->up_since = now;
}

void redis_retry_ended(struct redis_retry *retry, enum fault class, struct boot now)
{
    if (retry->up_since.ms == BOOT_NEVER.ms)
        return;
    if (class == FAULT_LINK || boot_between(retry->up_since, now) > retry->max_ms)
        backoff_reset(&retry->backoff);
    retry->up_since = BOOT_NEVER;
}

static bool is_slow(enum fault class)
{
    return class == FAULT_OPERATOR || class == FAULT_ALIEN;
}

int64_t redis_retry_next_ms(struct redis_retry *retry, enum fault class, uint64_t random)
{
    int64_t slow_ms = retry->max_ms / SLOW_PART;

    retry->backoff.min_ms = is_slow(class) && slow_ms > retry->min_ms ? slow_ms : retry->min_ms;
    return backoff_next_ms(&retry->backoff, random);
}

int64_t redis_retry_window_ms(const struct redis_retry *retry)
{
    return backoff_window_ms(&retry->backoff);
}
