/* SPDX-License-Identifier: MIT
 * core/fleet.h: what the jobs of this device share: fleet time, slots, the port. */
#ifndef ROTA_CORE_FLEET_H
#define ROTA_CORE_FLEET_H
#include "core/backoff.h"
#include "core/fleet_clock.h"
#include "core/fleet_hello.h"
#include "core/fleet_peers.h"
#include "core/lease.h"

/* What a device says of itself in hello, and how it takes turns with others. Texts and room belong
 * to the caller. */
struct fleet_self {
    const char *version; /* rota's */
    const char *digest;  /* of the configuration; "": none */
    int64_t checkin_ms;  /* from one hello to the next, on average; 0: by the fleet's size */
    bool turns_all;      /* every device asks for each turn */
    /* Puts the configuration's text (core/fleet_text.h) at *at, as port->keep() does; by the port's
     * context. NULL: it is not told. */
    void (*describe)(void *context, char **at);
    /* For the keys of jobs in a request, valid until any call is composed next: may be shared by
     * fleets. NULL: no hello is said, and this device is the whole fleet. */
    char *room;
    size_t room_size; /* at least a key and its end */
};

/* A run by hand that was asked for, and is neither granted nor refused yet. */
struct fleet_hand {
    struct job *job; /* NULL: there is none */
    /* It is given up then: who asked for it does not wait any longer. After that, when what was
     * sent is looked at again. */
    struct boot until;
    struct wall settled; /* job->settled before, where the open turn is asked for */
    bool open_turn;
    bool told; /* what became of it */
};

struct fleet {
    const struct core_port *port;
    struct lease_env lease_env;
    struct fleet_self self;
    struct fleet_clock clock;
    struct fleet_clock
        own; /* this device's, for jobs that may go by it while `clock` is not known */
    struct fleet_hello hello;
    struct fleet_peers peers;
    struct store_call question; /* hello, or the time alone */
    struct backoff question_backoff;
    struct boot question_at; /* it is asked (again) then */
    bool question_out;
    enum fault question_fault; /* of the last; FAULT_NONE: it was answered */
    int64_t moved_ms;          /* of fleet time, since the jobs' timers were last set by it */
    uint32_t size;             /* devices that a turn is shared out among, from 1 */
    uint32_t slots;            /* max_running */
    struct job *jobs;          /* as they joined */
    struct job **jobs_end;     /* where the next one goes */
    struct fleet_hand hand;    /* one at a time */
    struct boot wake; /* the earliest instant of all, or an instant before it: fleet_tick() then */
    bool wake_stale;  /* it may be before it */
    uint64_t missed;  /* turns that fell due, and passed, while the store could not be asked */
    uint64_t faults[FAULT_COUNT]; /* requests without an answer that counts, by class */
};

void fleet_init(struct fleet *f, const struct core_port *port, const char *device, uint32_t slots);
/* What requests say of this machine (core/store.h): `machine` names it among all of the fleet,
 * `boot` changes with each boot. Both are kept. Before the first job; without it, its name and "-".
 */
void fleet_identify(struct fleet *f, const char *machine, const char *boot);
void fleet_done(struct fleet *f);
/* From now on this device says hello, beside other devices. Before the first job, or again where it
 * has another configuration: that is told at once. */
void fleet_introduce(struct fleet *f, const struct fleet_self *self, struct boot now);
/* A job begins: asks for the fleet's time, by hello, unless it is known or being asked for. */
void fleet_want_clock(struct fleet *f);
/* The jobs are others than before. */
void fleet_jobs_changed(struct fleet *f);
/* Does what is due, in the order of its instants. */
void fleet_tick(struct fleet *f, struct boot now);
/* After each event: the timer, which follows at once where something is to come earlier, is also
 * moved where all is to come later. */
void fleet_settle_timer(struct fleet *f);
/* The job's next instant is j->armed, and was `former`. */
void fleet_rearm(struct fleet *f, const struct job *j, struct boot former);
/* A reply came: its server time is a sample. Moves the jobs' timers where fleet time has moved. */
void fleet_sample(struct fleet *f, const struct store_reply *reply);
/* A job's command was answered. What hello was refused for may be over, and it is said at once; but
 * only once, since it may be refused alone. */
void fleet_retry_hello(struct fleet *f, struct boot now);
/* The shared store cannot be reached, and this device's own clock, which can be believed, says
 * `own`: as long as fleet time was never known, jobs with run_unreachable go by that. */
void fleet_own_time(struct fleet *f, struct boot now, struct wall own);
/* Slots in use. */
uint32_t fleet_used(const struct fleet *f);
/* A slot may be free: if so, the job that has waited longest for one gets a tick. */
void fleet_slot_freed(struct fleet *f, struct boot now);
/* False, with the reason, where something that has to move has no timer or one that is overdue by
 * slack_ms. */
bool fleet_sound(const struct fleet *f, struct boot now, int64_t slack_ms, const char **ret_why);
#endif
