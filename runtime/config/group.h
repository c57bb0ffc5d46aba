/* SPDX-License-Identifier: MIT
 * config/group.h: a group of keys, handled by its schema. `base` is the struct that the group
 * describes. */
#ifndef ROTA_CONFIG_GROUP_H
#define ROTA_CONFIG_GROUP_H
#include "config/value.h"

/* Where each key of a group stands, by its place in the schema; 0: not written; below 0: nor this,
 * but an unknown key was noted that means it. */
struct group_lines {
    int line[SCHEMA_KEYS_MAX];
};

void group_defaults(struct reading *r, const struct schema_group *g, void *base);
/* Reads all settings of `s`. Notes unknown keys, values that are wrong, and required keys that are
 * missing. Groups of other keys get their line only. An old name counts as the key's
 * (renamed.h), with a warning; beside the new one it is a mistake. */
void group_read(struct reading *r, const struct schema_group *g, const config_setting_t *s,
                void *base, struct group_lines *ret_lines);
int group_line(const struct schema_group *g, const struct group_lines *lines, const char *name);
/* Whether it is not written, and no unknown key means it: that it is missing is still to be said.
 */
bool group_is_missed(const struct schema_group *g, const struct group_lines *lines,
                     const char *name);
/* As group_line, but 0 too where the value is the default: one that is written out, as
 * --print-config does, means what it means where it is left out. For keys that have a plain
 * default, a number. */
int group_chosen_line(const struct schema_group *g, const struct group_lines *lines,
                      const char *name, const void *base);
void group_note_missing(struct reading *r, const struct schema_key *k, int line);
/* The first key that differs, leaving out those with any of `but_flags`; NULL where none does. */
const struct schema_key *group_difference(const struct schema_group *g, const void *a,
                                          const void *b, unsigned but_flags);
void group_free(const struct schema_group *g, void *base);
#endif
