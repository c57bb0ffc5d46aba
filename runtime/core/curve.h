/* SPDX-License-Identifier: MIT
 * core/curve.h: the two curves of turn-taking, in whole numbers: growth by e, and gaps that keep no
 * memory. Both are right to 1 in 10,000, and never fall where they should rise. */
#ifndef ROTA_CORE_CURVE_H
#define ROTA_CORE_CURVE_H
#include <stdint.h>

/* A fraction of curve_grow_ms()'s exponent. */
#define CURVE_ONE (INT64_C(1) << 32)

/* ms x e^(x / CURVE_ONE), rounded down; INT64_MAX where it is more than that. ms in 0 ... 2^34, x
 * >= 0.
 */
int64_t curve_grow_ms(int64_t ms, int64_t x);
/* A gap of an exponential distribution with that mean, from 0 to 22 means. `random` is uniform over
 * 64 bits; mean_ms in 0 ... 2^38. */
int64_t curve_gap_ms(int64_t mean_ms, uint64_t random);
#endif
