/* SPDX-License-Identifier: MIT
 * rotactl/column_list.h: which columns a table has, as -o says: "job,next". */
#ifndef ROTA_ROTACTL_COLUMN_LIST_H
#define ROTA_ROTACTL_COLUMN_LIST_H
#include <stddef.h>

#define COLUMN_LIST_MAX 16

struct column_list {
    size_t count;
    size_t columns[COLUMN_LIST_MAX]; /* places in the words */
};

/* Of `words`, in upper or lower case; those that are "" cannot be asked for. 0; or EX_USAGE, with a
 * line, where there is no such column, or there are more than COLUMN_LIST_MAX. */
int column_list_read(const char *text, const char *const *words, size_t count,
                     struct column_list *ret);
#endif
