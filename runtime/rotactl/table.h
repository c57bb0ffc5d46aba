/* SPDX-License-Identifier: MIT
 * rotactl/table.h: rows and columns, by libsmartcols. */
#ifndef ROTA_ROTACTL_TABLE_H
#define ROTA_ROTACTL_TABLE_H
#include "rotactl/screen.h"
#include <stddef.h>

#define TABLE_CELL_SIZE 256
/* Of a cell as it is shown: each byte may be an escape. */
#define TABLE_SHOWN_SIZE ((size_t)4 * TABLE_CELL_SIZE)

/* Blanks between two columns. */
#define TABLE_SEPARATOR 2

/* How a column looks, if not as wide as what is in it, and from the left. */
struct table_shape {
    size_t least; /* columns of the screen; 0: none */
    bool right;
    bool whole; /* others are cut before it, where the screen is too narrow */
};

/* A text in place of the cells of some columns, which are empty there. Where it is longer than
 * these are wide, what follows moves on. */
struct table_span {
    size_t from, to; /* columns; without the last */
    char text[TABLE_CELL_SIZE];
};

struct table {
    const struct screen *screen;
    size_t columns, rows;
    const char *(*heading)(const void *context, size_t column);
    /* Into `buf`, of TABLE_CELL_SIZE; escaped. */
    void (*cell)(const void *context, size_t row, size_t column, char *buf);
    /* A sequence for the terminal, or NULL. */
    const char *(*colour)(const void *context, size_t row);
    /* NULL: all columns are alike. */
    struct table_shape (*shape)(const void *context, size_t column);
    /* False: the row has none. Escaped. NULL: no row has any. */
    bool (*span)(const void *context, size_t row, struct table_span *ret_span);
    const void *context;
};

/* 0 or -ENOMEM: then nothing was written. */
int table_print(FILE *out, const struct table *t);
/* What is shown of a text. Where the locale is not UTF-8 all that is not ASCII is an escape, as
 * lsblk has it: the terminal may take such bytes for something else, and libsmartcols finds no end.
 * Nor does it at a character that was cut, so that is escaped where the locale is UTF-8. */
void table_shown(const char text[TABLE_CELL_SIZE], char buf[TABLE_SHOWN_SIZE]);
/* Of a cell. */
void table_cell(const struct table *t, size_t row, size_t column, char buf[TABLE_SHOWN_SIZE]);
/* table_span.c: the lines of `text`, as libsmartcols has made them, but those of rows with a span,
 * which are written anew. `widths`: of the columns. */
void table_print_spans(FILE *out, const struct table *t, const size_t *widths, const char *text);
#endif
