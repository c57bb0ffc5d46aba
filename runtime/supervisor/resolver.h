/* SPDX-License-Identifier: MIT
 * supervisor/resolver.h: host names, resolved in a short-lived child: the C library's resolver
 * blocks for tens of seconds where a name server is silent, and loads what nsswitch.conf names.
 *
 * What the child says is checked as a stranger's word is. It is killed by its pid where it is not
 * wanted any more. */
#ifndef ROTA_SUPERVISOR_RESOLVER_H
#define ROTA_SUPERVISOR_RESOLVER_H
#include "redis/store.h"
#include <sys/types.h>

/* What the child may say: all addresses that are used, one a line. */
#define RESOLVER_ANSWER_SIZE (REDIS_NAMES_MAX * REDIS_ADDRESS_SIZE)

/* One question at a time. Embedded in its owner. */
struct resolver {
    sd_event *event;
    struct redis_lookup *lookup; /* NULL: none is out */
    sd_event_source *io;
    pid_t pid;
    int fd;
    size_t used;
    char answer[RESOLVER_ANSWER_SIZE + 1];
};

/* `event` is kept. */
void resolver_init(struct resolver *r, sd_event *event);
void resolver_done(struct resolver *r);
/* See redis_store_env. 0 or a negative errno; -EBUSY where a question is out. */
int resolver_ask(struct resolver *r, const char *host, uint16_t port, struct redis_lookup *lookup);
/* The owner's word that a child was reaped. True: it was the one with this question, which is now
 * answered. */
bool resolver_child_ended(struct resolver *r, pid_t pid, int status);
void resolver_cancel(struct resolver *r);
/* 0: none. */
pid_t resolver_pid(const struct resolver *r);

/* The child: prints the addresses of `host`, one a line, and returns the exit status: 0, 68
 * (EX_NOHOST) not known, 75 (EX_TEMPFAIL) no name server answers, 69 otherwise. It ends by itself
 * after the longest connect_timeout. */
int resolver_main(const char *host, const char *port);
#endif
