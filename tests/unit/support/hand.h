/* SPDX-License-Identifier: MIT
 * support/hand.h: runs by hand on a bench. */
#ifndef ROTA_TESTS_HAND_H
#define ROTA_TESTS_HAND_H
#include "base/units.h"
#include "support/bench.h"

#define BRAVO "bravo:0123456789abcdef0123456789abcdef"
#define PATIENCE_MS (13 * SECOND_MS)

/* What rotad does for somebody who waits that long for an answer, which fake.by_hand then has. */
static inline enum job_obstacle hand_order(struct bench *b, enum lease_way way)
{
    const struct job_order order = { .way = way, .until = boot_add(b->now, PATIENCE_MS) };

    b->fake.by_hand = -2;
    return job_run_by_hand(&b->job, b->now, &order);
}

/* It is asked for. */
static inline void hand_begin(struct bench *b, enum lease_way way)
{
    assert_int_equal(hand_order(b, way), JOB_NO_OBSTACLE);
    assert_int_equal(b->job.state, JOB_ASKING);
    bench_send(b, STORE_ACQUIRE);
}

/* It is granted, and its worker has started. */
static inline void hand_start(struct bench *b, enum lease_way way)
{
    hand_begin(b, way);
    bench_pass(b, 10);
    bench_grant(b, 1);
    assert_int_equal(b->fake.by_hand, ACQUIRE_GRANTED);
    assert_int_equal(b->fake.request.first_ask, way == LEASE_BY_SCHEDULE);
    assert_int_equal(b->job.state, JOB_STARTING);
    job_started(&b->job, b->now, b->now);
}
#endif
