/* SPDX-License-Identifier: MIT
 * rotactl/explain_block.h: lines of text, side by side. */
#ifndef ROTA_ROTACTL_EXPLAIN_BLOCK_H
#define ROTA_ROTACTL_EXPLAIN_BLOCK_H
#include <stddef.h>
#include <stdio.h>

#define BLOCK_LINES 24
#define BLOCK_LINE_SIZE 160

/* Columns: where a time begins, its text, and the block beside it. */
#define BLOCK_INDENT 2
#define BLOCK_TEXT 11
#define BLOCK_BESIDE 39

/* Zeroed at first. What does not fit is left out. */
struct block {
    size_t width; /* columns */
    size_t count;
    char lines[BLOCK_LINES][BLOCK_LINE_SIZE];
};

/* A line, as it is. */
void block_head(struct block *b, const char *text);
/* A time and what happens then, in as many lines as it takes; "": at the same time. */
void block_add(struct block *b, const char *time, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A text without a time. */
void block_say(struct block *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Both, side by side, and an empty line. */
void block_print(FILE *out, const struct block *left, const struct block *right);
#endif
