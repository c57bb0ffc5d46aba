/* SPDX-License-Identifier: MIT */
#include "core/cost.h"

#include "core/fleet_hello.h"

/* Bytes on a connection that is there, as tests/integration/test_bytes.py measures them. */
#define PASS_BYTES 650
#define RUN_BYTES 1490 /* acquire, finish, and the fleet's index */
#define RENEWAL_BYTES 450
#define HELLO_BYTES 530
#define TOLD_BYTES 35 /* a job's name in the question, its newest turn in the answer */
#define KEEPALIVE_BYTES 104

/* And those of a connection that is made for them: TCP's begin and end, and the login. */
#define CONNECT_BYTES 510
/* Over TLS 1.3 a handshake with certificates of 2 kB, as long as a public authority's. It is a
 * whole one, since Redis forgets a session after 5 minutes. */
#define HANDSHAKE_BYTES 3760
/* And two records an exchange, each of which adds 22. */
#define RECORDS_BYTES 44

/* So many of a large fleet ask for a turn on behalf of all: 9 at once, some later (docs/turns.md).
 */
#define ASKING 13
/* Those of them that watch the run. */
#define WATCHING 2

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t longest_run_ms(const struct timing *t)
{
    return t->max_runtime_ms > 0 ? t->max_runtime_ms : t->worst_case_ms;
}

/* How often one who is no watcher asks again: after 2 leases, 4 more, 8 more, and not at all where
 * the lease is not renewed. */
static int64_t asks_again(int64_t leases)
{
    int64_t times = 0;

    for (int64_t after = 2; leases > 0 && times < 20; after = 2 * after + 2, times++)
        if (after > leases)
            return times + 1;
    return times;
}

/* Of one turn that one device runs under a lock. */
static int64_t passes_of_turn(const struct cost_terms *terms, const struct timing *t)
{
    int64_t refused = terms->turns_all ? terms->fleet : least(terms->fleet, ASKING);
    int64_t leases = t->renew_ms > 0 ? longest_run_ms(t) / t->lease_ms : 0;
    int64_t watching;

    refused--;
    watching = least(refused, WATCHING);
    return refused + watching * (leases + 1) + (refused - watching) * asks_again(leases);
}

void cost_add_job(struct cost *sum, const struct cost_terms *terms, const struct job_spec *spec,
                  int64_t turns)
{
    const struct timing *t = &spec->timing;
    int64_t run_ms = longest_run_ms(t), passes;

    if (spec->lock == LOCK_NONE)
        return;
    turns =
        least(turns, COST_MONTH_MS / run_ms + 1); /* a run that takes longer covers the others */
    if (spec->scope == SCOPE_DEVICE) {
        turns *= terms->fleet;
        passes = terms->fleet > spec->concurrency; /* once in the queue */
    } else {
        passes = passes_of_turn(terms, t);
    }
    sum->runs += turns;
    sum->passes += turns * passes;
    sum->renewals += turns * timing_renewals(t, run_ms);
}

void cost_add_hello(struct cost *sum, const struct cost_terms *terms, int64_t jobs)
{
    int64_t mean_ms = fleet_hello_mean_ms(terms->checkin_ms, terms->fleet);
    int64_t hellos = COST_MONTH_MS / mean_ms * terms->fleet;

    sum->hellos += hellos;
    sum->told += hellos * jobs;
}

/* Each of them needs a connection first. */
static int64_t questions(const struct cost *cost)
{
    return cost->passes + cost->runs + cost->hellos;
}

/* Between two questions of one device. */
static int64_t mean_gap_ms(const struct cost_terms *terms, const struct cost *all)
{
    return COST_MONTH_MS * terms->fleet / (questions(all) + 1);
}

bool cost_keeps_connection(const struct cost_terms *terms, const struct cost *all)
{
    return mean_gap_ms(terms, all) <= terms->idle_timeout_ms;
}

static int64_t keepalives(const struct cost_terms *terms, const struct cost *all)
{
    int64_t pings = terms->keepalive_ms > 0 ? mean_gap_ms(terms, all) / terms->keepalive_ms : 0;

    return terms->kept && all->hellos > 0 ? questions(all) * pings : 0;
}

int64_t cost_bytes(const struct cost_terms *terms, const struct cost *part)
{
    int64_t exchanges = questions(part) + 2 * part->runs + part->renewals;
    int64_t bytes = part->passes * PASS_BYTES + part->runs * RUN_BYTES +
                    part->renewals * RENEWAL_BYTES + part->hellos * HELLO_BYTES +
                    part->told * TOLD_BYTES + keepalives(terms, part) * KEEPALIVE_BYTES;

    if (terms->tls)
        bytes += exchanges * RECORDS_BYTES;
    if (!terms->kept)
        bytes += questions(part) * (CONNECT_BYTES + (terms->tls ? HANDSHAKE_BYTES : 0));
    if (terms->servers > 0)
        bytes *= terms->servers;
    return bytes / terms->fleet;
}
