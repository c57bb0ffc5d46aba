/* SPDX-License-Identifier: MIT
 * redis/store.h: the store on a Redis server: one connection of our own, hiredis's reader and
 * formatter as the codec, the Lua scripts by EVALSHA. Connects lazily, at the first submitted call.
 *
 * Every call is one command; replies come in order. A call without a whole reply within
 * command_timeout closes the connection (the next reply on it would answer the wrong question): it,
 * and all that were sent after it, get STORE_NO_ANSWER; calls not yet sent stay queued and are
 * composed when a connection is there again.
 *
 * A connection that nobody needs for longer than idle_timeout is closed; see
 * redis_store_expect(). */
#ifndef ROTA_REDIS_STORE_H
#define ROTA_REDIS_STORE_H
#include "core/store.h"
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct redis_link;
struct redis_store;
struct tls_facts; /* tls/tls.h */

struct redis_endpoint {
    bool is_unix;
    bool tls;
    const char *host; /* an address, a host name, or the socket's path */
    uint16_t port;
    const char *text; /* for people */
};

/* For the endpoints that have TLS. Paths are absolute. */
struct redis_tls {
    const char *module;     /* librota-tls.so */
    const char *ca;         /* NULL: the system's bundle */
    const char *cert, *key; /* both or neither */
    const char *name;       /* to verify and to send; NULL: each endpoint's host */
    int64_t earliest_s;     /* Unix seconds: a clock that says less is not believed */
};

struct redis_settings {
    const struct redis_endpoint *endpoints; /* tried in turn */
    size_t endpoint_count;
    const char *prefix;
    const char *client_name;         /* CLIENT SETNAME: the device */
    const char *username, *password; /* or NULL */
    int database;
    struct redis_tls tls;
    int64_t connect_timeout_ms; /* for name, connection, TLS and login together */
    int64_t command_timeout_ms;
    int64_t backoff_min_ms, backoff_max_ms;
    int64_t idle_timeout_ms; /* see redis_store_expect() */
    int64_t keepalive_ms;    /* idle before TCP asks whether the peer is there; 0: never */
};

enum redis_link_state {
    REDIS_LINK_IDLE, /* no connection, none wanted; FAULT_NONE: closed from here, or not tried on */
    REDIS_LINK_CONNECTING,
    REDIS_LINK_UP,
    REDIS_LINK_WAITING /* the last try failed; the next one is armed */
};

struct redis_link_change {
    enum redis_link_state state;
    const char *endpoint;
    enum fault fault;   /* why there is no connection; FAULT_NONE when up */
    const char *reason; /* a sentence part ("no connection within 10 s", "connection refused", "the
                           password is refused ..."), or NULL */
    int64_t window_ms;  /* WAITING: the next try is within it */
    const struct tls_facts *tls; /* UP: what TLS has agreed on; NULL: in the clear */
};

/* Called at each change that people may care about, from the event loop, never from a function of
 * this header; it may submit and cancel calls. The texts are valid during the call only. */
typedef void redis_link_watch(void *context, const struct redis_link_change *change);

/* A numeric IPv4 or IPv6 address, with its end. */
#define REDIS_ADDRESS_SIZE 46
/* Addresses of one name that are used; more are not looked at. */
#define REDIS_NAMES_MAX 8

struct redis_names {
    size_t count;
    char address[REDIS_NAMES_MAX][REDIS_ADDRESS_SIZE];
};

/* One question for the addresses of a name, embedded in its asker. */
struct redis_lookup {
    /* names, at least one, each numeric; or NULL and a sentence part that says why. */
    void (*done)(struct redis_lookup *lookup, const struct redis_names *names, const char *why);
    void *resolver; /* the answerer's own */
};

struct redis_store_env {
    sd_event *event;
    int64_t priority; /* of its I/O and timers in the loop */
    void (*random)(void *context, void *buffer, size_t size);
    redis_link_watch *watch;
    /* Asks for the addresses of a name, without blocking: 0, and done() is called once, later, from
     * the event loop; or a negative errno, and it is not. One is out at a time. Whoever asks has
     * the deadline. NULL: no names. */
    int (*resolve)(void *context, const char *host, uint16_t port, struct redis_lookup *lookup);
    /* Forgets a question that is out. */
    void (*resolve_cancel)(void *context, struct redis_lookup *lookup);
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

/* The password may have been replaced. A connection stays as it is; where the last try to get one
 * has ended badly, and it is another password, the next try comes at once. May be called by the
 * watch. 1: it is another one; 0: it is the same; -ENOMEM. */
int redis_store_set_password(struct redis_store *s, const char *password);

/* What the last try to get a connection has ended by may be mended: the next one comes at once. */
void redis_store_retry(struct redis_store *s);

/* The connection, for a command that is no call of the store's: to be sent from within a call's
 * compose(), which then says that the call is not wanted; its reply goes by redis/link.h. */
struct redis_link *redis_store_link(struct redis_store *s);

/* When the owner will need the connection, as it knows after each event; until it is first called,
 * always. Where nothing is queued or in flight and need->next is further off than idle_timeout, the
 * connection is closed, a moment later. It is opened command_timeout before need->watch; all other
 * questions connect when they are asked, so that login and question are one flight. */
void redis_store_expect(struct redis_store *s, const struct store_need *need);

/* For the watchdog: false where something in flight or waiting has no timer, or a timer is overdue
 * by `slack_ms`. */
bool redis_store_sound(const struct redis_store *s, struct boot now, int64_t slack_ms);
/* In flight or queued. */
size_t redis_store_pending(const struct redis_store *s);
#endif
