/* SPDX-License-Identifier: MIT */
#include "repeat.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool is_same_value(const PGresult *a, const PGresult *b, int row_of_b, int column)
{
    int length = PQgetlength(a, 0, column);

    /* What is null has the length 0 too. */
    return PQgetisnull(a, 0, column) == PQgetisnull(b, row_of_b, column) &&
           length == PQgetlength(b, row_of_b, column) &&
           memcmp(PQgetvalue(a, 0, column), PQgetvalue(b, row_of_b, column), (size_t)length) == 0;
}

static bool is_same_row(const PGresult *mark, const PGresult *rows, int row)
{
    int columns = PQnfields(mark);

    if (PQnfields(rows) != columns)
        return false;
    for (int i = 0; i < columns; i++)
        if (!is_same_value(mark, rows, row, i))
            return false;
    return true;
}

int repeat_find(const struct repeat *r, const PGresult *rows)
{
    int count = PQntuples(rows);

    for (int i = 0; r->mark && i < count; i++)
        if (is_same_row(r->mark, rows, i))
            return i;
    return -1;
}

int repeat_note(struct repeat *r, const PGresult *rows)
{
    PGresult *mark;
    int columns = PQnfields(rows);

    r->batches++;
    if ((r->batches & (r->batches - 1)) != 0)
        return 0;
    mark = PQcopyResult(rows, PG_COPYRES_ATTRS);
    if (!mark)
        return -ENOMEM;
    for (int i = 0; i < columns; i++) {
        bool is_null = PQgetisnull(rows, 0, i);

        if (!PQsetvalue(mark, 0, i, is_null ? NULL : PQgetvalue(rows, 0, i),
                        is_null ? -1 : PQgetlength(rows, 0, i))) {
            PQclear(mark);
            return -ENOMEM;
        }
    }
    PQclear(r->mark);
    r->mark = mark;
    return 0;
}

void repeat_done(struct repeat *r)
{
    PQclear(r->mark);
    r->mark = NULL;
}
