/* SPDX-License-Identifier: MIT
 * core/backoff.h: growing windows with full jitter, so that no fleet comes back all at once. */
#ifndef ROTA_CORE_BACKOFF_H
#define ROTA_CORE_BACKOFF_H
#include <stdint.h>

struct backoff {
    int64_t min_ms, max_ms; /* least and greatest window */
    uint32_t failures;      /* in a row */
};

/* Counts a failure and gives the delay before the next try: random below min x 2^(failures - 1), at
 * most max. `random` is uniform over 64 bits. */
int64_t backoff_next_ms(struct backoff *b, uint64_t random);
/* The present window in ms, for people: the next try is within it. */
int64_t backoff_window_ms(const struct backoff *b);
void backoff_reset(struct backoff *b);
#endif
