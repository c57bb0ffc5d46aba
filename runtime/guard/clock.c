/* SPDX-License-Identifier: MIT */
#include "guard/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/timerfd.h>

struct boot clock_now(void)
{
    struct timespec now;

    /* Cannot fail: the clock is there since Linux 2.6.39 and the pointer is good. */
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (struct boot){ (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 };
}

/* As an absolute timer wants it: zero would disarm, so an instant before the boot becomes its first
 * nanosecond. */
static struct itimerspec spec_of(struct boot at)
{
    struct itimerspec spec = { 0 };

    if (at.ms == BOOT_NEVER.ms)
        return spec;
    if (at.ms <= 0) {
        spec.it_value.tv_nsec = 1;
        return spec;
    }
    spec.it_value.tv_sec = (time_t)(at.ms / 1000);
    spec.it_value.tv_nsec = (long)(at.ms % 1000) * 1000000;
    return spec;
}

int clock_backstop_new(timer_t *ret_timer)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };

    return timer_create(CLOCK_BOOTTIME, &event, ret_timer) < 0 ? -errno : 0;
}

int clock_backstop_set(timer_t timer, struct boot at)
{
    struct itimerspec spec = spec_of(at);

    return timer_settime(timer, TIMER_ABSTIME, &spec, NULL) < 0 ? -errno : 0;
}

int clock_timer_new(void)
{
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

int clock_timer_set(int fd, struct boot at)
{
    struct itimerspec spec = spec_of(at);

    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0 ? -errno : 0;
}
