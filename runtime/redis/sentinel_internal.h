/* SPDX-License-Identifier: MIT
 * redis/sentinel_internal.h: what the files of the finder share: sentinel.c (made, found, moved),
 * sentinel_ask.c (a round of questions). */
#ifndef ROTA_REDIS_SENTINEL_INTERNAL_H
#define ROTA_REDIS_SENTINEL_INTERNAL_H
#include "core/backoff.h"
#include "redis/alarm.h"
#include "redis/finder.h"
#include "redis/lookups.h"
#include "redis/sentinel_order.h"
#include "redis/sentinel_peer.h"

struct sentinel_finder {
    struct redis_finder base; /* first */
    struct redis_finder_env env;
    const struct redis_settings *settings; /* env.settings */
    struct redis_store_env loop;           /* of their connections */
    struct redis_lookups lookups;
    struct redis_lookup lookup; /* of the master's name */
    struct sentinel_peer_owner owner;
    struct sentinel_peer *peers; /* settings->sentinel_count */
    struct sentinel_peer *watch; /* whose news count; NULL: nobody's */
    bool finding;                /* the link waits */
    bool asking;                 /* a round is under way */
    bool switched;               /* the link was told so, and asks the one that knows */
    struct sentinel_order order;
    struct sentinel_round round;
    struct boot step_at;  /* in a round: the next one is asked, too */
    struct boot deadline; /* in a round: nobody is waited for any longer */
    struct boot again_at; /* a round begins, since nobody is watched; BOOT_NEVER: none */
    struct backoff backoff;
    struct redis_alarm alarm;
    sd_event_source *sweep;          /* enabled: there is something closed */
    struct sentinel_address address; /* found last; host "": none */
    char host[REDIS_HOST_SIZE];      /* what base.server points to */
    char text[SENTINEL_TEXT_SIZE];
};

/* sentinel.c */

/* The round has come to an address. */
void sentinel_found(struct sentinel_finder *f, const struct sentinel_address *address);
/* The round has come to nothing. */
void sentinel_not_found(struct sentinel_finder *f);
/* Nobody watches any more. */
void sentinel_unwatched(struct sentinel_finder *f);

/* sentinel_ask.c */

extern const struct sentinel_peer_owner sentinel_ask_owner;
/* A round begins; one that is under way is forgotten. */
void sentinel_ask(struct sentinel_finder *f, bool others);
/* The alarm has rung. */
void sentinel_ask_on_time(struct sentinel_finder *f, struct boot now);
/* Forgets the round and the watch, closes all. */
void sentinel_ask_stop(struct sentinel_finder *f);
/* After every change. */
void sentinel_ask_rearm(struct sentinel_finder *f);
#endif
