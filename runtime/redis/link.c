/* SPDX-License-Identifier: MIT */
#include "redis/link.h"
#include "base/units.h"
#include "redis/link_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct boot redis_link_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (struct boot){ (int64_t)t.tv_sec * SECOND_MS + t.tv_nsec / 1000000 };
}

static void drop_silent(struct redis_link *link, const char *missing, int64_t timeout_ms)
{
    struct redis_fault fault;

    redis_fault_of_silence(missing, timeout_ms, &fault);
    redis_link_drop(link, &fault);
}

/* A server that has no TLS there takes a handshake for the begin of a command, and waits. */
static const char *missing_of_tls(const struct redis_link *link)
{
    return link->wire.transport.heard ? "end of the TLS handshake"
                                      : "answer to TLS (is that its port for TLS?)";
}

/* What is due has not come. */
static void give_up_waiting(struct redis_link *link, struct boot now)
{
    const struct redis_settings *settings = link->settings;

    if (link->phase == PHASE_NAMING)
        drop_silent(link, "address for its name", settings->connect_timeout_ms);
    else if (redis_link_is_opening(link) && redis_link_connect_next(link))
        return;
    else if (link->phase == PHASE_SECURING)
        drop_silent(link, missing_of_tls(link), settings->connect_timeout_ms);
    else if (link->phase == PHASE_CONNECTING ||
             (link->wire.login.left > 0 && boot_reached(now, link->connect_deadline)))
        drop_silent(link, "connection", settings->connect_timeout_ms);
    else
        drop_silent(link, "reply", settings->command_timeout_ms);
}

static void try_again(struct redis_link *link)
{
    if (link->moved || link->owner.wants(link->owner.context)) {
        redis_link_connect(link);
        return;
    }
    redis_link_set_phase(link, PHASE_IDLE, &REDIS_LINK_NO_FAULT);
    redis_link_rearm(link);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
    struct redis_link *link = context;
    struct boot now = redis_link_now();

    (void)source;
    (void)usec;
    redis_alarm_rang(&link->alarm);
    redis_link_plan_close(link); /* a call may be queued by now */
    if (!boot_reached(now, redis_link_due(link)))
        redis_link_rearm(link);
    else if (link->phase == PHASE_IDLE)
        redis_link_open_ahead(link);
    else if (link->phase == PHASE_WAITING)
        try_again(link);
    else if (link->phase == PHASE_UP && boot_reached(now, link->close_at))
        redis_link_rest(link, &REDIS_LINK_NO_FAULT);
    else
        give_up_waiting(link, now);
    return 0;
}

static int on_kick(sd_event_source *source, void *context)
{
    struct redis_link *link = context;
    bool wanted = link->owner.wants(link->owner.context);

    (void)source;
    if (wanted && (link->phase == PHASE_IDLE ||
                   (link->phase == PHASE_WAITING && link->urgent && !link->hurried)))
        redis_link_connect(link);
    else
        redis_link_pump(link);
    /* Kept while a connection is being made: should that end badly, the next try comes at once. */
    if (link->phase == PHASE_UP || link->phase == PHASE_WAITING)
        link->urgent = false;
    return 0;
}

static int add_sources(struct redis_link *link)
{
    const struct redis_store_env *env = &link->env;
    int r = redis_alarm_init(&link->alarm, env->event, env->priority, on_timer, link);

    if (r >= 0)
        r = sd_event_add_defer(env->event, &link->kick, on_kick, link);
    return r < 0 ? r : redis_alarm_prepare(link->kick, env->priority, "redis-kick");
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
    redis_route_init(&link->route, settings);
    link->need = (struct store_need){ .next = STORE_NEED_NOW, .watch = BOOT_NEVER };
    link->close_at = BOOT_NEVER;
    link->opened_for = BOOT_NEVER;
    redis_retry_init(&link->retry, settings->backoff_min_ms, settings->backoff_max_ms);
    r = add_sources(link);
    if (r >= 0 && settings->finder)
        r = redis_link_make_finder(link);
    if (r < 0) {
        redis_link_free(link);
        return r;
    }
    *ret_link = link;
    return 0;
}

void redis_link_free(struct redis_link *link)
{
    struct redis_fault closed = { .class = FAULT_OURS, .reason = "the link is closed" };

    if (!link)
        return;
    redis_link_orphan(redis_link_disconnect(link), &closed);
    if (link->finder)
        link->settings->finder->free(link->finder);
    redis_alarm_done(&link->alarm);
    sd_event_source_disable_unref(link->kick);
    redis_wire_done(&link->wire);
    redis_secure_done(&link->secure);
    free(link);
}

void redis_link_kick(struct redis_link *link, bool urgent)
{
    link->urgent = link->urgent || urgent;
    if (sd_event_source_set_enabled(link->kick, SD_EVENT_ONESHOT) < 0)
        link->faulty = true;
}

void redis_link_retry(struct redis_link *link)
{
    if (link->phase != PHASE_WAITING)
        return;
    link->hurried = false;
    redis_link_kick(link, true);
}

bool redis_link_has_room(const struct redis_link *link)
{
    /* The login waits for the first command, so that one write takes both. */
    bool drained = !redis_wire_is_blocked(&link->wire) || !link->wire.first;

    if (link->login_first && link->wire.login.left > 0)
        return false;
    return redis_link_is_connected(link) && drained &&
           link->wire.in_flight < REDIS_LINK_IN_FLIGHT_MAX;
}

int redis_link_send(struct redis_link *link, const struct redis_command *command,
                    struct redis_link_request *request)
{
    int r;

    if (!redis_link_is_connected(link))
        return -ENOTCONN;
    r = redis_wire_add(&link->wire, command, request);
    if (r < 0)
        return r;
    /* An error here shows again, when the loop finds the socket ready or the deadline passed:
     * done() is never called from within a send. */
    (void)redis_wire_flush(&link->wire);
    redis_link_rearm(link);
    return 0;
}

bool redis_link_is_up(const struct redis_link *link)
{
    return link->phase == PHASE_UP;
}

const struct redis_route *redis_link_route(const struct redis_link *link)
{
    return &link->route;
}

const struct redis_traffic *redis_link_traffic(const struct redis_link *link)
{
    return &link->wire.transport.traffic;
}

bool redis_link_facts(const struct redis_link *link, struct tls_facts *ret_facts)
{
    return redis_link_is_connected(link) && redis_transport_facts(&link->wire.transport, ret_facts);
}

bool redis_link_sound(const struct redis_link *link, struct boot now, int64_t slack_ms)
{
    struct boot due = redis_link_due(link);
    bool kicked = sd_event_source_get_enabled(link->kick, NULL) > 0;

    if (link->faulty || link->alarm.armed.ms != due.ms)
        return false;
    if (boot_reached(now, boot_add(due, slack_ms)))
        return false;
    return kicked || due.ms != BOOT_NEVER.ms || !link->owner.wants(link->owner.context);
}
