/* SPDX-License-Identifier: MIT
 * support/alone.h: a job on a bench whose turns this device may take alone, and a run of it that no
 * store but the device's own knows of. */
#ifndef ROTA_TESTS_ALONE_H
#define ROTA_TESTS_ALONE_H
#include "base/units.h"
#include "support/bench.h"

/* command_timeout + connect_timeout: what it takes to see that nobody answers. */
#define PATIENCE_MS (13 * SECOND_MS)

static inline struct job_spec alone_spec(void)
{
    struct job_spec spec = bench_short_spec();

    spec.scope = SCOPE_DEVICE;
    spec.concurrency = 1;
    spec.run_unreachable = true;
    return spec;
}

/* Sends the next request, to the store of this device alone or to the shared one. */
static inline void alone_send(struct bench *b, enum store_verb verb, bool local)
{
    bench_send(b, verb);
    assert_int_equal(b->fake.flying->local, local);
}

/* Nothing is sent; the turn is taken alone, and its worker has started. */
static inline void alone_run(struct bench *b)
{
    bench_to_question(b);
    bench_pass(b, PATIENCE_MS - 1);
    assert_false(b->fake.queued[0]->local);
    bench_pass(b, 1);
    alone_send(b, STORE_ACQUIRE, true);
    bench_grant(b, 1);
    assert_int_equal(b->fake.reports[REPORT_ALONE], 1);
    job_started(&b->job, b->now, b->now);
}

/* The run ends, and the store of this device has recorded it. */
static inline void alone_end(struct bench *b, int result)
{
    bench_return(b, result);
    alone_send(b, STORE_FINISH, true);
    bench_recorded(b, false);
}
#endif
