/* SPDX-License-Identifier: MIT
 * core/fleet.h: what the jobs of this device share: fleet time, slots, the port. */
#ifndef ROTA_CORE_FLEET_H
#define ROTA_CORE_FLEET_H
#include "core/backoff.h"
#include "core/fleet_clock.h"
#include "core/lease.h"

struct fleet {
    const struct core_port *port;
    struct lease_env lease_env;
    struct fleet_clock clock;
    struct store_call clock_call;
    struct backoff clock_backoff;
    struct boot clock_retry; /* the time is asked for again then */
    bool clock_asked;
    enum fault clock_fault; /* of the last question for the time; FAULT_NONE: it was answered */
    int64_t moved_ms;       /* of fleet time, since the jobs' timers were last set by it */
    uint32_t size;          /* devices; 1 until hello exists */
    uint32_t slots;         /* max_running */
    struct job *jobs;       /* as they joined */
    struct job **jobs_end;  /* where the next one goes */
    struct boot wake; /* the earliest instant of all, or an instant before it: fleet_tick() then */
    bool wake_stale;  /* it may be before it */
    uint64_t missed;  /* turns that fell due, and passed, while the store could not be asked */
    uint64_t faults[FAULT_COUNT]; /* requests without an answer that counts, by class */
};

void fleet_init(struct fleet *f, const struct core_port *port, const char *device, uint32_t slots);
void fleet_done(struct fleet *f);
/* Asks for the fleet's time, unless it is known or being asked for. */
void fleet_want_clock(struct fleet *f);
/* Does what is due, in the order of its instants. */
void fleet_tick(struct fleet *f, struct boot now);
/* After each event: the timer, which follows at once where something is to come earlier, is also
 * moved where all is to come later. */
void fleet_settle_timer(struct fleet *f);
/* The job's next instant is j->armed, and was `former`. */
void fleet_rearm(struct fleet *f, const struct job *j, struct boot former);
/* A reply came: its server time is a sample. Moves the jobs' timers where fleet time has moved. */
void fleet_sample(struct fleet *f, const struct store_reply *reply);
/* Slots in use. */
uint32_t fleet_used(const struct fleet *f);
/* A slot may be free: if so, the job that has waited longest for one gets a tick. */
void fleet_slot_freed(struct fleet *f, struct boot now);
/* False, with the reason, where something that has to move has no timer or one that is overdue by
 * slack_ms. */
bool fleet_sound(const struct fleet *f, struct boot now, int64_t slack_ms, const char **ret_why);
#endif
