/* SPDX-License-Identifier: MIT
 * core/fleet_hello.h: what a device says to its fleet now and then, and what it is told: how many
 * there are, what was done, and which configurations are in use (PROTOCOL.md, "Turns without a
 * crowd"). fleet.c asks and repeats; this says what, and what follows. */
#ifndef ROTA_CORE_FLEET_HELLO_H
#define ROTA_CORE_FLEET_HELLO_H
#include "core/port.h"

struct fleet;

struct fleet_hello {
    bool said;    /* one was answered since the start */
    bool sliced;  /* what is said next goes on with the last */
    bool news;    /* the device has another configuration since the last */
    bool refused; /* an error reply: the time is asked for alone, for as long as it is not known */
    bool retried; /* since then, when a job was answered */
    bool twin;    /* another machine says hello by this one's name */
    bool jobs_moved;  /* since the last was composed: what it tells of jobs is of no use */
    size_t told;      /* jobs of the slices before this one */
    int64_t mean_ms;  /* of the gap that ends with the next; 0: none before it */
    struct boot next; /* the gap's end */
    struct store_call index_call;
    bool index_out;
};

void fleet_hello_init(struct fleet *f);
void fleet_hello_done(struct fleet *f);
/* Fills in the next hello, or the next slice of it. */
void fleet_hello_compose(struct fleet *f, struct store_request *ret_request);
/* Before its server time is taken as a sample: how large the fleet is. */
void fleet_hello_size(struct fleet *f, const struct store_reply *reply);
/* After that: all else. Returns when the next is to be said; a time that has come: at once. */
struct boot fleet_hello_heard(struct fleet *f, const struct store_reply *reply);
/* This one was not heard: when the next is to be said. */
struct boot fleet_hello_later(struct fleet *f, struct boot now);
/* Between two hellos of one device: `checkin_ms`, or where that is 0, by the fleet's size. */
int64_t fleet_hello_mean_ms(int64_t checkin_ms, uint32_t devices);
/* So long after a hello with it a configuration is in use, by what this device is configured to:
 * the others, as a rule, are so too. */
int64_t fleet_hello_used_ms(int64_t checkin_ms);
/* The longest of the device's jobs. */
int64_t fleet_hello_retention_ms(const struct fleet *f);
/* The job's turns up to `turn` are settled: the fleet's index is told. */
void fleet_hello_index(struct fleet *f, struct job *j, struct wall turn);
#endif
