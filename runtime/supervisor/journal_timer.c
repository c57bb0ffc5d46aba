/* SPDX-License-Identifier: MIT */
#include "supervisor/journal_timer.h"
#include "supervisor/clock.h"
#include "supervisor/journal.h"

/* Nobody waits for it: the kernel may join it with another wake-up. */
#define ACCURACY_US UINT64_C(1000000)

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    (void)userdata;
    journal_tell_held(false);
    return 0;
}

int journal_timer_new(sd_event *event, int priority, sd_event_source **ret_timer)
{
    sd_event_source *timer;
    int rc =
        sd_event_add_time(event, &timer, CLOCK_BOOTTIME, UINT64_MAX, ACCURACY_US, on_timer, NULL);

    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(timer, "held lines");
    rc = sd_event_source_set_priority(timer, priority);
    if (rc >= 0)
        rc = sd_event_source_set_enabled(timer, SD_EVENT_OFF);
    if (rc < 0) {
        sd_event_source_disable_unref(timer);
        return rc;
    }
    *ret_timer = timer;
    return 0;
}

void journal_timer_arm(sd_event_source *timer)
{
    struct boot due = journal_due();

    /* Where it cannot be set, the lines are told when rotad ends. */
    if (due.ms == BOOT_NEVER.ms)
        (void)sd_event_source_set_enabled(timer, SD_EVENT_OFF);
    else if (sd_event_source_set_time(timer, clock_to_us(due)) >= 0)
        (void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}
