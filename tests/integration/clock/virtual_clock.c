/* SPDX-License-Identifier: MIT
 *
 * virtual_clock: a preloaded library that gives a process another wall clock: frozen, or the
 * machine's and an offset, as the file that ROTA_VIRTUAL_CLOCK names says at this moment. Without
 * that variable nothing is changed. A test uses it by virtual_clock.py.
 *
 * CLOCK_REALTIME and its coarse sister are moved, by gettimeofday(), time() and clock_gettime(); no
 * other clock is, and no timer: whoever arms one for a wall instant waits by the machine's clock.
 *
 * The one timer that is: a timerfd on CLOCK_REALTIME, which a process has to be told that the clock
 * was set (TFD_TIMER_CANCEL_ON_SET). The first that is open is an inotify descriptor in truth, and
 * becomes readable when the test, having set the clock, touches the file. Its read() then says
 * ECANCELED, as the kernel's does. It never expires.
 *
 * All goes by system call: a sanitizer's library, which has these functions too, may not be ready
 * when they are first called. */
#include "virtual_clock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SECOND_US INT64_C(1000000)
#define EVENTS_SIZE 4096
#define NO_FD (-1)

static struct {
    struct virtual_clock *shared; /* NULL: not asked for */
    const char *path;
    atomic_int timer; /* the descriptor that tells of settings */
} clock_here = { .timer = NO_FD };

static int64_t read_shared(const int64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_SEQ_CST);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(VIRTUAL_CLOCK_FILE);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped;

    if (fd < 0)
        return;
    mapped = mmap(NULL, sizeof *clock_here.shared, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return;
    clock_here.path = path;
    clock_here.shared = mapped;
}

static int64_t wall_us(void)
{
    struct timespec t = { 0 };
    int64_t frozen = clock_here.shared ? read_shared(&clock_here.shared->frozen_us) : 0;
    int64_t offset = clock_here.shared ? read_shared(&clock_here.shared->offset_us) : 0;

    if (frozen)
        return frozen;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return t.tv_sec * SECOND_US + t.tv_nsec / 1000 + offset;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int64_t us;

    if (!clock_here.shared || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return (int)syscall(SYS_clock_gettime, clock, ret);
    us = wall_us();
    ret->tv_sec = us / SECOND_US;
    ret->tv_nsec = us % SECOND_US * 1000;
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    int64_t us = wall_us();

    (void)zone;
    ret->tv_sec = us / SECOND_US;
    ret->tv_usec = us % SECOND_US;
    return 0;
}

EXPORT time_t time(time_t *ret)
{
    time_t t = wall_us() / SECOND_US;

    if (ret)
        *ret = t;
    return t;
}

EXPORT int adjtimex(struct timex *t)
{
    int state = (int)syscall(SYS_adjtimex, t);
    int64_t synchronised = clock_here.shared ? read_shared(&clock_here.shared->synchronised) : 0;

    if (state >= 0 && synchronised)
        t->maxerror = synchronised > 0 ? 1000 : 16 * SECOND_US;
    return state;
}

EXPORT int timerfd_create(int clock, int flags)
{
    int none = NO_FD, fd;

    if (clock != CLOCK_REALTIME || !clock_here.shared || clock_here.timer != NO_FD)
        return (int)syscall(SYS_timerfd_create, clock, flags);
    fd = inotify_init1(flags); /* both have open()'s flags */
    if (fd < 0)
        return fd;
    if (inotify_add_watch(fd, clock_here.path, IN_ATTRIB) < 0 ||
        !atomic_compare_exchange_strong(&clock_here.timer, &none, fd)) {
        close(fd);
        return (int)syscall(SYS_timerfd_create, clock, flags);
    }
    return fd;
}

/* What the kernel's is asked to do, it is at all times. */
EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *ret)
{
    if (fd != NO_FD && fd == clock_here.timer)
        return 0;
    return (int)syscall(SYS_timerfd_settime, fd, flags, at, ret);
}

EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
    char events[EVENTS_SIZE];

    if (fd == NO_FD || fd != clock_here.timer)
        return syscall(SYS_read, fd, buffer, size);
    if (syscall(SYS_read, fd, events, sizeof events) >= 0)
        errno = ECANCELED;
    return -1;
}

EXPORT int close(int fd)
{
    int timer = fd;

    if (fd != NO_FD)
        atomic_compare_exchange_strong(&clock_here.timer, &timer, NO_FD);
    return (int)syscall(SYS_close, fd);
}
