/* SPDX-License-Identifier: MIT
 * rotactl/columns.h: the table of jobs of status, and which columns it has (-o). */
#ifndef ROTA_ROTACTL_COLUMNS_H
#define ROTA_ROTACTL_COLUMNS_H
#include "rotactl/status_view.h"

/* `list` as -o has it, "job,next"; NULL: the usual ones, with the marks before the names. 0; or 64,
 * with a line, where there is no such column. */
int columns_check(const char *list);
/* `list` is one that was checked. 0 or -ENOMEM. */
int columns_print(FILE *out, const struct screen *screen, const struct status *s, const char *list);
#endif
