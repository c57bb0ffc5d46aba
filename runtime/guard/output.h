/* SPDX-License-Identifier: MIT
 * guard/output.h: the worker's stdout or stderr, from a pipe to lines. */
#ifndef ROTA_GUARD_OUTPUT_H
#define ROTA_GUARD_OUTPUT_H
#include "guard/report.h"

/* The most of a line that is kept; the bytes after it are counted in a mark at its end. With a
 * job's name before them both fit into one entry of rotad's journal. */
#define OUTPUT_LINE_MAX 1900
#define OUTPUT_MARK_SIZE 48
/* What is kept of the newest line that is not empty. */
#define OUTPUT_LAST_SIZE 512

struct output {
    int fd; /* non-blocking; -1: closed */
    uint32_t stream;
    size_t length;
    uint64_t cut_bytes;
    char line[OUTPUT_LINE_MAX + OUTPUT_MARK_SIZE];
};

/* Takes the descriptor. */
void output_init(struct output *o, int fd, uint32_t stream);
void output_done(struct output *o);

/* Reads what is there, at most `limit_bytes`, and reports each whole line. `last` (OUTPUT_LAST_SIZE
 * bytes) gets every line that is not empty. */
void output_read(struct output *o, size_t limit_bytes, struct report *report, char *last,
                 struct boot now);
/* The line that never got its end. */
void output_finish(struct output *o, struct report *report, char *last, struct boot now);
#endif
