/* SPDX-License-Identifier: MIT
 *
 * A bin at coarseness 0 is a sixteenth of an octave: its number is the octave and the next four
 * bits of the run time. Each step of coarseness halves the numbers. */
#include "core/digest.h"
#include <string.h>

_Static_assert(sizeof(struct digest) <= 64, "a job remembers its run times in 64 bytes");

/* Of the run time in sixteenths of a millisecond, so that 1 ms has its four bits too. */
#define FRACTION_BITS 4
/* What a run counts at first: after four halvings nothing of it is left. */
#define RUN_WEIGHT 8
/* The coarsest that is ever needed has two octaves a bin: so many cover every run time. */
_Static_assert(32 / 2 <= DIGEST_BINS, "coarseness has an end");

static unsigned bin_of(uint32_t ran_ms)
{
    unsigned octave = 31 - (unsigned)__builtin_clz(ran_ms);
    uint64_t sixteenths = (uint64_t)ran_ms << FRACTION_BITS;

    return octave << FRACTION_BITS | ((unsigned)(sixteenths >> octave) & 15);
}

static void halve(struct digest *d)
{
    for (unsigned i = 0; i < DIGEST_BINS; i++)
        d->weights[i] /= 2;
}

static void end_period(struct digest *d)
{
    halve(d);
    memmove(d->longest_ms + 1, d->longest_ms, sizeof d->longest_ms - sizeof d->longest_ms[0]);
    d->longest_ms[0] = 0;
}

void digest_forget(struct digest *d, struct boot now)
{
    uint16_t period = (uint16_t)(now.ms / DIGEST_PERIOD_MS);

    for (unsigned i = 0; d->period < period && i < DIGEST_PERIODS; i++) {
        end_period(d);
        d->period++;
    }
    if (d->period < period)
        d->period = period;
    if (digest_longest_ms(d) == 0)
        *d = (struct digest){ .period = d->period }; /* as fine as a new one */
}

/* The window begins at `first` from now on, which leaves nothing of what counts outside; each
 * 1 << coarser bins are one. */
static void rebin(struct digest *d, unsigned first, unsigned coarser)
{
    struct digest from = *d;

    memset(d->weights, 0, sizeof d->weights);
    for (unsigned i = 0; i < DIGEST_BINS; i++)
        if (from.weights[i] > 0)
            d->weights[((from.first + i) >> coarser) - first] += from.weights[i];
    d->first = (uint16_t)first;
}

static void make_coarser(struct digest *d)
{
    /* Two bins that are nearly full would be too much for one. */
    for (unsigned i = 0; i < DIGEST_BINS; i++)
        if (d->weights[i] > UINT16_MAX / 2)
            halve(d);
    rebin(d, d->first / 2u, 1);
    d->coarse++;
}

/* Whether one window covers that bin and all that count something; the lowest of them. */
static bool covers(const struct digest *d, unsigned bin, unsigned *ret_low)
{
    unsigned low = bin, high = bin;

    for (unsigned at = d->first; at < d->first + DIGEST_BINS + 0u; at++) {
        if (d->weights[at - d->first] == 0)
            continue;
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    if (high - low >= DIGEST_BINS)
        return false;
    *ret_low = low;
    return true;
}

/* The place in the window where that run time is counted. */
static unsigned place_of(struct digest *d, uint32_t ran_ms)
{
    unsigned bin = bin_of(ran_ms) >> d->coarse, low;

    while (!covers(d, bin, &low)) {
        make_coarser(d);
        bin /= 2;
    }
    if (bin < d->first || bin - d->first >= DIGEST_BINS)
        rebin(d, low, 0);
    return bin - d->first;
}

void digest_add(struct digest *d, int64_t ran_ms, struct boot now)
{
    uint32_t ran = ran_ms < 1 ? 1 : ran_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ran_ms;
    unsigned at;

    digest_forget(d, now);
    at = place_of(d, ran);
    if (d->weights[at] > UINT16_MAX - RUN_WEIGHT)
        halve(d);
    d->weights[at] += RUN_WEIGHT;
    if (ran > d->longest_ms[0])
        d->longest_ms[0] = ran;
}

int64_t digest_longest_ms(const struct digest *d)
{
    uint32_t longest = 0;

    for (unsigned i = 0; i < DIGEST_PERIODS; i++)
        longest = d->longest_ms[i] > longest ? d->longest_ms[i] : longest;
    return longest;
}

uint32_t digest_runs(const struct digest *d)
{
    uint32_t weight = 0;

    for (unsigned i = 0; i < DIGEST_BINS; i++)
        weight += d->weights[i];
    return weight / RUN_WEIGHT;
}
