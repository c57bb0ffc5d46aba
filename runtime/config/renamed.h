/* SPDX-License-Identifier: MIT
 * config/renamed.h: keys that had another name before. One is read by its old name too, with a
 * warning, in the release that renames it and the minor release after that; then its row goes.
 * Private to config/. */
#ifndef ROTA_CONFIG_RENAMED_H
#define ROTA_CONFIG_RENAMED_H
#include "config/schema.h"
#include <string.h>

struct renamed_key {
    enum schema_group_id group;
    const char *old;  /* as the group held it: no key of that group */
    const char *name; /* the one that it has in the table; of a key with a value, not of a group,
                         nor `requires`, which an older rota looks for too */
    int major, minor; /* the first rota with the new name */
};

/* { SCHEMA_JOB, "old_name", "new_name", 0, 2 }, a key at most once. What fingerprints call it
 * (job_print.c) stays: devices of both versions compare those. A test has rows of its own. */
#ifndef RENAMED_KEYS
#define RENAMED_KEYS
#endif

/* Ends with a row without names. In a header: while there is no other, all use of it is compiled
 * to nothing. */
static const struct renamed_key renamed_keys[] = { RENAMED_KEYS{ .old = NULL } };

/* NULL where none had that name in the group. */
static inline const struct renamed_key *renamed_find(const struct schema_group *g, const char *old)
{
    for (const struct renamed_key *row = renamed_keys; row->old; row++)
        if (schema_group(row->group) == g && strcmp(row->old, old) == 0)
            return row;
    return NULL;
}

/* The last minor release that takes the old name, of the same major one. */
static inline int renamed_last_minor(const struct renamed_key *row)
{
    return row->minor + 1;
}
#endif
