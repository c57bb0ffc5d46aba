/* SPDX-License-Identifier: MIT
 * differ/step.h: one step of a play: a request, a deed of an operator, or a setting of the
 * clock. It has absolute values only, so that it means the same after others were taken out. As
 * text it is one line, "renew job=1 token=7 ...", which reads back as the same step. */
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
    STEP_LOCK,    /* an operator's SET of the lock */
    STEP_UNLOCK,  /* ... DEL of it */
    STEP_PAUSE,   /* ... SET or DEL of the pause */
    STEP_FORGET,  /* ... DEL of the claim */
    STEP_FLUSH,   /* FLUSHALL */
    STEP_COMPARE, /* each claim and lock with its record */
    STEP_KIND_COUNT
};

/* Instants and durations in ms. */
enum step_field {
    FIELD_AT,
    FIELD_JOB,
    FIELD_TOKEN, /* a number, from which the token is made */
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
    FIELD_PRINT, /* a number, from which the schedule's print is made */
    FIELD_LEASE,
    FIELD_OUTCOME,
    FIELD_COVERS,
    FIELD_DELAY,
    FIELD_CLEAN,
    FIELD_VALUE, /* lock: a token, or 0 or less: a foreign value; pause: which text, 0: lifted */
    FIELD_PX,    /* 0: without expiry */
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
