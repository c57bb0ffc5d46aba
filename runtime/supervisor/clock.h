/* SPDX-License-Identifier: MIT
 * supervisor/clock.h: the one place where rotad reads clocks. */
#ifndef ROTA_SUPERVISOR_CLOCK_H
#define ROTA_SUPERVISOR_CLOCK_H
#include "base/time.h"

/* sd-event's accuracy for timers that matter: 0 would mean 250 ms (STACK.md 3.2). */
#define CLOCK_ACCURACY_US 1000

struct boot clock_boot(void);
/* For sd_event_source_set_time; BOOT_NEVER and the past are held at the ends. */
uint64_t clock_to_us(struct boot at);
#endif
