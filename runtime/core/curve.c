/* SPDX-License-Identifier: MIT */
#include "core/curve.h"

/* 2^(i / STEPS), with POWER_BITS behind the point. */
#define STEPS_BITS 5
#define STEPS (1 << STEPS_BITS)
#define POWER_BITS 29
/* Steps of a straight line between: off by (ln 2 / STEPS)^2 / 8, 1 in 17,000. */
static const uint32_t powers[STEPS + 1] = {
    0x20000000, 0x20b361a6, 0x216ab0da, 0x222603a0, 0x22e57079, 0x23a90e63, 0x2470f4dd,
    0x253d3bea, 0x260dfc14, 0x26e34e6e, 0x27bd4c98, 0x289c10c1, 0x297fb5aa, 0x2a6856ad,
    0x2b560fbb, 0x2c48fd60, 0x2d413ccd, 0x2e3eebd2, 0x2f4228e8, 0x304b1333, 0x3159ca84,
    0x326e6f62, 0x33892305, 0x34aa0764, 0x35d13f33, 0x36feede6, 0x383337bb, 0x396e41ba,
    0x3ab031ba, 0x3bf92e67, 0x3d495f45, 0x3ea0ecb7, 0x40000000,
};

/* log2(e) and ln(2), with so many bits behind the point. */
#define LOG2_E 24204406
#define LOG2_E_BITS 24
#define LN_2 726817
#define LN_2_BITS 20
/* e^44 is more than 2^63. */
#define EXPONENT_MAX (44 * CURVE_ONE)

/* 2^(fraction / 2^32), in 1 ... 2, with POWER_BITS. */
static uint64_t power_of_two(uint32_t fraction)
{
    uint32_t i = fraction >> (32 - STEPS_BITS);
    uint64_t rest = fraction & (UINT32_MAX >> STEPS_BITS);

    return powers[i] + ((powers[i + 1] - powers[i]) * rest >> (32 - STEPS_BITS));
}

int64_t curve_grow_ms(int64_t ms, int64_t x)
{
    int64_t shift;
    uint64_t exponent, grown;

    if (ms == 0)
        return 0;
    if (x >= EXPONENT_MAX)
        return INT64_MAX;
    exponent = ((uint64_t)x * LOG2_E) >> LOG2_E_BITS;
    grown = (uint64_t)ms * power_of_two((uint32_t)exponent);
    shift = POWER_BITS - (int64_t)(exponent >> 32);
    if (shift >= 0)
        return (int64_t)(grown >> shift);
    return grown > (uint64_t)INT64_MAX >> -shift ? INT64_MAX : (int64_t)(grown << -shift);
}

/* log2(n) with LN_2_BITS behind the point; n > 0. Squaring a number in 1 ... 2 shifts its logarithm
 * by one bit. */
static int64_t log2_of(uint64_t n)
{
    int whole = 63 - __builtin_clzll(n);
    uint64_t m = whole > 31 ? n >> (whole - 31) : n << (31 - whole); /* 31 bits behind the point */
    int64_t bits = whole;

    for (int i = 0; i < LN_2_BITS; i++) {
        m = m * m >> 31;
        bits <<= 1;
        if (m >> 32) {
            m >>= 1;
            bits |= 1;
        }
    }
    return bits;
}

int64_t curve_gap_ms(int64_t mean_ms, uint64_t random)
{
    int64_t u = log2_of((random >> 32) + 1); /* 0 ... 32: of 2^32 x u, u in 0 ... 1 */
    int64_t minus_ln = ((INT64_C(32) << LN_2_BITS) - u) * LN_2 >> LN_2_BITS;

    return mean_ms * minus_ln >> LN_2_BITS;
}
