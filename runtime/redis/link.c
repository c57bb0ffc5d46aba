/* SPDX-License-Identifier: MIT */
#include "redis/link.h"
#include "base/text.h"
#include "base/units.h"
#include "core/backoff.h"
#include "redis/refusal.h"
#include "redis/wire.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#define TIMER_ACCURACY_US 1000
#define NOT_OURS "a reply that is not rota's"

enum phase {
    PHASE_IDLE,
    PHASE_CONNECTING,
    /* Connected, and the login and the first commands are on their way: nothing is proven yet. */
    PHASE_UNPROVEN,
    PHASE_UP,
    PHASE_WAITING
};

struct redis_link {
    const struct redis_settings *settings;
    struct redis_store_env env;
    struct redis_link_owner owner;
    enum phase phase;
    size_t endpoint; /* of the present connection, or the next try */
    struct redis_wire wire;
    sd_event_source *io, *timer, *kick;
    uint32_t io_events;
    struct backoff backoff;
    struct boot connect_deadline, retry_at;
    struct boot armed; /* what the timer is set to */
    bool urgent;       /* somebody cannot wait for the window */
    bool hurried;      /* and that was granted since the link was up */
    bool faulty;       /* the event loop refused something: only the watchdog can help */
};

struct boot redis_link_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (struct boot){ (int64_t)t.tv_sec * SECOND_MS + t.tv_nsec / 1000000 };
}

static bool is_connected(const struct redis_link *link)
{
    return link->phase == PHASE_UNPROVEN || link->phase == PHASE_UP;
}

static enum redis_link_state public_state(enum phase phase)
{
    static const enum redis_link_state states[] = {
        [PHASE_IDLE] = REDIS_LINK_IDLE,           [PHASE_CONNECTING] = REDIS_LINK_CONNECTING,
        [PHASE_UNPROVEN] = REDIS_LINK_CONNECTING, [PHASE_UP] = REDIS_LINK_UP,
        [PHASE_WAITING] = REDIS_LINK_WAITING,
    };

    return states[phase];
}

static void set_phase(struct redis_link *link, enum phase phase, const char *reason)
{
    enum redis_link_state before = public_state(link->phase), after = public_state(phase);
    int64_t window_ms = phase == PHASE_WAITING ? backoff_window_ms(&link->backoff) : 0;

    link->phase = phase;
    if (after != before && link->env.watch)
        link->env.watch(link->env.context, after, link->settings->endpoints[link->endpoint].text,
                        reason, window_ms);
}

static struct boot earliest_deadline(const struct redis_link *link)
{
    struct boot login = link->wire.login.left > 0 ? link->connect_deadline : BOOT_NEVER;

    return boot_min(login, redis_wire_deadline(&link->wire));
}

static struct boot due_instant(const struct redis_link *link)
{
    switch (link->phase) {
    case PHASE_IDLE:
        break;
    case PHASE_CONNECTING:
        return link->connect_deadline;
    case PHASE_UNPROVEN:
    case PHASE_UP:
        return earliest_deadline(link);
    case PHASE_WAITING:
        return link->retry_at;
    }
    return BOOT_NEVER;
}

static int set_timer(struct redis_link *link, struct boot due)
{
    int r;

    if (due.ms == link->armed.ms)
        return 0;
    link->armed = BOOT_NEVER;
    if (due.ms == BOOT_NEVER.ms)
        return sd_event_source_set_enabled(link->timer, SD_EVENT_OFF);
    r = sd_event_source_set_time(link->timer, (uint64_t)due.ms * 1000);
    if (r < 0)
        return r;
    r = sd_event_source_set_enabled(link->timer, SD_EVENT_ONESHOT);
    if (r >= 0)
        link->armed = due;
    return r;
}

static int set_io(struct redis_link *link)
{
    uint32_t events;
    int r;

    if (!link->io)
        return 0;
    if (link->phase == PHASE_CONNECTING)
        events = EPOLLOUT;
    else
        events = EPOLLIN | (redis_wire_is_blocked(&link->wire) ? (uint32_t)EPOLLOUT : 0);
    if (events == link->io_events)
        return 0;
    r = sd_event_source_set_io_events(link->io, events);
    if (r >= 0)
        link->io_events = events;
    return r;
}

/* After every change: what the loop wakes us for follows from the state alone. */
static void rearm(struct redis_link *link)
{
    if (set_timer(link, due_instant(link)) < 0 || set_io(link) < 0)
        link->faulty = true;
}

static struct redis_link_request *disconnect(struct redis_link *link)
{
    link->io = sd_event_source_disable_unref(link->io);
    link->io_events = 0;
    return redis_wire_close(&link->wire);
}

static void orphan_all(struct redis_link_request *orphans, const char *reason)
{
    while (orphans) {
        struct redis_link_request *next = orphans->next;

        orphans->done(orphans, NULL, reason);
        orphans = next;
    }
}

/* Ends a connection, made or not, and what it had in flight; the next try is armed. */
static void drop(struct redis_link *link, const char *reason)
{
    struct redis_link_request *orphans = disconnect(link);
    uint64_t random = 0;

    link->env.random(link->env.context, &random, sizeof random);
    link->retry_at = boot_add(redis_link_now(), backoff_next_ms(&link->backoff, random));
    set_phase(link, PHASE_WAITING, reason);
    link->endpoint = (link->endpoint + 1) % link->settings->endpoint_count;
    rearm(link);
    if (link->urgent)
        redis_link_kick(link, true);
    orphan_all(orphans, reason);
}

static void drop_for_time(struct redis_link *link, const char *missing, int64_t timeout_ms)
{
    char reason[REDIS_LINK_REASON_SIZE], time[UNITS_SIZE];

    text_format(reason, sizeof reason, "no %s within %s", missing,
                units_say_duration(timeout_ms, time, sizeof time));
    drop(link, reason);
}

static void drop_for_words(struct redis_link *link, const redisReply *error)
{
    char reason[REDIS_LINK_REASON_SIZE];

    text_escape(reason, sizeof reason, error->str, strlen(error->str));
    drop(link, reason);
}

static void become_up(struct redis_link *link)
{
    backoff_reset(&link->backoff);
    link->urgent = false;
    link->hurried = false;
    set_phase(link, PHASE_UP, NULL);
}

static void take_login_reply(struct redis_link *link, const redisReply *reply)
{
    int r = redis_login_take(&link->wire.login, reply);

    if (r == -EACCES)
        drop_for_words(link, reply);
    else if (r < 0)
        drop(link, NOT_OURS);
    else if (link->wire.login.left == 0 && !link->wire.first)
        become_up(link);
}

static void take_command_reply(struct redis_link *link, const redisReply *reply)
{
    bool closes = reply->type == REDIS_REPLY_ERROR && redis_refusal_closes(reply->str);
    struct redis_link_request *request;

    if (!link->wire.first) {
        /* Servers say why they are about to close a connection. */
        if (reply->type == REDIS_REPLY_ERROR)
            drop_for_words(link, reply);
        else
            drop(link, NOT_OURS);
        return;
    }
    request = redis_wire_pop(&link->wire);
    if (!closes && link->phase == PHASE_UNPROVEN)
        become_up(link);
    if (!request->done(request, reply, NULL)) {
        redis_wire_push_back(&link->wire, request);
        drop(link, NOT_OURS);
    } else if (closes) {
        drop_for_words(link, reply);
    }
}

static void take_replies(struct redis_link *link)
{
    while (is_connected(link)) {
        redisReply *reply;
        int r = redis_inbox_take(&link->wire.inbox, &reply);

        if (r == 0)
            return;
        if (r < 0) {
            drop(link, NOT_OURS);
            return;
        }
        if (link->wire.login.left > 0)
            take_login_reply(link, reply);
        else
            take_command_reply(link, reply);
        freeReplyObject(reply);
    }
}

/* The connection is gone. Servers and carriers close idle ones: that harms nobody, and the next
 * call connects. */
static void lose(struct redis_link *link, int error)
{
    const char *reason = error == -EPIPE ? "the server closed the connection" : strerror(-error);
    char copy[REDIS_LINK_REASON_SIZE];

    text_copy(copy, sizeof copy, reason);
    copy[0] = (char)tolower((unsigned char)copy[0]);
    if (link->phase != PHASE_UP || link->wire.first || link->owner.wants(link->owner.context)) {
        drop(link, copy);
        return;
    }
    disconnect(link);
    set_phase(link, PHASE_IDLE, copy);
    rearm(link);
}

static void receive(struct redis_link *link)
{
    int r = redis_wire_receive(&link->wire);

    if (r < 0)
        lose(link, r);
    else if (r > 0)
        take_replies(link);
}

/* Lets the owner send. */
static void pump(struct redis_link *link)
{
    if (is_connected(link))
        link->owner.ready(link->owner.context);
    rearm(link);
}

static void flush(struct redis_link *link)
{
    int r = redis_wire_flush(&link->wire);

    if (r < 0)
        receive(link); /* the server may have said why, before it closed */
    if (r < 0 && is_connected(link))
        lose(link, r);
}

static void connected(struct redis_link *link)
{
    int r = redis_wire_begin(&link->wire, link->settings);

    if (r < 0) {
        lose(link, r);
        return;
    }
    link->phase = PHASE_UNPROVEN;
    link->owner.ready(link->owner.context);
    if (link->wire.login.left == 0 && !link->wire.first)
        become_up(link);
    flush(link);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
    struct redis_link *link = context;

    (void)source;
    (void)fd;
    if (link->phase == PHASE_CONNECTING) {
        connected(link);
    } else {
        if (events & EPOLLOUT)
            flush(link);
        if (is_connected(link) && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
            receive(link);
    }
    pump(link);
    return 0;
}

static void start(struct redis_link *link)
{
    int r;

    link->hurried = link->hurried || link->urgent;
    link->urgent = false;
    link->connect_deadline = boot_add(redis_link_now(), link->settings->connect_timeout_ms);
    set_phase(link, PHASE_CONNECTING, NULL);
    r = redis_wire_open(&link->wire, &link->settings->endpoints[link->endpoint]);
    if (r == -EINVAL) {
        drop(link, "not a numeric address");
        return;
    }
    if (r == 0)
        r = sd_event_add_io(link->env.event, &link->io, link->wire.fd, EPOLLOUT, on_io, link);
    if (r >= 0)
        r = sd_event_source_set_priority(link->io, link->env.priority);
    if (r >= 0)
        r = sd_event_source_set_description(link->io, "redis-io");
    if (r < 0) {
        lose(link, r);
        return;
    }
    link->io_events = EPOLLOUT;
    rearm(link);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
    struct redis_link *link = context;
    struct boot now = redis_link_now();

    (void)source;
    (void)usec;
    link->armed = BOOT_NEVER;
    if (!boot_reached(now, due_instant(link)))
        rearm(link);
    else if (link->phase == PHASE_CONNECTING ||
             (link->wire.login.left > 0 && boot_reached(now, link->connect_deadline)))
        drop_for_time(link, "connection", link->settings->connect_timeout_ms);
    else if (is_connected(link))
        drop_for_time(link, "reply", link->settings->command_timeout_ms);
    else if (link->owner.wants(link->owner.context))
        start(link);
    else
        set_phase(link, PHASE_IDLE, NULL);
    return 0;
}

static int on_kick(sd_event_source *source, void *context)
{
    struct redis_link *link = context;
    bool wanted = link->owner.wants(link->owner.context);

    (void)source;
    if (wanted && (link->phase == PHASE_IDLE ||
                   (link->phase == PHASE_WAITING && link->urgent && !link->hurried)))
        start(link);
    else
        pump(link);
    /* Kept while a connection is being made: should that end badly, the next try comes at once. */
    if (link->phase == PHASE_UP || link->phase == PHASE_WAITING)
        link->urgent = false;
    return 0;
}

static int prepare_source(struct redis_link *link, sd_event_source *source, const char *description)
{
    int r = sd_event_source_set_enabled(source, SD_EVENT_OFF);

    if (r >= 0)
        r = sd_event_source_set_priority(source, link->env.priority);
    return r < 0 ? r : sd_event_source_set_description(source, description);
}

static int add_sources(struct redis_link *link)
{
    int r;

    r = sd_event_add_time(link->env.event, &link->timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_US,
                          on_timer, link);
    if (r >= 0)
        r = prepare_source(link, link->timer, "redis-timer");
    if (r >= 0)
        r = sd_event_add_defer(link->env.event, &link->kick, on_kick, link);
    return r < 0 ? r : prepare_source(link, link->kick, "redis-kick");
}

int redis_link_new(const struct redis_settings *settings, const struct redis_store_env *env,
                   const struct redis_link_owner *owner, struct redis_link **ret_link)
{
    struct redis_link *link = calloc(1, sizeof *link);
    int r;

    if (!link)
        return -ENOMEM;
    link->settings = settings;
    link->env = *env;
    link->owner = *owner;
    redis_wire_init(&link->wire);
    link->armed = BOOT_NEVER;
    link->backoff.min_ms = settings->backoff_min_ms;
    link->backoff.max_ms = settings->backoff_max_ms;
    r = add_sources(link);
    if (r < 0) {
        redis_link_free(link);
        return r;
    }
    *ret_link = link;
    return 0;
}

void redis_link_free(struct redis_link *link)
{
    if (!link)
        return;
    orphan_all(disconnect(link), "the link is closed");
    sd_event_source_disable_unref(link->timer);
    sd_event_source_disable_unref(link->kick);
    redis_wire_done(&link->wire);
    free(link);
}

void redis_link_kick(struct redis_link *link, bool urgent)
{
    link->urgent = link->urgent || urgent;
    if (sd_event_source_set_enabled(link->kick, SD_EVENT_ONESHOT) < 0)
        link->faulty = true;
}

bool redis_link_has_room(const struct redis_link *link)
{
    /* The login waits for the first command, so that one write takes both. */
    bool drained = !redis_wire_is_blocked(&link->wire) || !link->wire.first;

    return is_connected(link) && drained && link->wire.in_flight < REDIS_LINK_IN_FLIGHT_MAX;
}

int redis_link_send(struct redis_link *link, const struct redis_command *command,
                    struct redis_link_request *request)
{
    int r;

    if (!is_connected(link))
        return -ENOTCONN;
    r = redis_wire_add(&link->wire, command, request);
    if (r < 0)
        return r;
    /* An error here shows again, when the loop finds the socket ready or the deadline passed:
     * done() is never called from within a send. */
    (void)redis_wire_flush(&link->wire);
    rearm(link);
    return 0;
}

bool redis_link_sound(const struct redis_link *link, struct boot now, int64_t slack_ms)
{
    struct boot due = due_instant(link);
    bool kicked = sd_event_source_get_enabled(link->kick, NULL) > 0;

    if (link->faulty || link->armed.ms != due.ms)
        return false;
    if (boot_reached(now, boot_add(due, slack_ms)))
        return false;
    return kicked || due.ms != BOOT_NEVER.ms || !link->owner.wants(link->owner.context);
}
