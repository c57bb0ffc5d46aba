/* SPDX-License-Identifier: MIT
 * supervisor/words.h: every sentence about jobs and the store that people read, in one place
 * (SCREENS.md).
 *
 * The same fault is said once, when it begins, and once more when it is over. */
#ifndef ROTA_SUPERVISOR_WORDS_H
#define ROTA_SUPERVISOR_WORDS_H
#include "core/report.h"
#include "redis/store.h"

#define WORDS_INSTANT_SIZE 40

/* What words.c remembers, so that a fault is said once. Embedded in its owner, zeroed. */
struct words_fault {
    bool said;
    char text[STORE_TEXT_SIZE];
};

struct words_link {
    bool down;
    struct boot since;
    uint64_t missed_before;
};

/* "02:30 UTC", with seconds where there are any, with the day where it is not that of `now`:
 * "Sunday 04:00 UTC", "2026-12-24 04:00 UTC". Returns buf. */
char *words_instant(struct wall at, struct wall now, char *buf, size_t size);

/* Logs what the core reports. `job` is NULL where it is the fleet's; `fault` is the job's own. */
void words_report(const struct job *job, const struct report *r, struct words_fault *fault,
                  struct boot now);
/* A line of a job's output, or of its log() at `level`. */
void words_output(const struct job *job, int level, const char *text, uint32_t dropped);
/* The connection's state has changed. `missed`: turns missed so far, of all jobs. */
void words_link(struct words_link *w, enum redis_link_state state, const char *endpoint,
                const char *reason, int64_t window_ms, uint64_t missed, struct boot now);
#endif
