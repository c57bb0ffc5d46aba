/* SPDX-License-Identifier: MIT
 * redis/link_internal.h: what the files of the link share: link.c (owner and event loop),
 * link_state.c (the phase, and what ends it), link_connect.c (up to the open socket),
 * link_find.c (whose address that is), link_replies.c (what comes in), link_idle.c (no connection
 * while none is needed). */
#ifndef ROTA_REDIS_LINK_INTERNAL_H
#define ROTA_REDIS_LINK_INTERNAL_H
#include "redis/alarm.h"
#include "redis/finder.h"
#include "redis/link.h"
#include "redis/retry.h"
#include "redis/route.h"
#include "redis/wire.h"

#define REDIS_LINK_NO_FAULT ((struct redis_fault){ .class = FAULT_NONE })

enum phase {
    PHASE_IDLE,
    PHASE_NAMING, /* the host's addresses are asked for, or who the server is */
    PHASE_CONNECTING,
    PHASE_SECURING, /* connected: the TLS handshake is under way */
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
    struct redis_route route;
    struct redis_finder *finder; /* settings->finder's; NULL: there is none */
    struct redis_lookup lookup;  /* out in PHASE_NAMING, where there is no finder */
    struct redis_secure secure;
    struct redis_wire wire;
    sd_event_source *io, *kick;
    struct redis_alarm alarm;
    uint32_t io_events;
    struct redis_retry retry;
    struct boot connect_deadline; /* of the whole try: name, connection, login */
    struct boot address_deadline; /* of connecting to one of its addresses */
    struct boot retry_at;
    struct store_need need;
    struct boot close_at;   /* PHASE_UP: nobody needs it then; BOOT_NEVER: it stays */
    struct boot opened_for; /* the last need.watch that a connection was opened ahead for */
    bool urgent;            /* somebody cannot wait for the window */
    bool hurried;           /* and that was granted since the link was up */
    bool moved;             /* connected anew though nothing waits, as the last one was kept */
    bool login_first;       /* the last login was refused: commands wait until it is accepted */
    bool faulty;            /* the event loop refused something: only the watchdog can help */
};

/* link_state.c */

static inline bool redis_link_is_connected(const struct redis_link *link)
{
    return link->phase == PHASE_UNPROVEN || link->phase == PHASE_UP;
}

static inline void redis_link_tell(struct redis_link *link, enum redis_link_step step)
{
    if (link->owner.step)
        link->owner.step(link->owner.context, step);
}

/* On its way to an address, which may yet be left for the next one. */
static inline bool redis_link_is_opening(const struct redis_link *link)
{
    return link->phase == PHASE_CONNECTING || link->phase == PHASE_SECURING;
}

void redis_link_set_phase(struct redis_link *link, enum phase phase,
                          const struct redis_fault *fault);
/* When the alarm has to ring in this state. */
struct boot redis_link_due(const struct redis_link *link);
/* After every change: what the loop wakes us for follows from the state alone. */
void redis_link_rearm(struct redis_link *link);
/* Closes the connection, or forgets the question for its address. Returns what was in flight. */
struct redis_link_request *redis_link_disconnect(struct redis_link *link);
/* The requests get done() with NULL. */
void redis_link_orphan(struct redis_link_request *orphans, const struct redis_fault *fault);
/* A command was answered, or there was only a login to answer. */
void redis_link_become_up(struct redis_link *link);
/* Ends a connection, made or not, and what it had in flight; the next try is armed. */
void redis_link_drop(struct redis_link *link, const struct redis_fault *fault);
/* Something is in flight, or waits to be sent. */
bool redis_link_is_used(const struct redis_link *link);
/* Ends a connection that is not used; it is opened again when it is wanted. */
void redis_link_rest(struct redis_link *link, const struct redis_fault *fault);
/* The connection is gone, by a negative errno. Servers and carriers close idle ones: that harms
 * nobody, and the next call connects. */
void redis_link_lose(struct redis_link *link, int error);

/* link_connect.c */

/* The server's addresses are known. */
void redis_link_take_names(struct redis_link *link, const struct redis_names *names);
/* A try begins: from PHASE_IDLE or PHASE_WAITING. */
void redis_link_connect(struct redis_link *link);
/* Connecting to the present address has taken too long. False where there is no further one: then
 * nothing has changed. */
bool redis_link_connect_next(struct redis_link *link);

/* link_find.c */

/* Makes the finder that the settings want. 0 or a negative errno. */
int redis_link_make_finder(struct redis_link *link);
/* Asks it. */
void redis_link_find(struct redis_link *link);

/* link_idle.c */

/* Sets close_at by the present state. */
void redis_link_plan_close(struct redis_link *link);
/* PHASE_IDLE: when a connection is to be opened ahead. */
struct boot redis_link_open_at(const struct redis_link *link);
/* PHASE_IDLE, at redis_link_open_at(). */
void redis_link_open_ahead(struct redis_link *link);

/* link_replies.c */

/* Lets the owner send. */
void redis_link_pump(struct redis_link *link);
/* Hands the socket what it takes. */
void redis_link_flush(struct redis_link *link);
/* Reads once, and takes the replies that are whole. */
void redis_link_receive(struct redis_link *link);
#endif
