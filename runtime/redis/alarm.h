/* SPDX-License-Identifier: MIT
 * redis/alarm.h: one timer that follows the state of its owner. */
#ifndef ROTA_REDIS_ALARM_H
#define ROTA_REDIS_ALARM_H
#include "base/time.h"
#include <systemd/sd-event.h>

struct redis_alarm {
    sd_event_source *source;
    struct boot armed; /* BOOT_NEVER: off */
};

/* Off at first. 0 or an error of sd-event; redis_alarm_done() in both cases. */
int redis_alarm_init(struct redis_alarm *alarm, sd_event *event, int64_t priority,
                     sd_event_time_handler_t handler, void *context);
void redis_alarm_done(struct redis_alarm *alarm);
/* Rings at `due`, at once where that is past; BOOT_NEVER: not at all. 0 or an error of sd-event,
 * and then it is off. */
int redis_alarm_set(struct redis_alarm *alarm, struct boot due);
/* To be called where it rings: one time source rings once. */
void redis_alarm_rang(struct redis_alarm *alarm);
/* 0 or an error of sd-event: the source is off until it is wanted. */
int redis_alarm_prepare(sd_event_source *source, int64_t priority, const char *description);
#endif
