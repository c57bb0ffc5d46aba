/* SPDX-License-Identifier: MIT
 * base/tail.h: the newest lines of a stream of lines. Bounded in lines and in bytes; the oldest go
 * first. No memory is taken before the first line comes. */
#ifndef ROTA_BASE_TAIL_H
#define ROTA_BASE_TAIL_H
#include "base/time.h"
#include <stddef.h>

struct tail_line {
    struct boot at;
    uint8_t stream, level; /* the user's own numbers */
    const char *text;      /* below 64 KiB */
};

struct tail {
    uint32_t lines_max, lines;
    size_t bytes_max;        /* of records, each a line's text and 16 bytes */
    size_t begin, end, size; /* the records in `bytes` */
    unsigned char *bytes;    /* grows by need, to bytes_max and a quarter */
};

/* lines_max 0: keeps nothing. tail_done() leaves it as after tail_init(). */
void tail_init(struct tail *t, uint32_t lines_max, size_t bytes_max);
void tail_done(struct tail *t);

/* Copies the line. How many lines are lost by it: older ones that made room, or this one where it
 * alone is too much or memory is short. */
uint32_t tail_add(struct tail *t, const struct tail_line *line);
/* Walks from the oldest line, for which *at is 0. False: there is no further one. The text stands
 * until the tail is changed. */
bool tail_next(const struct tail *t, size_t *at, struct tail_line *ret_line);
/* Forgets the oldest line, which must be there. */
void tail_drop(struct tail *t);
#endif
