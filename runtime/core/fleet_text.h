/* SPDX-License-Identifier: MIT
 * core/fleet_text.h: what a configuration tells the fleet of its jobs, so that devices find out
 * where theirs differ (DESIGN section 5, "Two versions in one fleet"). A text of lines:
 *
 *   KEY FINGERPRINT SCOPE LOCK\n      backup 5c1d9e02 fleet own
 *
 * KEY names the job's keys in the store. LOCK is "own", "none", or "key " and the lock_key, to the
 * line's end. A later version may add words behind the first two; a line that is none is passed
 * over. Such are those behind all of these, for people alone: when a job is due,
 *
 *   @KEY SCHEDULE\n                  @backup 30 2 * * * Europe/Berlin      @sync every 5m */
#ifndef ROTA_CORE_FLEET_TEXT_H
#define ROTA_CORE_FLEET_TEXT_H
#include "core/spec.h"
#include <stddef.h>

/* "fleet" or "device", with its end; a later version may have others as long. */
#define FLEET_TEXT_SCOPE_SIZE 16
/* The longest is that of a lock_key of 200 bytes. */
#define FLEET_TEXT_LOCK_SIZE (sizeof("key ") + 200)
/* Of a line of ours, with the end of line and the NUL. */
#define FLEET_TEXT_LINE_SIZE                                                                       \
    (JOB_NAME_MAX + FINGERPRINT_SIZE + FLEET_TEXT_SCOPE_SIZE + FLEET_TEXT_LOCK_SIZE + 3)

struct fleet_text_line {
    char key[JOB_NAME_MAX + 1];
    char fingerprint[FINGERPRINT_SIZE];
    char scope[FLEET_TEXT_SCOPE_SIZE];
    char lock[FLEET_TEXT_LOCK_SIZE];
};

/* How another configuration has a job of ours. The scope is looked at first, then the lock.
 *
 * Two locks keep no two runs apart, nor do two claims, so that only one side may go on; but one has
 * to, for else a new lock_key would silence the job until the last device has it. Nobody knows
 * which is the newer one: devices restart, and edit other jobs. So the locks have an order that all
 * devices know, and the first of those in use goes on: a lock of the job's own, which is the former
 * one where a lock_key is given to a job; then lock_keys as they are sorted; then none. */
enum fleet_text_match {
    FLEET_TEXT_SAME,
    FLEET_TEXT_MIXED,       /* otherwise, but under the same lock: each runs by its own schedule */
    FLEET_TEXT_OTHER_SCOPE, /* mismatch: the store keeps the one from running beside the other */
    FLEET_TEXT_OUR_LOCK,    /* mismatch: ours goes on, theirs stands aside */
    FLEET_TEXT_THEIR_LOCK   /* mismatch: not to be run here */
};

/* What a line says of a job of ours. */
void fleet_text_describe(const struct job_spec *job, struct fleet_text_line *ret_line);
/* The line with its end, as it stands in the text. Returns its length. */
size_t fleet_text_format(const struct fleet_text_line *line, char ret_text[FLEET_TEXT_LINE_SIZE]);

/* Takes the next line that is one from *text, which moves past it; the text is another's and may
 * hold anything. False: there is none any more. Words hold letters, digits, _ and - only, but for
 * the lock_key, which is to be escaped before it is shown. */
bool fleet_text_next(const char **text, struct fleet_text_line *ret_line);
/* The lock_key in a line's `lock`; NULL: it is none. */
const char *fleet_text_lock_key(const char *lock);
/* `theirs` is about the job that has its key. */
enum fleet_text_match fleet_text_compare(const struct fleet_text_line *ours,
                                         const struct fleet_text_line *theirs);
#endif
