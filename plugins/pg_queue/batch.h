/* SPDX-License-Identifier: MIT
 * batch.h: one batch of a queue: a transaction that takes rows, handles them and commits. It takes
 * two round trips, however many rows there are: one brings the rows, the other handles them all.
 *
 * A row whose handling fails ends the transaction; with on_failure the batch is then taken again
 * with a savepoint before each row, and a round trip more for each that is set aside, and a few for
 * those behind it. */
#ifndef BATCH_H
#define BATCH_H
#include "repeat.h"
#include "session.h"
#include "tally.h"

/* What `declare` declares. */
#define BATCH_CURSOR "rota_queue"

#define BATCH_NAME_SIZE 40

struct queue {
    const struct rota_run *run;
    struct session *session;
    char *declare; /* the operator's select as a cursor */
    const char *handle;
    const char *on_failure; /* NULL: none */
    int size;               /* rows of a batch, at most */
    bool is_known;          /* the server has read both statements, under these names */
    char handle_name[BATCH_NAME_SIZE], on_failure_name[BATCH_NAME_SIZE];
    struct tally tally;
    struct repeat repeat;
};

/* ROTA_SUCCEEDED and the number of rows that were committed, 0: the queue is empty; or another
 * result, and why is told. By hand (ROTA_FOR_TRY) all is rolled back instead. */
int batch_take(struct queue *q, int *ret_rows);
#endif
