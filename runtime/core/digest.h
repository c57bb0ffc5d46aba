/* SPDX-License-Identifier: MIT
 * core/digest.h: how long runs took, of the last weeks, in 64 bytes.
 *
 * Run times are counted in DIGEST_BINS bins of logarithmic width, which are made coarser where the
 * times differ by more than they cover. A median or 95 % read from them is off by at most 1 ms and
 *   3 %   while the longest of them is at most twice the shortest
 *   6 %   4 times             20 %  500 times
 *   12 %  20 times            34 %  500,000 times; beyond that 60 %
 * of a run that has this rank, counting all since there was last none. The longest is exact.
 *
 * The past is forgotten by periods of DIGEST_PERIOD_MS, on a grid from the device's boot: at each
 * one's end what a run counts is halved, and after four of them the run is forgotten, its length
 * too. So a run is remembered for 30 to 40 days. Where a bin is full all counts are halved as well:
 * of a job that runs more often than about every 3 min the last 8,000 runs count most.
 *
 * Pure; time is the boot clock's, which no setting of a clock moves. One that goes back forgets
 * nothing. */
#ifndef ROTA_CORE_DIGEST_H
#define ROTA_CORE_DIGEST_H
#include "base/time.h"

#define DIGEST_BINS 20
#define DIGEST_PERIODS 4
#define DIGEST_PERIOD_MS INT64_C(864000000) /* 10 days */

/* Zeroed at first: no run. */
struct digest {
    uint32_t longest_ms[DIGEST_PERIODS]; /* of each period, the present one first; 0: no run */
    uint16_t weights[DIGEST_BINS];
    uint16_t first;  /* the number of the lowest bin, at this coarseness */
    uint16_t period; /* the present one */
    uint8_t coarse;  /* so often were two bins each made one */
};

/* What people are shown. All 0 where no run is remembered. */
struct digest_summary {
    int64_t median_ms, p95_ms, longest_ms; /* each at least the one before */
    uint32_t runs;                         /* about so many, the older ones for less */
};

/* A run took so long: from 1 ms to 49 days; what is beyond counts as that. */
void digest_add(struct digest *d, int64_t ran_ms, struct boot now);
/* Forgets what is too old by then; digest_add() and digest_read() have done so. */
void digest_forget(struct digest *d, struct boot now);
/* As it was when something was last added or forgotten. */
int64_t digest_longest_ms(const struct digest *d);
uint32_t digest_runs(const struct digest *d);
/* digest_read.c: only what people ask for needs it. */
struct digest_summary digest_read(const struct digest *d, struct boot now);
#endif
