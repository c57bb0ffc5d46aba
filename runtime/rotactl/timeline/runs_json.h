/* SPDX-License-Identifier: MIT
 * rotactl/timeline/runs_json.h: runs as JSON Lines, one object a line: what `rotactl timeline`
 * writes with --json and reads with --from.
 *
 * A run, its times in Unix milliseconds:
 *   {"job": "report", "device": "gate-1", "turn": 1796005800000, "attempt": 1,
 *    "fence": 1796005800123, "outcome": "failed", "started": 1796005801000,
 *    "ended": 1796005806000, "detail": "no route to host"}
 * `ended` is null or absent while the outcome is "running"; `started` where nobody knows; `fence`
 * and `detail` where there is none; `attempt` counts as 1 where it is absent.
 *
 * An instant at which a job was due, or will be, whoever ran it:
 *   {"job": "report", "due": 1796005800000}
 *
 * When that was asked for, so that it is drawn as it was then, whenever that is:
 *   {"now": 1796005806000}
 *
 * Other keys are left alone, so that what a newer rotactl writes can be read. Empty lines are, too.
 */
#ifndef ROTA_ROTACTL_RUNS_JSON_H
#define ROTA_ROTACTL_RUNS_JSON_H
#include "rotactl/timeline/runs.h"
#include <stdio.h>

struct runs_json_fault {
    size_t line;   /* counted from 1; 0: none is to blame */
    char why[160]; /* a part of a sentence, without text from the file */
};

/* Adds what one line says; writes into it. 0; -EINVAL and *ret_fault's `why`; the errors of
 * runs_add. */
int runs_json_read_line(struct runs *runs, char *line, struct runs_json_fault *ret_fault);
/* Adds all lines. -EINVAL, -E2BIG: with *ret_fault; -ENOMEM; the file's own error. */
int runs_json_read(struct runs *runs, FILE *in, struct runs_json_fault *ret_fault);
void runs_json_write(FILE *out, const struct run *run);
void runs_json_write_now(FILE *out, int64_t now);
void runs_json_write_due(FILE *out, const struct due *due);
#endif
