/* SPDX-License-Identifier: MIT
 * supervisor/check_cost.h: what rotad --check says of bytes on the wire (core/cost.h): of a device
 * that is alone, and of one in a large fleet, since how many there are is known online only. */
#ifndef ROTA_SUPERVISOR_CHECK_COST_H
#define ROTA_SUPERVISOR_CHECK_COST_H
#include "config/config.h"
#include "core/cost.h"

/* The sizes of fleet that are spoken of. */
#define CHECK_COST_FLEETS 2

struct check_cost {
    bool shown; /* false: nothing goes over a network, and nothing is printed */
    struct wall now;
    struct cost_terms terms[CHECK_COST_FLEETS];
    struct cost all[CHECK_COST_FLEETS]; /* hello, and the jobs that this device runs */
};

void check_cost_begin(struct check_cost *cost, const struct config *c, struct wall now);
/* The job's line to stdout; none where this device does not run it. */
void check_cost_print_job(const struct check_cost *cost, const struct job_config *job);
/* The line of all of it. */
void check_cost_print_all(const struct check_cost *cost);
#endif
