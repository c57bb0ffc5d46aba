/* SPDX-License-Identifier: MIT */
#include "redis/sentinel.h"
#include "base/text.h"
#include "base/units.h"
#include "redis/host.h"
#include "redis/sentinel_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Between two rounds only to have somebody to watch. */
#define AGAIN_MIN_MS SECOND_MS

/* --- what is found --- */

/* For people, before and between: words, where there is no address. */
static void show_master(struct sentinel_finder *f)
{
    char shown[SENTINEL_NAME_SHOWN_SIZE];
    const char *master = f->settings->master;

    text_format(f->text, sizeof f->text, "the master '%s'",
                text_escape(shown, sizeof shown, master, strlen(master)));
    f->address.host[0] = '\0';
}

static void tell_not_found(struct sentinel_finder *f, const struct redis_fault *fault)
{
    f->finding = false;
    show_master(f);
    f->env.found(f->env.context, NULL, fault);
}

static void on_names(struct redis_lookup *lookup, const struct redis_names *names, const char *why)
{
    struct sentinel_finder *f =
        (struct sentinel_finder *)((char *)lookup - offsetof(struct sentinel_finder, lookup));
    struct redis_fault fault;

    f->finding = false;
    if (!names)
        redis_fault_of_name(why, &fault);
    f->env.found(f->env.context, names, names ? NULL : &fault);
}

static void answer_link(struct sentinel_finder *f)
{
    struct redis_names names = { .count = 1 };
    int r;

    if (strlen(f->host) < REDIS_ADDRESS_SIZE && redis_host_is_numeric(f->host)) {
        f->finding = false;
        text_copy(names.address[0], sizeof names.address[0], f->host);
        f->env.found(f->env.context, &names, NULL);
        return;
    }
    redis_lookups_cancel(&f->lookups, &f->lookup);
    f->lookup.done = on_names;
    r = redis_lookups_ask(&f->lookups, f->host, f->base.server.port, &f->lookup);
    if (r < 0)
        on_names(&f->lookup, NULL, "its name cannot be resolved");
}

static void tell_moved(struct sentinel_finder *f, const struct sentinel_address *to)
{
    struct redis_fault fault = { .class = FAULT_BUSY, .closes = true };
    char text[SENTINEL_TEXT_SIZE];

    f->switched = true;
    sentinel_address_text(to, text);
    text_format(fault.reason, sizeof fault.reason, "by its sentinels the master is %s now", text);
    f->env.moved(f->env.context, &fault);
}

void sentinel_found(struct sentinel_finder *f, const struct sentinel_address *address)
{
    bool same = sentinel_address_same(&f->address, address);

    if (!f->finding) {
        if (!same)
            tell_moved(f, address);
        return;
    }
    f->address = *address;
    memcpy(f->host, address->host, sizeof f->host);
    f->base.server.port = address->port;
    sentinel_address_text(address, f->text);
    answer_link(f);
}

void sentinel_not_found(struct sentinel_finder *f)
{
    struct redis_fault fault;

    if (!f->finding) {
        sentinel_unwatched(f);
        return;
    }
    sentinel_round_fault(&f->round, f->settings->master, &fault);
    tell_not_found(f, &fault);
}

void sentinel_unwatched(struct sentinel_finder *f)
{
    uint64_t random = 0;

    f->loop.random(f, &random, sizeof random);
    f->again_at = boot_add(redis_link_now(), backoff_next_ms(&f->backoff, random));
}

/* --- made and freed --- */

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
    struct sentinel_finder *f = context;

    (void)source;
    (void)usec;
    redis_alarm_rang(&f->alarm);
    sentinel_ask_on_time(f, redis_link_now());
    return 0;
}

static int on_sweep(sd_event_source *source, void *context)
{
    struct sentinel_finder *f = context;

    (void)source;
    for (size_t i = 0; i < f->order.count; i++)
        sentinel_peer_sweep(&f->peers[i]);
    return 0;
}

static void random_of_link(void *context, void *buffer, size_t size)
{
    const struct sentinel_finder *f = context;

    f->env.loop->random(f->env.loop->context, buffer, size);
}

static int resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    struct sentinel_finder *f = context;

    return redis_lookups_ask(&f->lookups, host, port, lookup);
}

static void resolve_cancel(void *context, struct redis_lookup *lookup)
{
    struct sentinel_finder *f = context;

    redis_lookups_cancel(&f->lookups, lookup);
}

static int make_peers(struct sentinel_finder *f)
{
    size_t count = f->settings->sentinel_count;

    f->peers = calloc(count, sizeof *f->peers);
    if (!f->peers)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        sentinel_peer_init(&f->peers[i], &f->owner, &f->loop, f->settings, i);
    f->order.count = count;
    return 0;
}

static int add_sources(struct sentinel_finder *f)
{
    const struct redis_store_env *loop = &f->loop;
    int r = redis_alarm_init(&f->alarm, loop->event, loop->priority, on_timer, f);

    if (r >= 0)
        r = sd_event_add_defer(loop->event, &f->sweep, on_sweep, f);
    return r < 0 ? r : redis_alarm_prepare(f->sweep, loop->priority, "sentinel-sweep");
}

static int fill(struct sentinel_finder *f)
{
    int r;

    f->base.server = (struct redis_endpoint){ .host = f->host,
                                              .text = f->text,
                                              .tls = f->settings->sentinels[0].tls };
    show_master(f);
    f->backoff.min_ms = AGAIN_MIN_MS;
    f->backoff.max_ms = f->settings->backoff_max_ms;
    r = make_peers(f);
    return r < 0 ? r : add_sources(f);
}

static void finder_free(struct redis_finder *finder)
{
    struct sentinel_finder *f = (struct sentinel_finder *)finder;

    if (!f)
        return;
    redis_lookups_done(&f->lookups); /* first: where one is cancelled, the next is asked */
    for (size_t i = 0; i < f->order.count; i++)
        sentinel_peer_done(&f->peers[i]);
    redis_alarm_done(&f->alarm);
    sd_event_source_disable_unref(f->sweep);
    free(f->peers);
    free(f);
}

static int finder_make(const struct redis_finder_env *env, struct redis_finder **ret_finder)
{
    struct sentinel_finder *f = calloc(1, sizeof *f);
    int r;

    if (!f)
        return -ENOMEM;
    f->env = *env;
    f->settings = env->settings;
    f->loop = *env->loop;
    f->loop.random = random_of_link;
    f->loop.resolve = resolve;
    f->loop.resolve_cancel = resolve_cancel;
    f->loop.context = f;
    f->lookups.env = env->loop;
    f->owner = sentinel_ask_owner;
    f->owner.context = f;
    f->step_at = f->deadline = f->again_at = BOOT_NEVER;
    r = fill(f);
    if (r < 0) {
        finder_free(&f->base);
        return r;
    }
    *ret_finder = &f->base;
    return 0;
}

/* --- as the link wants it --- */

static void finder_find(struct redis_finder *finder, bool others)
{
    struct sentinel_finder *f = (struct sentinel_finder *)finder;

    redis_lookups_cancel(&f->lookups, &f->lookup);
    f->finding = true;
    others = others && !f->switched;
    f->switched = false;
    sentinel_ask(f, others);
}

static void finder_rest(struct redis_finder *finder)
{
    struct sentinel_finder *f = (struct sentinel_finder *)finder;

    redis_lookups_cancel(&f->lookups, &f->lookup);
    f->finding = false;
    sentinel_ask_stop(f);
}

const struct redis_finder_ops redis_sentinel_finder = {
    .make = finder_make, .free = finder_free, .find = finder_find, .rest = finder_rest
};
