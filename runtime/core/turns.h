/* SPDX-License-Identifier: MIT
 * core/turns.h: when, after its due instant, this device asks for a turn (PROTOCOL.md, "Turns
 * without a crowd"). The fleet is spread over s = splay x min(1, (fleet - 1) / 5): a fleet of one
 * asks at once. */
#ifndef ROTA_CORE_TURNS_H
#define ROTA_CORE_TURNS_H
#include <stdint.h>

/* ms after the due instant; `random` is uniform over 64 bits. fleet >= 1. */
int64_t turns_delay_ms(uint32_t fleet, int64_t splay_ms, uint64_t random);
/* ms from now until one who was refused `held` asks again, -1: not at all. `place` is its place
 * among the watchers (0: not known, treated as the first), `left_ms` the lock's time left (-1: no
 * expiry), `lease_ms` of the job, `renewed` whether its leases are renewed, `asks` how often this
 * one was refused before (0 ...). */
int64_t turns_watch_ms(uint32_t place, int64_t left_ms, int64_t lease_ms, int renewed,
                       uint32_t asks);
#endif
