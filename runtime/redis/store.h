/* SPDX-License-Identifier: MIT
 * redis/store.h: the store on a Redis server: one connection of our own, hiredis's reader and
 * formatter as the codec, the Lua scripts by EVALSHA. Connects lazily, at the first submitted call.
 *
 * Every call is one command; replies come in order. A call without a whole reply within
 * command_timeout closes the connection (the next reply on it would answer the wrong question): it,
 * and all that were sent after it, get STORE_NO_ANSWER; calls not yet sent stay queued and are
 * composed when a connection is there again. */
#ifndef ROTA_REDIS_STORE_H
#define ROTA_REDIS_STORE_H
#include "core/store.h"
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct redis_store;

struct redis_endpoint {
    bool is_unix;
    const char *host; /* numeric, or the socket's path */
    uint16_t port;
    const char *text; /* for people */
};

struct redis_settings {
    const struct redis_endpoint *endpoints; /* tried in turn */
    size_t endpoint_count;
    const char *prefix;
    const char *client_name;         /* CLIENT SETNAME: the device */
    const char *username, *password; /* or NULL */
    int database;
    int64_t connect_timeout_ms, command_timeout_ms;
    int64_t backoff_min_ms, backoff_max_ms;
    uint32_t history_cap_default;
};

enum redis_link_state {
    REDIS_LINK_IDLE, /* no connection, none wanted */
    REDIS_LINK_CONNECTING,
    REDIS_LINK_UP,
    REDIS_LINK_WAITING /* the last try failed; the next one is armed */
};

/* Called at each change that people may care about, from the event loop, never from a function of
 * this header; it may submit and cancel calls. `reason` is a sentence part ("no connection within
 * 10 s", "connection refused", "WRONGPASS ..."), NULL when up. `window_ms`: the next try is within
 * it. */
typedef void redis_link_watch(void *context, enum redis_link_state state, const char *endpoint,
                              const char *reason, int64_t window_ms);

struct redis_store_env {
    sd_event *event;
    int64_t priority; /* of its I/O and timers in the loop */
    void (*random)(void *context, void *buffer, size_t size);
    redis_link_watch *watch;
    void *context;
};

/* Copies the settings. 0, -ENOMEM, or an error of sd-event. */
int redis_store_new(const struct redis_settings *settings, const struct redis_store_env *env,
                    struct redis_store **ret_store);
/* Closes; calls that are still queued or in flight are dropped without an answer. */
void redis_store_free(struct redis_store *s);

/* Queues a call; allowed in answer(), which is never called from here. `urgent`: a lease is held:
 * where the connection is down, the first new try comes at once. A call that is queued or in flight
 * already must not be submitted again. */
void redis_store_submit(struct redis_store *s, struct store_call *call, bool urgent);
/* Forgets a call: no answer comes, whatever arrives. Safe on an idle one. */
void redis_store_cancel(struct redis_store *s, struct store_call *call);

/* For the watchdog: false where something in flight or waiting has no timer, or a timer is overdue
 * by `slack_ms`. */
bool redis_store_sound(const struct redis_store *s, struct boot now, int64_t slack_ms);
/* In flight or queued. */
size_t redis_store_pending(const struct redis_store *s);
#endif
