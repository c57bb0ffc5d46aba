/* SPDX-License-Identifier: MIT
 * repeat.h: finds out that rows come again, as they were, after they have been handled: else a
 * handle that leaves its rows in the queue would have the run go round in circles until its worst
 * case. One row is remembered and looked for among all that come: the first one of the batches 1,
 * 2, 4, 8 and so on. A circle of unchanged rows, however large, comes past it. */
#ifndef REPEAT_H
#define REPEAT_H
#include <libpq-fe.h>
#include <stdint.h>

struct repeat {
    uint64_t batches;
    PGresult *mark; /* of one row; NULL: none yet */
};

/* Which of the rows is the remembered one; -1: none. */
int repeat_find(const struct repeat *r, const PGresult *rows);
/* A batch was committed. 0 or -ENOMEM. */
int repeat_note(struct repeat *r, const PGresult *rows);
void repeat_done(struct repeat *r);
#endif
