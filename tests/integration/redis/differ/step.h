/* SPDX-License-Identifier: MIT
 * differ/step.h: one step of a play: a request, a deed of an operator, or a setting of the
 * clock. It has absolute values only, so that it means the same after others were taken out. As
 * text it is one line, "renew job=1 token=7 ...", which reads back as the same step; a field that
 * is not there is 0. */
#ifndef ROTA_TESTS_DIFFER_STEP_H
#define ROTA_TESTS_DIFFER_STEP_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum step_kind {
    STEP_CLOCK, /* the server's clock shows `at` */
    STEP_TIME,
    STEP_ACQUIRE,
    STEP_RENEW,
    STEP_FINISH,
    STEP_HELLO,
    STEP_INDEX,
    STEP_CONFIG_GET,
    STEP_CONFIG_PUT,
    STEP_PAUSE,
    STEP_RESUME,
    STEP_LOCK,    /* an operator's SET of the lock */
    STEP_UNLOCK,  /* ... DEL of it */
    STEP_LAYOUT,  /* ... HSET of the claim's `v` */
    STEP_FORGET,  /* ... DEL of the claim */
    STEP_FLUSH,   /* FLUSHALL */
    STEP_COMPARE, /* each key with its record */
    STEP_KIND_COUNT
};

/* Instants and durations in ms. */
enum step_field {
    FIELD_AT,
    FIELD_JOB,
    FIELD_SCOPE,  /* 1: device */
    FIELD_DEVICE, /* a number, from which its name is made */
    FIELD_BOOT,   /* likewise; 0: none is known */
    FIELD_TOKEN,  /* likewise */
    FIELD_TURN,
    FIELD_NEXT,
    FIELD_TTL,
    FIELD_ATTEMPT,
    FIELD_ATTEMPTS,
    FIELD_FENCE,
    FIELD_FRESH,
    FIELD_KEEP,
    FIELD_HISTORY,
    FIELD_FIRST,
    FIELD_CONFIG,  /* a number, from which the configuration's print is made */
    FIELD_PRINT,   /* the same of the schedule's */
    FIELD_VERSION, /* of the job */
    FIELD_MOST,    /* concurrency */
    FIELD_BRAKE,   /* stop_after_failures */
    FIELD_LEASE,
    FIELD_OUTCOME,
    FIELD_COVERS,
    FIELD_DELAY,
    FIELD_CLEAN,
    FIELD_DETAIL, /* which text; 0: none */
    FIELD_WEIGHT,
    FIELD_DIGEST, /* a number, from which it is made; 0: none */
    FIELD_JOBS,   /* those that hello asks for, by bits */
    FIELD_VALUE,  /* lock: a token, or 0 or less: a foreign value; pause, configuration: which text;
                     layout: which */
    FIELD_PX,     /* 0: without expiry */
    FIELD_CATCH_UP,
    FIELD_COUNT
};

struct step {
    enum step_kind kind;
    int64_t field[FIELD_COUNT];
};

void step_print(FILE *file, const struct step *step);
/* Changes `line`. False where it is none. */
bool step_parse(char *line, struct step *ret_step);
#endif
