/* SPDX-License-Identifier: MIT
 * guard/report.h: what the guard tells the supervisor, without ever waiting for it.
 *
 * Lines are dropped and counted where they come faster than the limit or the supervisor is slow; of
 * progress the latest is kept; ENDED is kept until it fits. */
#ifndef ROTA_GUARD_REPORT_H
#define ROTA_GUARD_REPORT_H
#include "ipc/messages.h"

/* Lines at once, and lines a second after that, of output and log together. */
#define REPORT_BURST_LINES 200
#define REPORT_LINES_PER_SECOND 50
/* Progress goes out at most so often. */
#define REPORT_PROGRESS_GAP_MS 200

struct report {
    int fd;
    bool gone; /* the supervisor closed its end: nothing is sent any more */
    uint32_t dropped;
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

/* In place; `fd` stays the caller's. */
void report_init(struct report *r, int fd, struct boot now);
void report_started(struct report *r, const struct message_started *m);
void report_output(struct report *r, uint32_t stream, const char *text, struct boot now);
void report_log(struct report *r, const struct message_log *m, struct boot now);
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
