/* SPDX-License-Identifier: MIT
 * statement.h: what can be seen of an operator's SQL without a server: enough to refuse by
 * --check what could not work. Comments, quoted names and quoted texts are passed over. */
#ifndef STATEMENT_H
#define STATEMENT_H
#include <stdbool.h>

struct statement {
    bool is_several;   /* something stands behind a semicolon */
    bool locks;        /* FOR UPDATE, or FOR NO KEY UPDATE */
    bool skips_locked; /* SKIP LOCKED after that */
    int highest;       /* of $1, $2, ...; 0: it has none */
};

struct statement statement_look(const char *sql);
#endif
