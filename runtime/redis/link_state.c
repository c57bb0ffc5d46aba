/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "redis/link_internal.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

static enum redis_link_state public_state(enum phase phase)
{
    static const enum redis_link_state states[] = {
        [PHASE_IDLE] = REDIS_LINK_IDLE,
        [PHASE_NAMING] = REDIS_LINK_CONNECTING,
        [PHASE_CONNECTING] = REDIS_LINK_CONNECTING,
        [PHASE_SECURING] = REDIS_LINK_CONNECTING,
        [PHASE_UNPROVEN] = REDIS_LINK_CONNECTING,
        [PHASE_UP] = REDIS_LINK_UP,
        [PHASE_WAITING] = REDIS_LINK_WAITING,
    };

    return states[phase];
}

void redis_link_set_phase(struct redis_link *link, enum phase phase,
                          const struct redis_fault *fault)
{
    enum redis_link_state before = public_state(link->phase), after = public_state(phase);
    struct redis_link_change change = {
        .state = after,
        .endpoint = redis_route_text(&link->route),
        .fault = fault->class,
        .reason = fault->class == FAULT_NONE ? NULL : fault->reason,
        .window_ms = phase == PHASE_WAITING ? redis_retry_window_ms(&link->retry) : 0,
    };
    struct tls_facts facts;

    if (phase == PHASE_UP && redis_transport_facts(&link->wire.transport, &facts))
        change.tls = &facts;
    link->phase = phase;
    if (phase == PHASE_IDLE && link->finder)
        link->settings->finder->rest(link->finder);
    if (after != before && link->owner.changed)
        link->owner.changed(link->owner.context, &change);
}

static struct boot earliest_deadline(const struct redis_link *link)
{
    struct boot login = link->wire.login.left > 0 ? link->connect_deadline : BOOT_NEVER;

    return boot_min(login, redis_wire_deadline(&link->wire));
}

struct boot redis_link_due(const struct redis_link *link)
{
    switch (link->phase) {
    case PHASE_IDLE:
        return redis_link_open_at(link);
    case PHASE_NAMING:
        return link->connect_deadline;
    case PHASE_CONNECTING:
    case PHASE_SECURING:
        return link->address_deadline;
    case PHASE_UNPROVEN:
        return earliest_deadline(link);
    case PHASE_UP:
        return boot_min(link->close_at, earliest_deadline(link));
    case PHASE_WAITING:
        return link->retry_at;
    }
    return BOOT_NEVER;
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

void redis_link_rearm(struct redis_link *link)
{
    redis_link_plan_close(link);
    if (redis_alarm_set(&link->alarm, redis_link_due(link)) < 0 || set_io(link) < 0)
        link->faulty = true;
}

struct redis_link_request *redis_link_disconnect(struct redis_link *link)
{
    if (link->phase == PHASE_NAMING && !link->finder)
        link->env.resolve_cancel(link->env.context, &link->lookup);
    link->io = sd_event_source_disable_unref(link->io);
    link->io_events = 0;
    return redis_wire_close(&link->wire);
}

void redis_link_orphan(struct redis_link_request *orphans, const struct redis_fault *fault)
{
    while (orphans) {
        struct redis_link_request *next = orphans->next;

        orphans->done(orphans, NULL, fault);
        orphans = next;
    }
}

/* Where the next try begins. What has served, or will by itself, is asked again; a replica is not.
 */
static void turn_route(struct redis_link *link, enum fault class, bool served)
{
    if (class == FAULT_BUSY || class == FAULT_CLOCK || (class == FAULT_LINK && served))
        redis_route_stay(&link->route);
    else
        redis_route_leave(&link->route);
}

void redis_link_drop(struct redis_link *link, const struct redis_fault *fault)
{
    struct redis_link_request *orphans = redis_link_disconnect(link);
    bool served = link->phase == PHASE_UP;
    struct boot now = redis_link_now();
    uint64_t random = 0;

    link->env.random(link->env.context, &random, sizeof random);
    redis_retry_ended(&link->retry, fault->class, now);
    link->retry_at = boot_add(now, redis_retry_next_ms(&link->retry, fault->class, random));
    redis_link_set_phase(link, PHASE_WAITING, fault);
    turn_route(link, fault->class, served);
    redis_link_rearm(link);
    if (link->urgent)
        redis_link_kick(link, true);
    redis_link_orphan(orphans, fault);
}

void redis_link_become_up(struct redis_link *link)
{
    redis_retry_up(&link->retry, redis_link_now());
    link->wire.transport.traffic.connections++;
    link->urgent = false;
    link->hurried = false;
    link->login_first = false;
    redis_link_set_phase(link, PHASE_UP, &REDIS_LINK_NO_FAULT);
}

bool redis_link_is_used(const struct redis_link *link)
{
    return link->wire.first || link->owner.wants(link->owner.context);
}

void redis_link_rest(struct redis_link *link, const struct redis_fault *fault)
{
    redis_link_disconnect(link);
    redis_retry_ended(&link->retry, FAULT_LINK, redis_link_now());
    redis_route_stay(&link->route);
    redis_link_set_phase(link, PHASE_IDLE, fault);
    redis_link_rearm(link);
}

static void explain_loss(const struct redis_link *link, int error, struct redis_fault *ret_fault)
{
    size_t used;

    if (error == -EPROTO && link->wire.transport.fault.reason[0] != '\0') {
        redis_secure_fault(&link->wire.transport.fault, ret_fault);
        return;
    }
    redis_fault_of_errno(error, ret_fault);
    used = strlen(ret_fault->reason);
    if (link->phase == PHASE_SECURING)
        text_copy(ret_fault->reason + used, sizeof ret_fault->reason - used,
                  " during the TLS handshake");
}

void redis_link_lose(struct redis_link *link, int error)
{
    struct redis_fault fault;

    explain_loss(link, error, &fault);
    if (link->phase != PHASE_UP || redis_link_is_used(link))
        redis_link_drop(link, &fault);
    else
        redis_link_rest(link, &fault);
}
