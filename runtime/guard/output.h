/* SPDX-License-Identifier: MIT
 * guard/output.h: the worker's stdout or stderr, from a pipe to lines. */
#ifndef ROTA_GUARD_OUTPUT_H
#define ROTA_GUARD_OUTPUT_H
#include "guard/report.h"

/* The most of a line that is told, escaped; the bytes of it that are not are counted in a mark at
 * its end. With a job's name before them both fit into one line of rotad's. */
#define OUTPUT_LINE_MAX 1900
#define OUTPUT_MARK_SIZE 48
/* The rest of a character that begins in them. */
#define OUTPUT_CHARACTER_REST 3

struct output {
    int fd; /* non-blocking; -1: closed */
    uint8_t stream;
    size_t length;
    uint64_t cut_bytes;
    char line[OUTPUT_LINE_MAX + OUTPUT_CHARACTER_REST]; /* as it was written */
};

/* Takes the descriptor. */
void output_init(struct output *o, int fd, uint8_t stream);
void output_done(struct output *o);

/* Reads what is there, at most `limit_bytes`, and reports each whole line: escaped (text_escape),
 * but for tabs, which become spaces. */
void output_read(struct output *o, size_t limit_bytes, struct report *report, struct boot now);
/* The line that never got its end. */
void output_finish(struct output *o, struct report *report, struct boot now);
#endif
