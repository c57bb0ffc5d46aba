/* SPDX-License-Identifier: MIT */
#include "redis/alarm.h"
#include <time.h>

#define ACCURACY_US 1000

int redis_alarm_prepare(sd_event_source *source, int64_t priority, const char *description)
{
    int r = sd_event_source_set_enabled(source, SD_EVENT_OFF);

    if (r >= 0)
        r = sd_event_source_set_priority(source, priority);
    return r < 0 ? r : sd_event_source_set_description(source, description);
}

int redis_alarm_init(struct redis_alarm *alarm, sd_event *event, int64_t priority,
                     sd_event_time_handler_t handler, void *context)
{
    int r;

    *alarm = (struct redis_alarm){ .armed = BOOT_NEVER };
    r = sd_event_add_time(event, &alarm->source, CLOCK_BOOTTIME, 0, ACCURACY_US, handler, context);
    return r < 0 ? r : redis_alarm_prepare(alarm->source, priority, "redis-timer");
}

void redis_alarm_done(struct redis_alarm *alarm)
{
    alarm->source = sd_event_source_disable_unref(alarm->source);
}

int redis_alarm_set(struct redis_alarm *alarm, struct boot due)
{
    int r;

    if (due.ms == alarm->armed.ms)
        return 0;
    alarm->armed = BOOT_NEVER;
    if (due.ms == BOOT_NEVER.ms)
        return sd_event_source_set_enabled(alarm->source, SD_EVENT_OFF);
    r = sd_event_source_set_time(alarm->source, (uint64_t)due.ms * 1000);
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(alarm->source, SD_EVENT_ONESHOT);
    if (r >= 0)
        alarm->armed = due;
    return r;
}

void redis_alarm_rang(struct redis_alarm *alarm)
{
    alarm->armed = BOOT_NEVER;
}
