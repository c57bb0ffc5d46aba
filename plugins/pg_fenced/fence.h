/* SPDX-License-Identifier: MIT
 * fence.h: the table of the database that knows the newest fence of each job. */
#ifndef FENCED_FENCE_H
#define FENCED_FENCE_H
#include "session.h"
#include "words.h"

#define FENCE_SQL_SIZE 512
#define FENCE_STATEMENTS 2

struct fence {
    const struct rota_run *run;
    const char *table; /* as messages name it */
    char quoted[WORDS_TABLE_SIZE];
    char move[FENCE_SQL_SIZE], look[FENCE_SQL_SIZE];
    char number[24], turn[24];
    const char *values[4];
    struct session_statement statements[FENCE_STATEMENTS]; /* for one flight */
};

/* For check(): ROTA_SUCCEEDED; or ROTA_REFUSED, and why is told. */
int fence_check(const struct rota_run *r);

/* `f` stays where it is: it points into itself. */
void fence_init(struct fence *f, const struct rota_run *r);

/* What the flight's results mean: ROTA_SUCCEEDED, the fence was moved, and its row is locked until
 * the transaction's end; ROTA_LOST or ROTA_NOTHING, and why is told. */
int fence_verdict(const struct fence *f, PGresult *const results[FENCE_STATEMENTS]);

/* The table could not be used: tells why, and what to write. */
int fence_fail(const struct fence *f, struct session *s);
#endif
