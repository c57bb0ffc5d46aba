/* SPDX-License-Identifier: MIT
 * supervisor/journal_timer.h: the wake-up that tells how many lines were held back; off while none
 * are. */
#ifndef ROTA_SUPERVISOR_JOURNAL_TIMER_H
#define ROTA_SUPERVISOR_JOURNAL_TIMER_H
#include <systemd/sd-event.h>

/* 0 or negative errno; the source is the caller's. */
int journal_timer_new(sd_event *event, int priority, sd_event_source **ret_timer);
/* After anything that may have been logged. */
void journal_timer_arm(sd_event_source *timer);
#endif
