/* SPDX-License-Identifier: MIT
 * sim/chance.h: random numbers that a seed repeats on every machine: SplitMix64 (Steele, Lea, Flood
 * 2014). Each thing that is left to chance has a stream of its own, so that leaving one kind of
 * mishap out moves none of the others. In an expression there is one at most: which of two comes
 * first is the compiler's choice. */
#ifndef ROTA_SIM_CHANCE_H
#define ROTA_SIM_CHANCE_H
#include <stdbool.h>
#include <stdint.h>

struct chance {
    uint64_t state;
};

static inline uint64_t chance_next(struct chance *c)
{
    uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* The stream number `stream` of a seed. */
static inline struct chance chance_stream(uint64_t seed, uint64_t stream)
{
    struct chance c = { seed * UINT64_C(0xd1342543de82ef95) + stream };

    return (struct chance){ chance_next(&c) };
}

/* Uniform in least ... most; least <= most. */
static inline int64_t chance_in(struct chance *c, int64_t least, int64_t most)
{
    return least + (int64_t)(chance_next(c) % ((uint64_t)(most - least) + 1));
}

static inline bool chance_of(struct chance *c, unsigned of_10000)
{
    return of_10000 > 0 && chance_in(c, 0, 9999) < of_10000;
}
#endif
