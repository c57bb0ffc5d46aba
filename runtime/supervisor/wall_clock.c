/* SPDX-License-Identifier: MIT */
#include "supervisor/wall_clock.h"
#include "base/units.h"
#include "supervisor/clock.h"
#include <errno.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <unistd.h>

/* What the kernel lets the greatest error grow to while nobody disciplines the clock, in us. */
#define WALL_CLOCK_ERROR_LIMIT_US 16000000
/* The end of time, which no clock reaches: the timer is there for the word that the clock was set.
 */
#define WALL_CLOCK_FAR_S ((time_t)(sizeof(time_t) > 4 ? INT64_MAX : INT32_MAX))

struct wall wall_clock_built(void)
{
    return (struct wall){ ROTA_BUILT_DAY * DAY_MS };
}

/* By the error and not by STA_UNSYNC, which is also set on purpose, to keep the kernel from writing
 * to the battery's clock. Setting the clock raises the error to its limit. */
static bool is_synchronised(void)
{
    struct timex t = { .modes = 0 };

    return adjtimex(&t) >= 0 && t.maxerror < WALL_CLOCK_ERROR_LIMIT_US;
}

struct device_clock_reading wall_clock_read(void)
{
    struct device_clock_reading r = { .at = clock_boot(), .synchronised = is_synchronised() };
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    r.says.ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    return r;
}

/* The read ends with ECANCELED where the clock was set; the timer stays armed. */
static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct wall_clock *w = userdata;
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);

    (void)source;
    (void)events;
    if (n >= 0 || errno != EAGAIN)
        w->was_set(w->context);
    return 0;
}

static int arm(int fd)
{
    struct itimerspec far = { .it_value = { .tv_sec = WALL_CLOCK_FAR_S } };

    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL) < 0 ? -errno
                                                                                            : 0;
}

int wall_clock_watch(struct wall_clock *w, sd_event *event, int64_t priority,
                     void (*was_set)(void *context), void *context)
{
    int rc;

    *w = (struct wall_clock){ .was_set = was_set, .context = context };
    w->fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (w->fd < 0)
        return -errno;
    rc = arm(w->fd);
    if (rc >= 0)
        rc = sd_event_add_io(event, &w->source, w->fd, EPOLLIN, on_readable, w);
    if (rc >= 0)
        rc = sd_event_source_set_priority(w->source, priority);
    if (rc >= 0)
        (void)sd_event_source_set_description(w->source, "the clock is set");
    else
        wall_clock_done(w);
    return rc < 0 ? rc : 0;
}

void wall_clock_done(struct wall_clock *w)
{
    sd_event_source_disable_unref(w->source);
    w->source = NULL;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}
