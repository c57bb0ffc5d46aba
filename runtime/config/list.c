/* SPDX-License-Identifier: MIT */
#include "config/list.h"
#include "config/value.h"
#include <stdlib.h>
#include <string.h>

/* Longest text of a list that does not hold paths: what is matched with a name of 64 bytes. */
#define TEXT_MAX 128

static const char *kind(const struct schema_key *k)
{
    if (k->flags & SCHEMA_VARIABLES)
        return "texts NAME=value";
    return k->flags & SCHEMA_ABSOLUTE ? "absolute paths" : "texts without spaces";
}

static void note_type(struct reading *r, const struct schema_key *k, const config_setting_t *s)
{
    char quoted[PARSE_QUOTE_SIZE], example[VALUE_EXAMPLE_SIZE];

    reading_problem(r, PROBLEM_ERROR, parse_line(s),
                    "%s holds %s; write %lld to %lld %s, such as %s", k->path,
                    parse_quote(s, quoted, sizeof(quoted)), (long long)k->min, (long long)k->max,
                    kind(k), value_example(k, example, sizeof(example)));
}

/* The setting itself where it is one text, else its elements. NULL past the last. */
static const config_setting_t *element(const config_setting_t *s, int index)
{
    if (config_setting_type(s) == CONFIG_TYPE_STRING)
        return index == 0 ? s : NULL;
    return index < config_setting_length(s) ? config_setting_get_elem(s, (unsigned)index) : NULL;
}

/* "NAME=value", whose name is one that a shell takes too. */
static bool is_variable(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789";
    size_t name = strspn(text, letters);

    return name > 0 && (text[0] < '0' || text[0] > '9') && text[name] == '=';
}

static bool is_good(const struct schema_key *k, const config_setting_t *s)
{
    const char *text;

    if (config_setting_type(s) != CONFIG_TYPE_STRING)
        return false;
    text = config_setting_get_string(s);
    if (k->flags & SCHEMA_ABSOLUTE)
        return text[0] == '/';
    if (k->flags & SCHEMA_VARIABLES)
        return is_variable(text);
    for (const char *p = text; *p; p++)
        if (*p <= ' ' || *p >= 0x7f)
            return false;
    return text[0] != '\0' && strlen(text) <= TEXT_MAX;
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
        reading_problem(r, PROBLEM_ERROR, parse_line(s), "%s has %d %s; write %lld to %lld",
                        k->path, length, k->flags & SCHEMA_ABSOLUTE ? "paths" : "texts",
                        (long long)k->min, (long long)k->max);
        return false;
    }
    for (int i = 0; (e = element(s, i)); i++)
        if (!is_good(k, e)) {
            note_type(r, k, e);
            return false;
        }
    return true;
}

void list_read(struct reading *r, const struct schema_key *k, const config_setting_t *s, void *dest)
{
    const config_setting_t *e;
    char **texts;
    int count = 0;

    if (!fit(r, k, s))
        return;
    while (element(s, count))
        count++;
    list_free(dest);
    if (count == 0)
        return;
    if (k->def && count == 1 && strcmp(config_setting_get_string(element(s, 0)), k->def) == 0)
        return;
    texts = calloc((size_t)count + 1, sizeof(*texts));
    if (!texts) {
        r->no_memory = true;
        return;
    }
    *(char ***)dest = texts;
    for (int i = 0; (e = element(s, i)); i++) {
        texts[i] = reading_copy(r, config_setting_get_string(e));
        if (!texts[i])
            return;
    }
}

bool list_equal(const void *a, const void *b, size_t size)
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

void list_free(void *dest)
{
    char **texts = *(char ***)dest;

    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
    *(char ***)dest = NULL;
}
