/* SPDX-License-Identifier: MIT
 * core/port.h: the one way out of the core. All that it wishes for goes through these pointers; all
 * that happens comes in by calls with the time as an argument. None of these may call back into the
 * core. */
#ifndef ROTA_CORE_PORT_H
#define ROTA_CORE_PORT_H
#include "core/store.h"
#include <stddef.h>

struct job;
struct report;

/* Why a run is asked to stop from outside of it. */
enum stop_reason {
    STOP_FOR_SERVICE = 1, /* rotad stops, or is drained: the turn is declined */
    STOP_FOR_TAKEN = 2,   /* the store says that the lease is another's: lost */
    STOP_FOR_GOOD = 3,    /* an operator closes the turn: stopped */
    STOP_FOR_OTHERS = 4   /* an operator leaves the turn to other devices: declined */
} __attribute__((packed));

struct core_port {
    void *context;
    /* Fills with random bytes; they must be unpredictable, since tokens are made of them. */
    void (*random)(void *context, void *buffer, size_t size);
    /* fleet_tick() is wanted at `at`; replaces the earlier wish. BOOT_NEVER: none. */
    void (*arm)(void *context, struct boot at);
    /* Queues a call; its answer comes later, never from inside. */
    void (*submit)(void *context, struct store_call *call, bool urgent);
    void (*cancel)(void *context, struct store_call *call);
    /* Starts the granted run. 0, or negative errno: nothing was started. */
    int (*start)(void *context, struct job *job);
    /* A confirmed renewal has moved the deadline (job->lease.deadline). */
    void (*extend)(void *context, struct job *job);
    void (*stop)(void *context, struct job *job, enum stop_reason reason);
    /* Puts a copy of `text` at *at in place of the text there, which this made, or NULL; NULL and
     * "" only free that one. Where memory is short, *at is NULL. The core's only allocation after
     * set-up: what needs such a text does without it. */
    void (*keep)(void *context, char **at, const char *text);
    /* Whether an operator has paused the job on this device: then `turn` (0: none in particular)
     * passes. NULL: none ever is. */
    bool (*paused)(void *context, const struct job *job, struct wall turn);
    /* Something that people may want to read. `job` is NULL where it is the fleet's. */
    void (*report)(void *context, struct job *job, const struct report *report);
};
#endif
