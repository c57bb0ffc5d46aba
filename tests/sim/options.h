/* SPDX-License-Identifier: MIT
 * sim/options.h: what is to be played. */
#ifndef ROTA_SIM_OPTIONS_H
#define ROTA_SIM_OPTIONS_H
#include "plan.h"
#include <stdio.h>

struct options {
    uint64_t seed;
    unsigned seeds;    /* so many, from `seed` on */
    int64_t fresh_ms;  /* instead, as many as take this CPU time */
    const char *keep;  /* file of the seeds that failed: played first, until they pass; or NULL */
    unsigned devices;  /* 0: as the seed says */
    int64_t length_ms; /* the same */
    bool without[MISHAP_COUNT];
    bool trace;
    bool table;         /* of turns, instead of plays */
    unsigned reconnect; /* so many devices that come back, instead of plays; 0: no */
    bool first;         /* the first failure is enough: nothing is left out of it */
    bool quorum;        /* seeds without one are left out */
    bool thorough;      /* what never happened is a failure */
};

/* 0, or -EINVAL where the command line is wrong, which was said. */
int options_parse(struct options *o, int argc, char **argv);
/* The plan of a seed, less what the options take away. */
void options_plan(const struct options *o, uint64_t seed, struct plan *ret_plan);
/* The command line that plays this seed again. */
void options_print(const struct options *o, uint64_t seed, FILE *to);
#endif
