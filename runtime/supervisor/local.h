/* SPDX-License-Identifier: MIT
 * supervisor/local.h: turns of this device alone, in this process's memory: those of `store =
 * "local"`; and beside Redis those of jobs with `lock = "none"`, and of jobs with `if_unreachable =
 * "run"` while Redis cannot be reached. It keeps the contract of redis/store.h, without a
 * connection. A device alone is a fleet of one, so it knows no seats.
 *
 * While there is no time that can be believed it answers nothing. What it knows ends with this
 * process: a turn that fell due before is not run again, and not made up for. */
#ifndef ROTA_SUPERVISOR_LOCAL_H
#define ROTA_SUPERVISOR_LOCAL_H
#include "core/device_clock.h"
#include "core/store.h"
#include <systemd/sd-event.h>

struct local_store;

struct local_store_env {
    sd_event *event;
    int64_t priority;
    /* The clock has moved while nothing was asked: a reply as to STORE_CLOCK. From the event loop.
     */
    void (*moved)(void *context, const struct store_reply *sample);
    /* Beside Redis: fleet time at `now`; false where it is not known. Where that is so, or this is
     * NULL, the time is the device's own. */
    bool (*fleet_time)(void *context, struct boot now, struct wall *ret_time);
    /* What local_store_clock() gives has changed, for people. From the event loop. */
    void (*clock_news)(void *context, enum device_clock_news news);
    void *context;
};

/* Copies env. 0, -ENOMEM, or an error of sd-event or of the kernel's timers. */
int local_store_new(const struct local_store_env *env, struct local_store **ret_store);
/* Calls that are still queued are dropped without an answer. Accepts NULL. */
void local_store_free(struct local_store *s);

/* A job whose spec->key this is takes turns from now on: where the key is new here, those that were
 * due before have passed. Jobs of the same key share a record. Before the first submit(). 0 or
 * -ENOMEM. */
int local_store_open(struct local_store *s, const char *key);
/* The end of one open(). The record stays for as long as its retention. */
void local_store_close(struct local_store *s, const char *key);

/* As redis_store_submit() and redis_store_cancel(). */
void local_store_submit(struct local_store *s, struct store_call *call);
void local_store_cancel(struct local_store *s, struct store_call *call);

/* Reads the clocks. False where there is no time that can be believed. */
bool local_store_time(struct local_store *s, struct boot now, struct wall *ret_time);
const struct device_clock *local_store_clock(const struct local_store *s);
#endif
