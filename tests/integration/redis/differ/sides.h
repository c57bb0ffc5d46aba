/* SPDX-License-Identifier: MIT
 * differ/sides.h: the two sides of the differential test, under one clock that stands still:
 * the in-memory store, and the scripts in a real redis-server. Each step is done to both. */
#ifndef ROTA_TESTS_DIFFER_SIDES_H
#define ROTA_TESTS_DIFFER_SIDES_H
#include "clock/virtual_clock.h"
#include "core/memory_fleet.h"
#include "core/memory_seats.h"
#include "redis/differ/step.h"
#include <hiredis/hiredis.h>

/* The last one has the lock of the first: a lock_key that two jobs share. */
#define SIDES_JOBS 3
#define SIDES_DEVICES 40
#define SIDES_SEATS 400
#define SIDES_TEXT_SIZE 64
#define SIDES_KEY_SIZE 64
/* Where every play begins, Unix ms. */
#define SIDES_BEGIN_MS INT64_C(1700000000000)

/* One text of a script that is replaced before the server has it; script NULL: none. */
struct defect {
    const char *script, *old, *instead;
};

/* Of one job, in memory. */
struct sides_job {
    struct memory_lock lock;
    struct memory_claim record;
    struct memory_pause pause;
    struct memory_seats seats;
    struct memory_seat seat_room[SIDES_SEATS];
    struct memory_device device_room[SIDES_DEVICES];
    uint32_t by_name[SIDES_DEVICES], queue[SIDES_DEVICES];
};

struct sides_fleet {
    struct memory_fleet fleet;
    struct memory_greeter device_room[SIDES_DEVICES];
    struct memory_settled job_room[SIDES_JOBS];
    uint32_t devices_by_name[SIDES_DEVICES], jobs_by_name[SIDES_JOBS];
    char texts[MEMORY_CONFS_MAX][SIDES_TEXT_SIZE];
    struct wall done[STORE_HELLO_JOBS_MAX];
};

struct sides {
    redisContext *redis;  /* as the tests' own user, who may do all */
    redisContext *device; /* as rotad comes, under the rules of conf/redis-acl.example */
    struct virtual_clock *clock;
    char sha1[2][STORE_VERB_COUNT][41]; /* as the server names the scripts; [1]: of seats */
    struct wall now;
    struct memory_texts texts;
    struct sides_job jobs[SIDES_JOBS];
    struct sides_fleet fleet;
    /* the last request's, of the in-memory store */
    struct store_reply reply;
    char difference[600]; /* "": none yet */
};

/* Connects, maps the clock and loads the scripts. All trouble ends the program with a message. */
void sides_open(struct sides *s, const char *socket, const char *clock, const struct defect *d);
void sides_close(struct sides *s);
/* Both are empty, and it is SIDES_BEGIN_MS. */
void sides_reset(struct sides *s);
/* Does one step to both; false where they differ. */
bool sides_do(struct sides *s, const struct step *step);

/* What the files of this test share. */

/* Ends the program with a message: it cannot be tried. */
void sides_give_up(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The reply, or the end of the program. */
redisReply *sides_take(redisReply *reply);
/* One command whose answer is of no interest. */
void sides_order(struct sides *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sides_job_name(size_t job);
/* The lock that this job has. */
struct memory_lock *sides_lock(struct sides *s, size_t job);
/* The name of a key of the job, in `key`; SIDES_JOBS: of the fleet. */
const char *sides_key(size_t job, const char *kind, char key[SIDES_KEY_SIZE]);
void sides_token(int64_t number, char token[TOKEN_SIZE]);
void sides_device(int64_t number, char name[MEMORY_NAME_SIZE]);
/* Asks both, and compares the replies. */
void sides_ask(struct sides *s, const struct step *step, enum store_verb verb);
/* Texts of a pause and of a foreign value; the second has more than is read of either. */
#define SIDES_TEXTS 3
extern const char *const sides_texts[SIDES_TEXTS];
#endif
