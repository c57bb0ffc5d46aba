/* SPDX-License-Identifier: MIT
 * guard/report.h: what the guard tells the supervisor, without ever waiting for it.
 *
 * Where lines come faster than the limit, or the supervisor is slow, the newest are held back, and
 * those before them are dropped and counted; what is held at the end goes out before ENDED, so that
 * the last lines are always told. Of progress the latest is kept; ENDED is kept until it fits. */
#ifndef ROTA_GUARD_REPORT_H
#define ROTA_GUARD_REPORT_H
#include "base/tail.h"
#include "ipc/messages.h"

/* Lines at once, and lines a second after that, of output and log together: in one piece a second,
 * so that what is read is not all gaps. */
#define REPORT_BURST_LINES 200
#define REPORT_LINES_PER_SECOND 50
/* Of what is held: so many bytes, and more where lines are many. */
#define REPORT_HELD_BYTES ((size_t)64 * 1024)
#define REPORT_HELD_LINE_BYTES ((size_t)200)
/* What is kept of the last line: with "(exit status 255)" behind it it fits into a claim. */
#define REPORT_LAST_SIZE 224
/* Progress goes out at most so often. */
#define REPORT_PROGRESS_GAP_MS 200

struct report {
    int fd;
    bool gone;        /* the supervisor closed its end: nothing is sent any more */
    uint32_t dropped; /* before those held */
    struct tail held;
    char last[REPORT_LAST_SIZE];
    bool limited;         /* until a second's worth of lines may go */
    int64_t tokens_milli; /* thousandths of a line */
    struct boot refilled;
    bool progress_waits;
    int32_t permille;
    char progress_text[256];
    struct boot progress_not_before;
    bool ended_waits;
    struct message_ended ended;
    char detail[1024];
    struct frame frame;
};

/* In place; `fd` stays the caller's. Holds and remembers up to `lines_max` lines. */
void report_init(struct report *r, int fd, uint32_t lines_max, struct boot now);
void report_done(struct report *r);
void report_started(struct report *r, const struct message_started *m);
/* A line of output by its stream, 1 or 2; stream 0: of the plugin's log(), by its level. */
void report_line(struct report *r, const struct tail_line *line);
/* The last line of output that was not empty, without its "<3>"; "" where lines_max is 0. */
const char *report_last(const struct report *r);
void report_progress(struct report *r, const struct message_progress *m);
/* Copies; the detail is cut to fit. */
void report_ended(struct report *r, const struct message_ended *m);

/* Sends what waits, as far as it fits. */
void report_flush(struct report *r, struct boot now);
/* Whether the socket's room is waited for. */
bool report_wants_room(const struct report *r, struct boot now);
/* When report_flush() has something to do again; BOOT_NEVER: nothing waits for a time. */
struct boot report_next(const struct report *r, struct boot now);
#endif
