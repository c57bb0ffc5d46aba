/* SPDX-License-Identifier: MIT
 * core/turns.h: whether, and when after its due instant, this device asks for a turn (PROTOCOL.md,
 * "Turns without a crowd"). What asks within the splay is spread over s = splay x min(1,
 * (fleet - 1) / 5): a fleet of one asks at once. */
#ifndef ROTA_CORE_TURNS_H
#define ROTA_CORE_TURNS_H
#include "core/spec.h"
#include <stdint.h>

/* The first two that are refused watch the holder (DESIGN section 6). */
#define TURNS_WATCHERS 2

/* How many devices a turn is to be shared out among, by what hello tells (core/store.h): an
 * estimate from a handful of hellos is chance, and those that have just started are in none yet. */
uint32_t turns_fleet(uint32_t estimate, uint32_t hellos, uint32_t boots);
/* ms after the due instant, where every device asks; `random` is uniform over 64 bits. fleet >= 1.
 */
int64_t turns_delay_ms(uint32_t fleet, int64_t splay_ms, uint64_t random);
/* The same where a few ask for all: by a rank that this device draws for each turn, 9 at once and
 * the others later and later, in case all those are gone. -1: not before the turn after it, which
 * is due next_ms later. */
int64_t turns_ranked_ms(uint32_t fleet, int64_t splay_ms, int64_t next_ms, uint64_t random);
/* Device scope: over how many ms after the due instant the devices' first questions are spread: the
 * splay, or where the fleet has no seat for each, the time in which the seats serve it, if every
 * run is a worst case; at most half a period. fleet >= 1. */
int64_t turns_seats_spread_ms(uint32_t fleet, const struct job_spec *spec);
/* Uniform in 0 ... spread_ms - 1; 0 where there is no spread. */
int64_t turns_uniform_ms(int64_t spread_ms, uint64_t random);
/* ms from now until one who was refused `held` asks again, -1: not at all. `place` is its place
 * among the watchers (0: not known, treated as the first), `left_ms` the lock's time left (-1: no
 * expiry), `lease_ms` of the job, `renewed` whether its leases are renewed, `asks` how often this
 * one was refused before (0 ...). */
int64_t turns_watch_ms(uint32_t place, int64_t left_ms, int64_t lease_ms, int renewed,
                       uint32_t asks);
#endif
