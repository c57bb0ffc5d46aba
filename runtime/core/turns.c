/* SPDX-License-Identifier: MIT */
#include "core/turns.h"

/* The first two that are refused watch the holder (DESIGN section 6). */
#define TURNS_WATCHERS 2
/* From this size on the whole splay is used. */
#define TURNS_SPREAD_FLEET 6
/* 2^20 leases of 1 s are 12 days. */
#define TURNS_DOUBLINGS_MAX 20

int64_t turns_delay_ms(uint32_t fleet, int64_t splay_ms, uint64_t random)
{
    int64_t spread = splay_ms;

    if (fleet < TURNS_SPREAD_FLEET)
        spread = splay_ms / (TURNS_SPREAD_FLEET - 1) * (int64_t)(fleet - 1);
    if (spread <= 0)
        return 0;
    return (int64_t)(random % (uint64_t)spread);
}

int64_t turns_watch_ms(uint32_t place, int64_t left_ms, int64_t lease_ms, int renewed,
                       uint32_t asks)
{
    if (left_ms < 0) /* a foreign holder without expiry: PROTOCOL rule 13 */
        return lease_ms;
    if (place <= TURNS_WATCHERS)
        return left_ms + 1;
    if (!renewed)
        return -1;
    if (asks > TURNS_DOUBLINGS_MAX - 1)
        asks = TURNS_DOUBLINGS_MAX - 1;
    return lease_ms << (asks + 1);
}
