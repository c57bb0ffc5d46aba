/* SPDX-License-Identifier: MIT
 * differ/sides.h: the two sides of the differential test, under one clock that stands still:
 * the in-memory store, and the scripts in a real redis-server. Each step is done to both. */
#ifndef ROTA_TESTS_DIFFER_SIDES_H
#define ROTA_TESTS_DIFFER_SIDES_H
#include "clock/virtual_clock.h"
#include "core/memory.h"
#include "redis/differ/step.h"
#include <hiredis/hiredis.h>

/* The last one has the lock of the first: a lock_key that two jobs share. */
#define SIDES_JOBS 3
#define SIDES_KEY_SIZE 64
/* Where every play begins, Unix ms. */
#define SIDES_BEGIN_MS INT64_C(1700000000000)

/* One text of a script that is replaced before the server has it; script NULL: none. */
struct defect {
    const char *script, *old, *instead;
};

struct sides {
    redisContext *redis;
    struct virtual_clock *clock;
    char sha1[STORE_VERB_COUNT][41]; /* as the server names the scripts */
    struct wall now;
    struct memory_lock locks[SIDES_JOBS];
    struct memory_record records[SIDES_JOBS];
    /* the last request's, of the in-memory store */
    struct store_reply reply;
    char difference[600]; /* "": none yet */
};

/* Connects, maps the clock and loads the scripts. All trouble ends the program with a message. */
void sides_open(struct sides *s, const char *socket, const char *clock, const struct defect *d);
void sides_close(struct sides *s);
/* Both are empty, and it is SIDES_BEGIN_MS. */
void sides_reset(struct sides *s);
/* Ends the program with a message: it cannot be tried. */
void sides_give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The name of a key of the job, in `key`. */
const char *sides_key(size_t job, const char *kind, char key[SIDES_KEY_SIZE]);
/* As if the claim had never been. */
void sides_forget(struct memory_record *r);
/* Does one step to both; false where they differ. */
bool sides_do(struct sides *s, const struct step *step);
#endif
