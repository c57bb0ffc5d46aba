/* SPDX-License-Identifier: MIT
 *
 * Roundings go to the safe side: margins up, the renewal's instant down, so that a renewal is sent
 * a fraction of a millisecond early and a job is stopped a fraction early, never late. */
#include "core/timing.h"
#include "base/units.h"
#include <assert.h>
#include <errno.h>
#include <stdbool.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t margin_of(int64_t lease_ms)
{
    return larger(TIMING_MARGIN_MIN_MS, divide_up(lease_ms, 100));
}

/* C + A + W + G: the budget without its margin. */
static int64_t bare_budget(const struct timing *t)
{
    return t->command_timeout_ms + TIMING_START_MS + larger(t->worst_case_ms, t->max_runtime_ms) +
           t->stop_grace_ms;
}

/* The margin of a lease that is the whole budget: the least M with M >= 250 and M >= (F + M) / 100,
 * F the bare budget. The second says 99 M >= F. */
static int64_t margin_of_whole(int64_t bare_ms)
{
    return larger(TIMING_MARGIN_MIN_MS, divide_up(bare_ms, 99));
}

/* C + K + C: a renewal that is never answered, a new connection, the repeat. */
static int64_t repeat_ms(const struct timing *t)
{
    return t->command_timeout_ms + t->connect_timeout_ms + t->command_timeout_ms;
}

int64_t timing_repeat_end_ms(const struct timing *t)
{
    return t->lease_ms / 3 + repeat_ms(t);
}

int64_t timing_must_stop_ms(const struct timing *t)
{
    return t->lease_ms - t->stop_grace_ms - t->margin_ms;
}

static bool survives(const struct timing *t, int64_t lease_ms)
{
    return lease_ms / 3 + repeat_ms(t) <= lease_ms - t->stop_grace_ms - margin_of(lease_ms);
}

/* The smallest lease in whole seconds that survives one lost renewal. Solved for L in real numbers,
 * with each branch of the margin: L x 2/3 >= need + 250 and L x 197/300 >= need. Rounded down to
 * the second before it, that is at most two steps away: a second adds 656 ms to what is left. */
static int64_t smallest_renewed(const struct timing *t)
{
    int64_t need = repeat_ms(t) + t->stop_grace_ms;
    int64_t lease = larger((need + TIMING_MARGIN_MIN_MS) * 3 / 2, need * 300 / 197);

    lease -= lease % SECOND_MS;
    while (!survives(t, lease))
        lease += SECOND_MS;
    return lease;
}

int timing_derive(struct timing *t, int64_t *ret_smallest_ms)
{
    int64_t bare, whole;

    assert(t->worst_case_ms > 0 && t->stop_grace_ms >= 0 && t->command_timeout_ms > 0 &&
           t->connect_timeout_ms > 0 && t->lease_cap_ms > 0);
    bare = bare_budget(t);
    whole = bare + margin_of_whole(bare);
    if (whole <= t->lease_cap_ms) {
        t->margin_ms = whole - bare;
        t->budget_ms = whole;
        t->lease_ms = whole;
        t->renew_ms = 0;
    } else {
        /* Here B > L still: with F + M(L) <= L, that would be a smaller whole budget. */
        t->margin_ms = margin_of(t->lease_cap_ms);
        t->budget_ms = bare + t->margin_ms;
        t->lease_ms = t->lease_cap_ms;
        t->renew_ms = t->lease_cap_ms / 3;
    }
    if (t->lease_ms == t->budget_ms || survives(t, t->lease_ms))
        return 0;
    *ret_smallest_ms = smaller(smallest_renewed(t), whole);
    return -ERANGE;
}

struct boot timing_deadline(const struct timing *t, struct boot sent, int64_t ttl_ms)
{
    return boot_add(sent, ttl_ms - t->margin_ms);
}

int64_t timing_renewal_ttl(const struct timing *t, struct boot acquired_sent, struct boot now)
{
    struct boot end = boot_add(acquired_sent, t->budget_ms);

    return smaller(t->lease_ms, boot_between(now, end));
}

/* None at the end, nor at the begin. */
int64_t timing_renewals(const struct timing *t, int64_t ran_ms)
{
    return t->renew_ms > 0 && ran_ms > 0 ? (ran_ms - 1) / t->renew_ms : 0;
}

int64_t timing_takeover_ms(const struct timing *t, int64_t splay_ms)
{
    return t->lease_ms + splay_ms + SECOND_MS;
}
