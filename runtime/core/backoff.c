/* SPDX-License-Identifier: MIT */
#include "core/backoff.h"
#include <assert.h>

int64_t backoff_window_ms(const struct backoff *b)
{
    int64_t window = b->min_ms;

    if (b->failures == 0)
        return 0;
    for (uint32_t i = 1; i < b->failures && window < b->max_ms; i++)
        if (__builtin_mul_overflow(window, 2, &window))
            return b->max_ms;
    return window < b->max_ms ? window : b->max_ms;
}

int64_t backoff_next_ms(struct backoff *b, uint64_t random)
{
    assert(b->min_ms > 0 && b->max_ms > 0);
    if (b->failures < UINT32_MAX)
        b->failures++;
    /* The remainder favours small values by less than window / 2^64. */
    return (int64_t)(random % (uint64_t)backoff_window_ms(b));
}

void backoff_reset(struct backoff *b)
{
    b->failures = 0;
}
