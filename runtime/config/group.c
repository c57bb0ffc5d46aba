/* SPDX-License-Identifier: MIT */
#include "config/group.h"
#include "config/renamed.h"
#include <string.h>

void group_defaults(struct reading *r, const struct schema_group *g, void *base)
{
    for (size_t i = 0; i < g->count; i++)
        value_default(r, &g->keys[i], base);
}

/* Returns the key that was meant; NULL: nobody knows. */
static const struct schema_key *note_unknown(struct reading *r, const struct schema_group *g,
                                             const config_setting_t *s)
{
    const char *name = config_setting_name(s), *advice = NULL, *key = NULL;
    const struct schema_key *nearest = schema_nearest(g, name);

    if (r->source->advise)
        advice = r->source->advise(g, name, config_setting_is_group(s), &key);
    if (advice)
        nearest = key ? schema_find(g, key) : NULL;
    if (advice || !nearest)
        reading_problem(r, PROBLEM_ERROR, parse_line(s), "unknown key '%s%.80s'%s%s", g->prefix,
                        name, advice ? "; " : "", advice ? advice : "");
    else
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "unknown key '%s%.80s'; did you mean '%s'?", g->prefix, name,
                        nearest->path);
    return nearest;
}

/* The key whose old name `e` in the group `s` has, which is noted; NULL: it has none. */
static const struct schema_key *find_renamed(struct reading *r, const struct schema_group *g,
                                             const config_setting_t *s, const config_setting_t *e)
{
    const struct renamed_key *row = renamed_find(g, config_setting_name(e));
    const struct schema_key *k;

    if (!row)
        return NULL;
    k = schema_find(g, row->name);
    if (config_setting_get_member(s, row->name))
        reading_problem(r, PROBLEM_ERROR, parse_line(e),
                        "%s%s is the old name of %s, which is written too; remove %s", g->prefix,
                        row->old, k->path, row->old);
    else
        reading_problem(r, PROBLEM_WARNING, parse_line(e),
                        "%s%s is the old name of %s, and works up to rota %d.%d; write %s",
                        g->prefix, row->old, k->path, row->major, renamed_last_minor(row),
                        row->name);
    return k;
}

void group_note_missing(struct reading *r, const struct schema_key *k, int line)
{
    char example[VALUE_EXAMPLE_SIZE];

    reading_problem(r, PROBLEM_ERROR, line, "%s is missing; write for example %s", k->path,
                    value_example(k, example, sizeof(example)));
}

void group_read(struct reading *r, const struct schema_group *g, const config_setting_t *s,
                void *base, struct group_lines *ret_lines)
{
    struct group_lines lines = { { 0 } };

    for (int i = 0; i < config_setting_length(s); i++) {
        const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);
        const struct schema_key *k = schema_find(g, config_setting_name(e));

        if (!k)
            k = find_renamed(r, g, s, e);
        if (!k) {
            /* What was meant is not missed besides. */
            k = note_unknown(r, g, e);
            if (k && lines.line[k - g->keys] == 0)
                lines.line[k - g->keys] = -1;
            continue;
        }
        lines.line[k - g->keys] = parse_line(e);
        value_read(r, k, e, base);
    }
    for (size_t i = 0; i < g->count; i++)
        if ((g->keys[i].flags & SCHEMA_REQUIRED) && lines.line[i] == 0)
            group_note_missing(r, &g->keys[i], parse_line(s));
    *ret_lines = lines;
}

int group_line(const struct schema_group *g, const struct group_lines *lines, const char *name)
{
    int line = lines->line[schema_find(g, name) - g->keys];

    return line > 0 ? line : 0;
}

bool group_is_missed(const struct schema_group *g, const struct group_lines *lines,
                     const char *name)
{
    return lines->line[schema_find(g, name) - g->keys] == 0;
}

int group_chosen_line(const struct schema_group *g, const struct group_lines *lines,
                      const char *name, const void *base)
{
    const struct schema_key *k = schema_find(g, name);

    return value_is_default(k, base) ? 0 : lines->line[k - g->keys];
}

const struct schema_key *group_difference(const struct schema_group *g, const void *a,
                                          const void *b, unsigned but_flags)
{
    for (size_t i = 0; i < g->count; i++)
        if (!(g->keys[i].flags & but_flags) && !value_equal(&g->keys[i], a, b))
            return &g->keys[i];
    return NULL;
}

void group_free(const struct schema_group *g, void *base)
{
    for (size_t i = 0; i < g->count; i++)
        value_free(&g->keys[i], base);
}
