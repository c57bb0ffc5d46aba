/* SPDX-License-Identifier: MIT
 * redis/store.h: the store in Redis, whatever that is: one server (redis/node.h), or several that
 * librota-topology.so makes one of (redis/cluster.h, redis/quorum.h).
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
#include "redis/traffic.h"
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

struct redis_command;    /* redis/outbox.h */
struct redis_finder_ops; /* redis/finder.h */
struct redis_parcel;     /* redis/node.h */
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
    /* The rest is librota-topology.so's; at most one of the three is there. */
    /* Sentinels that know where the master is, tried in turn; then `endpoints` are not used. */
    const struct redis_endpoint *sentinels;
    size_t sentinel_count;
    const char *master; /* its name there */
    const char *sentinel_username, *sentinel_password;
    const struct redis_finder_ops *finder; /* redis/finder.h; NULL: `endpoints` are used */
    bool cluster;                          /* `endpoints` are nodes of a Redis Cluster */
    /* A quorum's: each whole, with one endpoint. */
    const struct redis_settings *servers;
    size_t server_count;
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
    /* An error reply says that the command belongs to another node of a cluster; see redis/node.h.
     * NULL: it is an error. */
    bool (*redirect)(void *context, struct redis_parcel *parcel, const char *error);
    /* Before a call is answered: to set right what the reply says of the server's clock, where
     * there are several of them. NULL: it is right. */
    void (*adjust)(void *context, struct store_reply *reply);
    void *context;
};

/* store_request.raw of STORE_RAW: a command for people that is none of the store's; the answer has
 * the reply in store_reply.raw, a struct redisReply. */
struct redis_raw {
    const struct redis_command *command; /* it, and its texts, must stay until the answer */
    int64_t timeout_ms;
    bool changes; /* it is no question */
};

struct redis_store_facts {
    struct redis_traffic traffic;
    size_t servers, up;   /* of those that are needed: with a connection that has served */
    const char *endpoint; /* for people: the server that is used, or was tried last */
    const char *address;  /* of one server, where it has a connection: the host, as a number */
};

/* What a store is made of. */
struct redis_store_ops {
    void (*free)(struct redis_store *s);
    void (*submit)(struct redis_store *s, struct store_call *call, bool urgent);
    void (*cancel)(struct redis_store *s, struct store_call *call);
    int (*set_password)(struct redis_store *s, size_t of, const char *password);
    void (*retry)(struct redis_store *s);
    void (*expect)(struct redis_store *s, const struct store_need *need);
    bool (*sound)(const struct redis_store *s, struct boot now, int64_t slack_ms);
    size_t (*pending)(const struct redis_store *s);
    void (*facts)(const struct redis_store *s, struct redis_store_facts *ret_facts);
};

/* The first member of each kind of store. */
struct redis_store {
    const struct redis_store_ops *ops;
};

/* The store on one server (redis/node.h): on settings->endpoints, which are tried in turn, or where
 * settings->finder says. Copies the settings. 0, -ENOMEM, or an error of sd-event. */
int redis_node_new(const struct redis_settings *settings, const struct redis_store_env *env,
                   struct redis_store **ret_store);

/* Closes; calls that are still queued or in flight are dropped without an answer. */
static inline void redis_store_free(struct redis_store *s)
{
    if (s)
        s->ops->free(s);
}

/* Queues a call; allowed in answer(), which is never called from here. `urgent`: a lease is held:
 * where the connection is down, the first new try comes at once. A call that is queued or in flight
 * already must not be submitted again. */
static inline void redis_store_submit(struct redis_store *s, struct store_call *call, bool urgent)
{
    s->ops->submit(s, call, urgent);
}

/* Forgets a call: no answer comes, whatever arrives. Safe on an idle one. */
static inline void redis_store_cancel(struct redis_store *s, struct store_call *call)
{
    s->ops->cancel(s, call);
}

/* Whose password: the number of a server of a quorum, 0 where there is none, or this. */
#define REDIS_PASSWORD_OF_SENTINELS SIZE_MAX

/* The password may have been replaced. A connection stays as it is; where the last try to get one
 * has ended badly, and it is another password, the next try comes at once. May be called by the
 * watch. 1: it is another one; 0: it is the same; -ENOMEM. */
static inline int redis_store_set_password(struct redis_store *s, size_t of, const char *password)
{
    return s->ops->set_password(s, of, password);
}

/* What the last try to get a connection has ended by may be mended: the next one comes at once. */
static inline void redis_store_retry(struct redis_store *s)
{
    s->ops->retry(s);
}

/* When the owner will need the connection, as it knows after each event; until it is first called,
 * always. Where nothing is queued or in flight and need->next is further off than idle_timeout, the
 * connection is closed, a moment later. It is opened command_timeout before need->watch; all other
 * questions connect when they are asked, so that login and question are one flight. */
static inline void redis_store_expect(struct redis_store *s, const struct store_need *need)
{
    s->ops->expect(s, need);
}

/* For the watchdog: false where something in flight or waiting has no timer, or a timer is overdue
 * by `slack_ms`. */
static inline bool redis_store_sound(const struct redis_store *s, struct boot now, int64_t slack_ms)
{
    return s->ops->sound(s, now, slack_ms);
}

/* In flight or queued. */
static inline size_t redis_store_pending(const struct redis_store *s)
{
    return s->ops->pending(s);
}

/* As it is now; endpoint is valid until the next event. */
static inline void redis_store_facts(const struct redis_store *s,
                                     struct redis_store_facts *ret_facts)
{
    s->ops->facts(s, ret_facts);
}
#endif
