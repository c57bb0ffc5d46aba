/* SPDX-License-Identifier: MIT
 * guard/clock.h: CLOCK_BOOTTIME, and the kernel timers that kill this process where it cannot act
 * itself. */
#ifndef ROTA_GUARD_CLOCK_H
#define ROTA_GUARD_CLOCK_H
#include "base/time.h"
#include <time.h>

struct boot clock_now(void);

/* A timer on CLOCK_BOOTTIME that sends SIGKILL to this process. It reaches a stopped process too;
 * it is not inherited by a fork and does not survive an exec. 0 or -errno. */
int clock_backstop_new(timer_t *ret_timer);
/* Moves it; BOOT_NEVER disarms. An instant that has passed kills at once. 0 or -errno. */
int clock_backstop_set(timer_t timer, struct boot at);

/* A timerfd on CLOCK_BOOTTIME, non-blocking. The descriptor or -errno. */
int clock_timer_new(void);
/* One shot at an absolute instant; BOOT_NEVER disarms. 0 or -errno. */
int clock_timer_set(int fd, struct boot at);
#endif
