/* SPDX-License-Identifier: MIT
 * core/timing.h: the arithmetic of PROTOCOL.md, "Time", whole. All values in ms.
 *
 *   B = C + A + W + G + M   the budget        L = min(B, lease)   the lease
 *   M = 1 % of L, at least 250 ms             L < B: renewed every L/3, and then
 *   L/3 + C + K + C <= L - G - M must hold    D = t + X - M for a request sent at t that asks for X
 *
 * M depends on L and B on M: B is the fixed point where the whole budget is one lease. Where
 * progress may extend a run, W in B is max_runtime. */
#ifndef ROTA_CORE_TIMING_H
#define ROTA_CORE_TIMING_H
#include "base/time.h"

/* A: for spawn, exec and loading of the plugin. */
#define TIMING_START_MS 1000
/* The least margin between our clock's lease and the server's. */
#define TIMING_MARGIN_MIN_MS 250

struct timing {
    /* given */
    int64_t worst_case_ms;      /* W, 100 ... 31 d */
    int64_t max_runtime_ms;     /* overrun = "extend": progress moves the end up to this after the
                                   start, worst_case ... 31 d; 0: a run ends at its worst case */
    int64_t stop_grace_ms;      /* G */
    int64_t command_timeout_ms; /* C */
    int64_t connect_timeout_ms; /* K */
    int64_t lease_cap_ms;       /* `lease` of the configuration */
    /* derived by timing_derive() */
    int64_t margin_ms; /* M */
    int64_t budget_ms; /* B */
    int64_t lease_ms;  /* L */
    int64_t renew_ms;  /* L/3; 0: never renewed, L = B */
};

/* Fills the derived members from the given ones. 0, or -ERANGE where one lost renewal cannot be
 * survived; then *ret_smallest_ms is the smallest `lease` (rounded up to whole seconds) that
 * passes, or B where that is smaller. The derived members are filled in both cases. */
int timing_derive(struct timing *t, int64_t *ret_smallest_ms);

/* L/3 + C + K + C: when one failed renewal and its repeat are over. */
int64_t timing_repeat_end_ms(const struct timing *t);
/* L - G - M: when the job must be asked to stop, where the lease is never confirmed anew. */
int64_t timing_must_stop_ms(const struct timing *t);

/* D of a request sent at `sent` that asked for `ttl_ms`. */
struct boot timing_deadline(const struct timing *t, struct boot sent, int64_t ttl_ms);

/* What a renewal sent at `now` asks for: min(L, t0 + B - now), t0 the sending of the acquire.
 * <= 0: none. */
int64_t timing_renewal_ttl(const struct timing *t, struct boot acquired_sent, struct boot now);

/* How many renewals a run of so long sends; 0 where it is never renewed. */
int64_t timing_renewals(const struct timing *t, int64_t ran_ms);

/* lease + splay + 1 s: promise 2's bound, and `fresh` of acquire. */
int64_t timing_takeover_ms(const struct timing *t, int64_t splay_ms);
#endif
