/* SPDX-License-Identifier: MIT
 * core/cost.h: about how many bytes a device spends on the wire in a month of 30 days, both ways,
 * TCP over IPv4 counted whole. By the configuration alone: the fleet's size is assumed, all its
 * devices have the same jobs, nothing fails, and each run takes its worst case. */
#ifndef ROTA_CORE_COST_H
#define ROTA_CORE_COST_H
#include "base/units.h"
#include "core/spec.h"

#define COST_MONTH_MS (30 * DAY_MS)

/* What is the same for all jobs of a device. */
struct cost_terms {
    uint32_t fleet; /* devices, 1 ... 1,000,000 */
    bool turns_all; /* every device asks for each turn */
    bool tls;
    int64_t checkin_ms; /* between two hellos; 0: by the fleet's size */
    int64_t idle_timeout_ms;
    int64_t keepalive_ms; /* 0: off */
    uint32_t servers;     /* of a quorum, each of which is asked; 0: one server */
    bool kept;            /* each question finds a connection: cost_keeps_connection() */
};

/* What the whole fleet does in a month. */
struct cost {
    int64_t passes; /* questions that are refused */
    int64_t runs;
    int64_t renewals;
    int64_t hellos;
    int64_t told; /* jobs, in all of these hellos */
};

/* Adds a job's part to `sum`, where so many of its turns fall due in the month. */
void cost_add_job(struct cost *sum, const struct cost_terms *terms, const struct job_spec *spec,
                  int64_t turns);
/* Adds the hellos, each of which tells of so many jobs. */
void cost_add_hello(struct cost *sum, const struct cost_terms *terms, int64_t jobs);
/* Whether a device that does its share of all this keeps its connection, as a rule. */
bool cost_keeps_connection(const struct cost_terms *terms, const struct cost *all);
/* One device's bytes for its share of `part`. Where it holds the hellos, for all that it does: then
 * with those of TCP keepalive on a connection that is kept. */
int64_t cost_bytes(const struct cost_terms *terms, const struct cost *part);
#endif
