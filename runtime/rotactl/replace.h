/* SPDX-License-Identifier: MIT
 * rotactl/replace.h: writes a file so that whoever reads it meets the whole old one, or the whole
 * new one. */
#ifndef ROTA_ROTACTL_REPLACE_H
#define ROTA_ROTACTL_REPLACE_H
#include <stdio.h>

/* Begins as { 0 }. */
struct replace {
    FILE *out;
    char *name, *temporary; /* of the file, its links followed, and of what becomes it */
};

/* What is written to r->out becomes the file, which keeps its mode where it is there already. A
 * device or a pipe is written to as it is. 0, or negative errno and nothing to end. */
int replace_begin(struct replace *r, const char *name);
/* The file is the new one; or negative errno, and the old one is still there. */
int replace_end(struct replace *r);
#endif
