/* SPDX-License-Identifier: MIT
 * supervisor/wall_clock.h: readings of the device's own clock, and the word that it was set. */
#ifndef ROTA_SUPERVISOR_WALL_CLOCK_H
#define ROTA_SUPERVISOR_WALL_CLOCK_H
#include "core/device_clock.h"
#include <systemd/sd-event.h>

struct wall_clock {
    int fd; /* -1: not watched */
    sd_event_source *source;
    void (*was_set)(void *context);
    void *context;
};

/* The day on which this rota was built, at 00:00 UTC: no clock that is right says less. */
struct wall wall_clock_built(void);
struct device_clock_reading wall_clock_read(void);

/* Calls was_set() from the event loop whenever somebody sets the clock; without polling. Slewing is
 * not setting. 0 or -errno: then `w` is as wall_clock_done() leaves it. */
int wall_clock_watch(struct wall_clock *w, sd_event *event, int64_t priority,
                     void (*was_set)(void *context), void *context);
/* Accepts one that is all zero but for fd = -1. */
void wall_clock_done(struct wall_clock *w);
#endif
