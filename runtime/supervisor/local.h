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
struct local_module; /* local_module.h */

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
#endif
