/* SPDX-License-Identifier: MIT
 * redis/sentinel_answer.h: what sentinels say. A stranger's word: it is checked, and nothing of it
 * reaches a resolver or a line for people as it came. Pure. librota-topology.so's. */
#ifndef ROTA_REDIS_SENTINEL_ANSWER_H
#define ROTA_REDIS_SENTINEL_ANSWER_H
#include "redis/fault.h"
#include "redis/host.h"
#include <stdbool.h>
#include <stdint.h>

struct redisReply; /* hiredis */

/* "[host]:port", with its end. */
#define SENTINEL_TEXT_SIZE (REDIS_HOST_SIZE + 8)
/* A master's name, fit for a line. */
#define SENTINEL_NAME_SHOWN_SIZE 65

/* Where a master is. */
struct sentinel_address {
    char host[REDIS_HOST_SIZE]; /* numeric, or a name; begins with a letter, digit or colon */
    uint16_t port;
};

/* The answer to SENTINEL GET-MASTER-ADDR-BY-NAME. 1: *ret_address. 0: no master of that name is
 * known there. -EBADMSG: no sentinel says so. */
int sentinel_answer_read(const struct redisReply *reply, struct sentinel_address *ret_address);
/* What was published to a subscriber, and not a reply. */
bool sentinel_answer_is_news(const struct redisReply *reply);
/* News that the master of that name is another one now. */
bool sentinel_answer_is_switch(const struct redisReply *news, const char *master);

bool sentinel_address_same(const struct sentinel_address *a, const struct sentinel_address *b);
/* For people: "10.0.0.1:6379", "[::1]:6379". */
void sentinel_address_text(const struct sentinel_address *a, char text[SENTINEL_TEXT_SIZE]);

/* What a round has come to. */
struct sentinel_round {
    size_t unknown;                       /* do not know the name */
    size_t refused;                       /* gave no answer by what a person can mend */
    char server[SENTINEL_TEXT_SIZE];      /* the last of those, or else the last that failed */
    char reason[REDIS_FAULT_REASON_SIZE]; /* by this */
};

/* That one gave no answer: `text` is its address, for people. What is said of a login is said of
 * the login at the sentinels. What a person can mend is not hidden by others that are away: a new
 * password is looked for then, too. */
void sentinel_round_failed(struct sentinel_round *round, const char *text, enum fault class,
                           const char *reason);
/* Nobody has named an address: why. */
void sentinel_round_fault(const struct sentinel_round *round, const char *master,
                          struct redis_fault *ret_fault);
#endif
