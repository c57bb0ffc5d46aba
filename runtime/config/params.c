/* SPDX-License-Identifier: MIT */
#include "config/params.h"
#include "config/value.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a field costs in a frame beside its text. */
#define FIELD_BYTES 16

struct entry {
    struct param_value value;
    int line;
};

/* A parameter's texts are const to those who read it; here they are ours. */
static void release(const void *owned)
{
    free((void *)(uintptr_t)owned);
}

static void entry_done(struct entry *e)
{
    for (uint32_t i = 0; i < e->value.count; i++)
        release(e->value.items[i]);
    release(e->value.items);
    release(e->value.text);
    release(e->value.name);
}

static bool good_name(const char *name)
{
    size_t length = strlen(name);

    return name[0] >= 'a' && name[0] <= 'z' && length <= PARAMS_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static bool note(struct reading *r, const config_setting_t *s, const char *name, const char *fault)
{
    char quoted[PARSE_QUOTE_SIZE];

    reading_problem(r, PROBLEM_ERROR, parse_line(s), "params.%s is %s; %s", name,
                    parse_quote(s, quoted, sizeof(quoted)), fault);
    return false;
}

static bool keep(struct reading *r, struct param_value *v, enum param_kind kind, const char *text)
{
    v->kind = kind;
    v->text = reading_copy(r, text);
    return v->text != NULL;
}

static bool take_number(struct reading *r, const config_setting_t *s, struct param_value *v)
{
    const struct scan_number *n = parse_number(s);

    if (!n->plain)
        return note(r, s, v->name, "write numbers in plain decimal digits, such as 16 or 0.5");
    errno = 0;
    if (n->integer && (strtoll(n->text, NULL, 10), errno == ERANGE))
        return note(r, s, v->name,
                    "whole numbers go from -9223372036854775808 to 9223372036854775807");
    return keep(r, v, n->integer ? PARAM_INTEGER : PARAM_NUMBER, n->text);
}

static bool take_list(struct reading *r, const config_setting_t *s, struct param_value *v)
{
    int length = config_setting_length(s);
    const char **items = calloc((size_t)length + 1, sizeof(*items));

    v->kind = PARAM_LIST;
    v->items = items;
    if (!items) {
        r->no_memory = true;
        return false;
    }
    for (int i = 0; i < length; i++) {
        const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);

        if (config_setting_type(e) != CONFIG_TYPE_STRING)
            return note(r, e, v->name, "a list of a parameter holds texts in quotes only");
        items[i] = reading_copy(r, config_setting_get_string(e));
        if (!items[i])
            return false;
        v->count++;
    }
    return true;
}

static bool take(struct reading *r, const config_setting_t *s, struct entry *e)
{
    struct param_value *v = &e->value;

    e->line = parse_line(s);
    v->name = reading_copy(r, config_setting_name(s));
    if (!v->name)
        return false;
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_STRING:
        return keep(r, v, PARAM_TEXT, config_setting_get_string(s));
    case CONFIG_TYPE_BOOL:
        return keep(r, v, PARAM_BOOLEAN, config_setting_get_bool(s) ? "true" : "false");
    case CONFIG_TYPE_ARRAY:
    case CONFIG_TYPE_LIST:
        return take_list(r, s, v);
    case CONFIG_TYPE_GROUP:
        return note(r, s, v->name,
                    "a parameter is a text, a number, true, false or a list of texts");
    default:
        return take_number(r, s, v);
    }
}

static size_t entry_bytes(const struct param_value *v)
{
    size_t bytes = FIELD_BYTES + strlen(v->name) + (v->text ? strlen(v->text) : 0);

    for (uint32_t i = 0; i < v->count; i++)
        bytes += FIELD_BYTES + strlen(v->items[i]);
    return bytes;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->value.name, ((const struct entry *)b)->value.name);
}

/* Moves the entries into the job, in order of name. */
static void settle(struct reading *r, struct job_config *job, struct entry *entries, uint32_t count)
{
    if (count > 0)
        qsort(entries, count, sizeof(*entries), by_name);
    job->params = calloc(count + 1, sizeof(*job->params));
    job->param_lines = calloc(count + 1, sizeof(*job->param_lines));
    if (!job->params || !job->param_lines) {
        r->no_memory = true;
        for (uint32_t i = 0; i < count; i++)
            entry_done(&entries[i]);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        job->params[i] = entries[i].value;
        job->param_lines[i] = entries[i].line;
    }
    job->param_count = count;
}

/* How many of the group's settings stand in `entries` at the end; the others are noted. */
static uint32_t collect(struct reading *r, const config_setting_t *s, struct entry *entries)
{
    uint32_t count = 0;

    for (int i = 0; i < config_setting_length(s); i++) {
        const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);
        const char *name = config_setting_name(e);

        if (!good_name(name))
            reading_problem(r, PROBLEM_ERROR, parse_line(e),
                            "'%.80s' cannot be a parameter's name; names are a-z, 0-9 and _, begin "
                            "with a letter "
                            "and have at most %d bytes",
                            name, PARAMS_NAME_MAX);
        else if (take(r, e, &entries[count]))
            count++;
        else {
            entry_done(&entries[count]);
            entries[count] = (struct entry){ 0 };
        }
    }
    return count;
}

void params_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                 void *dest)
{
    char quoted[PARSE_QUOTE_SIZE], example[VALUE_EXAMPLE_SIZE];
    struct entry *entries;
    size_t bytes = 0;
    uint32_t count;

    if (!config_setting_is_group(s)) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s), "%s is %s; write a group, such as %s",
                        k->path, parse_quote(s, quoted, sizeof(quoted)),
                        value_example(k, example, sizeof(example)));
        return;
    }
    entries = calloc((size_t)config_setting_length(s) + 1, sizeof(*entries));
    if (!entries) {
        r->no_memory = true;
        return;
    }
    count = collect(r, s, entries);
    for (uint32_t i = 0; i < count; i++)
        bytes += entry_bytes(&entries[i].value);
    if (bytes > PARAMS_BYTES_MAX)
        reading_problem(
            r, PROBLEM_ERROR, parse_line(s),
            "params hold %zu bytes, at most %zu fit; put the rest into a file and name it here",
            bytes, PARAMS_BYTES_MAX);
    settle(r, dest, entries, count);
    free(entries);
}

static bool param_equal(const struct param_value *a, const struct param_value *b)
{
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind != PARAM_LIST)
        return strcmp(a->text, b->text) == 0;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

bool params_equal(const void *a, const void *b, size_t size)
{
    const struct job_config *x = a, *y = b;

    (void)size;
    if (x->param_count != y->param_count)
        return false;
    for (uint32_t i = 0; i < x->param_count; i++)
        if (!param_equal(&x->params[i], &y->params[i]))
            return false;
    return true;
}

void params_free(void *dest)
{
    struct job_config *job = dest;

    for (uint32_t i = 0; i < job->param_count; i++)
        entry_done(&(struct entry){ .value = job->params[i] });
    free(job->params);
    free(job->param_lines);
    job->params = NULL;
    job->param_lines = NULL;
    job->param_count = 0;
}
