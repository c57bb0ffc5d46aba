/* SPDX-License-Identifier: MIT */
#include "config/folders.h"
#include "config/value.h"
#include <stdlib.h>
#include <string.h>

static void note_type(struct reading *r, const struct schema_key *k, const config_setting_t *s)
{
    char quoted[PARSE_QUOTE_SIZE], example[VALUE_EXAMPLE_SIZE];

    reading_problem(r, PROBLEM_ERROR, parse_line(s),
                    "%s holds %s; write %lld to %lld absolute paths, such as %s", k->path,
                    parse_quote(s, quoted, sizeof(quoted)), (long long)k->min, (long long)k->max,
                    value_example(k, example, sizeof(example)));
}

/* The setting itself where it is one text, else its elements. NULL past the last. */
static const config_setting_t *element(const config_setting_t *s, int index)
{
    if (config_setting_type(s) == CONFIG_TYPE_STRING)
        return index == 0 ? s : NULL;
    return index < config_setting_length(s) ? config_setting_get_elem(s, (unsigned)index) : NULL;
}

static bool fit(struct reading *r, const struct schema_key *k, const config_setting_t *s)
{
    int type = config_setting_type(s), length = config_setting_length(s);
    const config_setting_t *e;

    if (type != CONFIG_TYPE_STRING && type != CONFIG_TYPE_LIST && type != CONFIG_TYPE_ARRAY) {
        note_type(r, k, s);
        return false;
    }
    if (type != CONFIG_TYPE_STRING && (length < k->min || length > k->max)) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s), "%s has %d paths; write %lld to %lld",
                        k->path, length, (long long)k->min, (long long)k->max);
        return false;
    }
    for (int i = 0; (e = element(s, i)); i++)
        if (config_setting_type(e) != CONFIG_TYPE_STRING ||
            config_setting_get_string(e)[0] != '/') {
            note_type(r, k, e);
            return false;
        }
    return true;
}

void folders_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                  void *dest)
{
    const config_setting_t *e;
    char **folders;
    int count = 0;

    if (!fit(r, k, s))
        return;
    while (element(s, count))
        count++;
    folders = calloc((size_t)count + 1, sizeof(*folders));
    if (!folders) {
        r->no_memory = true;
        return;
    }
    for (int i = 0; (e = element(s, i)); i++)
        folders[i] = reading_copy(r, config_setting_get_string(e));
    folders_free(dest);
    *(char ***)dest = folders;
}

bool folders_is_set(const void *dest)
{
    char *const *folders = *(char **const *)dest;

    return folders && folders[0];
}

void folders_print(const struct schema_key *k, const void *dest, FILE *out)
{
    (void)k;
    fputs("[ ", out);
    for (char *const *folder = *(char **const *)dest; *folder; folder++) {
        value_print_text(*folder, out);
        fputs(folder[1] ? ", " : " ]", out);
    }
}

bool folders_equal(const void *a, const void *b, size_t size)
{
    char *const *x = *(char **const *)a, *const *y = *(char **const *)b;

    (void)size;
    if (!x || !y)
        return x == y;
    for (; *x && *y; x++, y++)
        if (strcmp(*x, *y) != 0)
            return false;
    return !*x && !*y;
}

void folders_free(void *dest)
{
    char **folders = *(char ***)dest;

    for (char **folder = folders; folder && *folder; folder++)
        free(*folder);
    free(folders);
    *(char ***)dest = NULL;
}
