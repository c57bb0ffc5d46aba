/* SPDX-License-Identifier: MIT */
#include "supervisor/health.h"

#include "base/text.h"
#include "supervisor/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

/* First and longest wait before what could not be sent is sent again. At boot every service talks
 * to the manager at once, and its queue is full for a moment. */
#define AGAIN_FIRST_US ((uint64_t)100000)
#define AGAIN_MOST_US ((uint64_t)10000000)
/* What the service manager gives rotad over its own limits, so that the two never race. */
#define SPARE_MS 5000

/* What the manager must still be told, sent in this order: the end of a reload never comes before
 * its beginning. */
enum owed { OWED_RELOADING = 1, OWED_READY = 2, OWED_STATUS = 4, OWED_STOPPING = 8 };

struct health {
    int fd;          /* -1: nobody wants to hear */
    sd_event *event; /* the caller's */
    sd_event_source *timer, *again;
    uint64_t interval_us; /* of the watchdog */
    uint64_t again_us;    /* the wait before the next try */
    health_sound *sound;
    void *context;
    bool unsound;                    /* and that has been said */
    unsigned owed;                   /* of enum owed */
    int64_t reload_ms, stop_ms;      /* how long that may take */
    char status[HEALTH_STATUS_SIZE]; /* the newest, sent or owed */
};

/* The socket of $NOTIFY_SOCKET, connected; -1 where there is none. sd_notify() would wait where
 * the service manager does not read, and needs the variable to stay in the environment. */
static int open_notify(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    int fd;

    if (length < 2 || (*path != '/' && *path != '@') || length >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int notify(const struct health *h, const char *text)
{
    if (h->fd < 0)
        return 0;
    return send(h->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* A reload's instant must not be before the signal that asked for it. */
static int64_t monotonic_us(void)
{
    struct timespec now = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int send_owed(const struct health *h, unsigned what)
{
    char text[HEALTH_STATUS_SIZE + 16];

    if (what == OWED_RELOADING)
        text_format(text, sizeof(text),
                    "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\nEXTEND_TIMEOUT_USEC=%" PRId64,
                    monotonic_us(), (h->reload_ms + SPARE_MS) * 1000);
    else if (what == OWED_READY)
        text_copy(text, sizeof(text), "READY=1");
    else if (what == OWED_STATUS)
        text_format(text, sizeof(text), "STATUS=%s", h->status);
    else
        text_format(text, sizeof(text), "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRId64,
                    (h->stop_ms + SPARE_MS) * 1000);
    return notify(h, text);
}

/* Sends what is owed. -EAGAIN: the manager's queue is full, and the rest stays owed. Any other
 * error means that nobody hears it, now or later. */
static int send_all(struct health *h)
{
    for (unsigned what = OWED_RELOADING; what <= OWED_STOPPING; what <<= 1) {
        int r = h->owed & what ? send_owed(h, what) : 0;

        if (r == -EAGAIN || r == -ENOBUFS)
            return -EAGAIN;
        h->owed &= ~what;
        if (r < 0)
            return r;
    }
    return 0;
}

static int on_again(sd_event_source *source, uint64_t due_us, void *context);

static int arm_again(struct health *h)
{
    uint64_t now_us, wait_us = h->again_us;
    int r = sd_event_now(h->event, CLOCK_MONOTONIC, &now_us);

    h->again_us = wait_us * 2 < AGAIN_MOST_US ? wait_us * 2 : AGAIN_MOST_US;
    if (r < 0)
        return r;
    if (h->again) {
        r = sd_event_source_set_time(h->again, now_us + wait_us);
        return r < 0 ? r : sd_event_source_set_enabled(h->again, SD_EVENT_ONESHOT);
    }
    r = sd_event_add_time(h->event, &h->again, CLOCK_MONOTONIC, now_us + wait_us, wait_us / 10,
                          on_again, h);
    return r < 0 ? r : sd_event_source_set_description(h->again, "notify again");
}

/* What is owed goes first, so that the manager hears all in order. */
static int settle(struct health *h)
{
    int r = send_all(h);

    if (r == 0)
        h->again_us = AGAIN_FIRST_US;
    return r;
}

static int on_again(sd_event_source *source, uint64_t due_us, void *context)
{
    struct health *h = context;

    (void)source;
    (void)due_us;
    if (settle(h) == -EAGAIN && arm_again(h) < 0)
        journal_log(LOG_ERR, NULL, "The service manager cannot be told of rotad's state any more");
    return 0;
}

static bool waits_again(const struct health *h)
{
    int enabled = SD_EVENT_OFF;

    return h->again && sd_event_source_get_enabled(h->again, &enabled) >= 0 &&
           enabled != SD_EVENT_OFF;
}

static int owe(struct health *h, unsigned what)
{
    int r;

    h->owed |= what;
    r = settle(h);
    if (r == -EAGAIN && !waits_again(h)) {
        int armed = arm_again(h);

        return armed < 0 ? armed : r;
    }
    return r;
}

static void ping(struct health *h)
{
    const char *why = "no reason given";

    if (h->sound(h->context, &why)) {
        notify(h, "WATCHDOG=1");
        if (h->unsound)
            journal_log(LOG_NOTICE | MESSAGE_WATCHDOG_FED, NULL,
                        "The watchdog is fed again: all is in order");
        h->unsound = false;
    } else if (!h->unsound) {
        journal_log(LOG_ERR | MESSAGE_WATCHDOG_UNFED, NULL, "The watchdog is not fed any more: %s",
                    why);
        h->unsound = true;
    }
}

/* The earliest is 0.45 of the interval and the latest 0.5, from the ping before: two in each
 * interval, so that one may be lost, and never three. CLOCK_MONOTONIC, like the service
 * manager's own watchdog. */
static int arm(struct health *h, uint64_t now_us)
{
    int r = sd_event_source_set_time(h->timer, now_us + h->interval_us / 100 * 45);

    return r < 0 ? r : sd_event_source_set_enabled(h->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t due_us, void *context)
{
    struct health *h = context;
    uint64_t now_us = due_us;
    int r;

    (void)source;
    sd_event_now(h->event, CLOCK_MONOTONIC, &now_us);
    ping(h);
    r = arm(h, now_us);
    if (r < 0)
        journal_log(LOG_ERR, NULL, "The watchdog's timer cannot be set: %s", strerror(-r));
    return 0;
}

static int watch(struct health *h, sd_event *event, int64_t priority)
{
    uint64_t now_us;
    int r;

    r = sd_event_now(event, CLOCK_MONOTONIC, &now_us);
    if (r < 0)
        return r;
    /* sd-event takes 0 for 250 ms, hence the + 1. */
    r = sd_event_add_time(event, &h->timer, CLOCK_MONOTONIC, now_us + h->interval_us / 100 * 45,
                          h->interval_us / 100 * 5 + 1, on_timer, h);
    if (r < 0)
        return r;
    r = sd_event_source_set_description(h->timer, "watchdog");
    if (r >= 0)
        r = sd_event_source_set_priority(h->timer, priority);
    if (r < 0)
        return r;
    ping(h);
    return 0;
}

int health_new(sd_event *event, int64_t priority, health_sound *sound, void *context,
               struct health **ret_health)
{
    struct health *h = calloc(1, sizeof(*h));
    int r;

    if (!h)
        return -ENOMEM;
    h->sound = sound;
    h->context = context;
    h->event = event;
    h->again_us = AGAIN_FIRST_US;
    h->fd = open_notify();
    unsetenv("NOTIFY_SOCKET");
    r = sd_watchdog_enabled(1, &h->interval_us);
    if (r < 0)
        journal_log(LOG_WARNING, NULL,
                    "The service manager's watchdog is not used, because "
                    "WATCHDOG_USEC or WATCHDOG_PID is no number");
    else if (r > 0 && h->fd >= 0 && (r = watch(h, event, priority)) < 0) {
        health_free(h);
        return r;
    }
    *ret_health = h;
    return 0;
}

void health_free(struct health *h)
{
    if (!h)
        return;
    sd_event_source_disable_unref(h->timer);
    sd_event_source_disable_unref(h->again);
    if (h->fd >= 0)
        close(h->fd);
    free(h);
}

int health_ready(struct health *h)
{
    return owe(h, OWED_READY);
}

int health_status(struct health *h, const char *text)
{
    char shown[HEALTH_STATUS_SIZE];

    text_escape(shown, sizeof(shown), text, strlen(text));
    if (strcmp(shown, h->status) == 0)
        return settle(h);
    text_copy(h->status, sizeof(h->status), shown);
    return owe(h, OWED_STATUS);
}

const char *health_text(const struct health *h)
{
    return h->status;
}

int health_reloading(struct health *h, int64_t limit_ms)
{
    h->reload_ms = limit_ms;
    return owe(h, OWED_RELOADING);
}

int health_stopping(struct health *h, int64_t limit_ms)
{
    h->stop_ms = limit_ms;
    return owe(h, OWED_STOPPING);
}
