/* SPDX-License-Identifier: MIT */
#include "core/digest.h"

/* The lower edge of a bin, in ms, rounded down. The one above the last has one too. */
static uint64_t edge_ms(unsigned bin, unsigned coarse)
{
    unsigned fine = bin << coarse; /* octave and four bits, as digest.c numbers them */

    return (UINT64_C(16) + fine % 16) << fine / 16 >> 4;
}

/* Of all values between both edges it is the one whose error, as a part of what is right, is
 * smallest at worst. Neither is below 1, or above 2^32. */
static int64_t middle_of(uint64_t low, uint64_t high)
{
    return (int64_t)(low + (high - low) * low / (low + high));
}

/* The run time that `percent` of all runs do not exceed. */
static int64_t quantile(const struct digest *d, unsigned percent)
{
    uint32_t all = 0, below = 0;
    unsigned i = 0;

    for (unsigned k = 0; k < DIGEST_BINS; k++)
        all += d->weights[k];
    for (; i < DIGEST_BINS - 1; i++) {
        below += d->weights[i];
        if (below > 0 && below * UINT64_C(100) >= all * (uint64_t)percent)
            break;
    }
    return middle_of(edge_ms(d->first + i, d->coarse), edge_ms(d->first + i + 1, d->coarse));
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct digest_summary digest_read(const struct digest *d, struct boot now)
{
    struct digest left = *d;
    int64_t longest;

    digest_forget(&left, now);
    longest = digest_longest_ms(&left);
    if (longest == 0)
        return (struct digest_summary){ .runs = 0 };
    return (struct digest_summary){
        .median_ms = smaller(quantile(&left, 50), longest),
        .p95_ms = smaller(quantile(&left, 95), longest),
        .longest_ms = longest,
        .runs = digest_runs(&left),
    };
}
