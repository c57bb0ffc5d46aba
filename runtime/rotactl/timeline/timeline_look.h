/* SPDX-License-Identifier: MIT
 * rotactl/timeline/timeline_look.h: how each outcome looks in a picture, and what all pictures have
 * in common. No two outcomes differ by colour alone. */
#ifndef ROTA_ROTACTL_TIMELINE_LOOK_H
#define ROTA_ROTACTL_TIMELINE_LOOK_H
#include "rotactl/timeline/runs.h"

struct timeline_look {
    int severity;       /* where only one can be shown, the greatest is; from SEVERITY_BAD on
                           something went wrong */
    char letter;        /* on a terminal */
    const char *block;  /* the same where there is UTF-8 */
    const char *colour; /* the same, of ECMA-48: the number for "select graphic rendition" */
    const char *fill;   /* in a drawing: #rrggbb */
    const char *hatch;  /* lines over the fill, in a square of 6 x 6; "" for none */
    const char *mark;   /* a sign in -3 ... 3 about its middle; "" for none */
};

#define TIMELINE_SEVERITY_BAD 4
/* As a date and a time of day, in UTC. */
#define TIMELINE_TIME_SIZE 40
/* What stands for an empty name. */
#define TIMELINE_NO_NAME "(no name)"

const struct timeline_look *timeline_look(enum run_outcome outcome);
/* "2026-11-30 02:30:01". Returns buf, of TIMELINE_TIME_SIZE. */
char *timeline_look_time(int64_t ms, char *buf);
/* "2 runs", "1 run", "20,481 runs": `one` and `many` are the words. Returns buf. */
char *timeline_look_count(size_t count, const char *one, const char *many, char *buf, size_t size);
/* The name in at most `columns` columns, its middle left out where it is longer; escaped. Without
 * `utf8` in ASCII. Returns how many columns it has. */
int timeline_look_name(char *dst, size_t size, const char *name, int columns, bool utf8);
#endif
