/* SPDX-License-Identifier: MIT
 * unit.h: what every unit test includes: cmocka with the headers that it wants before it, and
 * random numbers from a seed that is printed and can be set by the environment's ROTA_SEED. */
#ifndef ROTA_TESTS_UNIT_H
#define ROTA_TESTS_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct unit_random {
    uint64_t state;
};

static inline struct unit_random unit_random_begin(void)
{
    const char *given = getenv("ROTA_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    printf("ROTA_SEED=%llu\n", (unsigned long long)seed);
    return (struct unit_random){ seed };
}

/* Uniform over 64 bits: SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t unit_random_next(struct unit_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in least ... greatest. */
static inline int64_t unit_random_in(struct unit_random *r, int64_t least, int64_t greatest)
{
    uint64_t range = (uint64_t)greatest - (uint64_t)least + 1;
    uint64_t step = range ? unit_random_next(r) % range : unit_random_next(r);

    return (int64_t)((uint64_t)least + step);
}
#endif
