/* SPDX-License-Identifier: MIT */
#include "config/value.h"
#include "base/text.h"
#include "config/address.h"
#include "config/list.h"
#include "config/params.h"
#include "config/quantity.h"
#include "config/secret.h"
#include "config/topology.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct value_type {
    void (*read)(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                 void *dest);
    bool (*equal)(const void *a, const void *b, size_t size);
    void (*free)(void *dest);
};

const void *value_at_const(const struct schema_key *k, const void *base)
{
    if (k->flags & SCHEMA_SETUP)
        base = ((const struct job_config *)base)->setup;
    return (const char *)base + k->offset;
}

void *value_at(const struct schema_key *k, void *base)
{
    return (void *)(uintptr_t)value_at_const(k, base);
}

static void put_number(void *dest, size_t size, int64_t value)
{
    switch (size) {
    case sizeof(bool):
        *(bool *)dest = value != 0;
        break;
    case sizeof(int32_t):
        *(int32_t *)dest = (int32_t)value;
        break;
    default:
        *(int64_t *)dest = value;
    }
}

static int64_t get_number(const void *dest, size_t size)
{
    switch (size) {
    case sizeof(bool):
        return *(const bool *)dest;
    case sizeof(int32_t):
        return *(const int32_t *)dest;
    default:
        return *(const int64_t *)dest;
    }
}

char *value_example(const struct schema_key *k, char *buf, size_t size)
{
    const char *value = k->example ? k->example : k->def;
    bool bare = k->type == SCHEMA_INTEGER || k->type == SCHEMA_BOOLEAN || k->type == SCHEMA_GROUP ||
                k->type == SCHEMA_SERVERS || k->type == SCHEMA_PARAMS;

    if (k->type == SCHEMA_LIST)
        text_format(buf, size, "%s = [ \"%s\" ]", schema_name(k), value);
    else
        text_format(buf, size, bare ? "%s = %s" : "%s = \"%s\"", schema_name(k), value);
    return buf;
}

/* "'x' is 5; write ..." for a value of another type than the key's. */
static void note_type(struct reading *r, const struct schema_key *k, const config_setting_t *s)
{
    char quoted[PARSE_QUOTE_SIZE], example[VALUE_EXAMPLE_SIZE];

    reading_problem(r, PROBLEM_ERROR, parse_line(s), "%s is %s; write text in quotes, such as %s",
                    k->path, parse_quote(s, quoted, sizeof(quoted)),
                    value_example(k, example, sizeof(example)));
}

static const char *setting_text(const config_setting_t *s)
{
    return config_setting_type(s) == CONFIG_TYPE_STRING ? config_setting_get_string(s) : NULL;
}

/* What forbids this text, as a sentence's end, or NULL. */
static const char *text_fault(const struct schema_key *k, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if ((*p < 0x20 || *p == 0x7f) && !(*p == '\t' && (k->flags & SCHEMA_TABS)))
            return "holds a control character; write it without";
    if ((k->flags & SCHEMA_SECRET) && secret_is_credential(text))
        return secret_name_fault(text);
    if ((k->flags & SCHEMA_ABSOLUTE) && text[0] != '/')
        return "is no absolute path; begin it with /";
    return NULL;
}

static void replace_tabs(char *text)
{
    for (; text && *text; text++)
        if (*text == '\t')
            *text = ' ';
}

static bool only_allowed(const struct schema_key *k, const char *text)
{
    for (; k->only && *text; text++)
        if (!(isascii((unsigned char)*text) && isalnum((unsigned char)*text)) &&
            !strchr(k->only, *text))
            return false;
    return true;
}

static void read_text(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                      void *dest)
{
    const char *text = setting_text(s);
    char quoted[PARSE_QUOTE_SIZE];
    const char *fault;
    int64_t length;

    if (!text) {
        note_type(r, k, s);
        return;
    }
    length = (int64_t)strlen(text);
    fault = text_fault(k, text);
    parse_quote(s, quoted, sizeof(quoted));
    if (length < k->min || length > k->max)
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "%s is %s, which has %lld bytes; write %lld to %lld", k->path, quoted,
                        (long long)length, (long long)k->min, (long long)k->max);
    else if (fault)
        reading_problem(r, PROBLEM_ERROR, parse_line(s), "%s is %s, which %s", k->path, quoted,
                        fault);
    else if (!only_allowed(k, text))
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "%s is %s; use letters, digits and %s only", k->path, quoted, k->only);
    else {
        free(*(char **)dest);
        *(char **)dest = reading_copy(r, text);
        if (k->flags & SCHEMA_TABS)
            replace_tabs(*(char **)dest);
    }
}

/* "\"a\", \"b\" or \"c\"" */
static void list_choices(const char *choices, char *buf, size_t size)
{
    const char *choice, *more;
    int length, next;
    size_t used = 0;

    buf[0] = '\0';
    for (int i = 0; used < size && (choice = schema_choice(choices, i, &length)); i++) {
        more = schema_choice(choices, i + 1, &next);
        text_format(buf + used, size - used, "%s\"%.*s\"",
                    i == 0 ? ""
                    : more ? ", "
                           : " or ",
                    length, choice);
        used += strlen(buf + used);
    }
}

static void read_choice(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                        void *dest)
{
    const char *text = setting_text(s);
    int index = text ? schema_choice_index(k->choices, text) : -1;
    char quoted[PARSE_QUOTE_SIZE], choices[128];

    if (index >= 0) {
        put_number(dest, k->size, k->min + index);
        return;
    }
    list_choices(k->choices, choices, sizeof(choices));
    reading_problem(r, PROBLEM_ERROR, parse_line(s), "%s is %s; write %s", k->path,
                    parse_quote(s, quoted, sizeof(quoted)), choices);
}

static void read_integer(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                         void *dest)
{
    const struct scan_number *n = parse_number(s);
    char quoted[PARSE_QUOTE_SIZE];
    long long value = 0;

    errno = 0;
    if (n && n->integer)
        value = strtoll(n->text, NULL, 10);
    if (n && n->integer && errno == 0 && value >= k->min && value <= k->max) {
        put_number(dest, k->size, value);
        return;
    }
    reading_problem(r, PROBLEM_ERROR, parse_line(s),
                    "%s is %s; write a whole number from %lld to %lld%s", k->path,
                    parse_quote(s, quoted, sizeof(quoted)), (long long)k->min, (long long)k->max,
                    !n           ? ", without quotes"
                    : n->integer ? ""
                                 : ", in plain decimal digits");
}

static void read_boolean(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                         void *dest)
{
    char quoted[PARSE_QUOTE_SIZE];

    if (config_setting_type(s) == CONFIG_TYPE_BOOL)
        put_number(dest, k->size, config_setting_get_bool(s));
    else
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "%s is %s; write true or false, without quotes", k->path,
                        parse_quote(s, quoted, sizeof(quoted)));
}

static bool texts_equal(const void *a, const void *b, size_t size)
{
    (void)size;
    return text_same(*(char *const *)a, *(char *const *)b);
}

static void text_free(void *dest)
{
    free(*(char **)dest);
    *(char **)dest = NULL;
}

static bool number_equal(const void *a, const void *b, size_t size)
{
    return get_number(a, size) == get_number(b, size);
}

static const struct value_type types[SCHEMA_TYPE_COUNT] = {
    [SCHEMA_TEXT] = { read_text, texts_equal, text_free },
    [SCHEMA_CHOICE] = { read_choice, number_equal, NULL },
    [SCHEMA_DURATION] = { quantity_read, number_equal, NULL },
    [SCHEMA_SIZE] = { quantity_read, number_equal, NULL },
    [SCHEMA_INTEGER] = { read_integer, number_equal, NULL },
    [SCHEMA_BOOLEAN] = { read_boolean, number_equal, NULL },
    [SCHEMA_LIST] = { list_read, list_equal, list_free },
    [SCHEMA_ADDRESSES] = { address_read, address_equal, address_free },
    [SCHEMA_SERVERS] = { NULL, topology_servers_equal, topology_servers_free },
    [SCHEMA_PARAMS] = { params_read, params_equal, params_free },
};

void value_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                void *base)
{
    if (types[k->type].read)
        types[k->type].read(r, k, s, value_at(k, base));
}

void value_copy(struct reading *r, const struct schema_key *k, const void *from, void *to)
{
    if (k->type == SCHEMA_TEXT)
        *(char **)value_at(k, to) = reading_copy(r, *(char *const *)value_at_const(k, from));
    else
        put_number(value_at(k, to), k->size, value_number(k, from));
}

/* Of the types whose value is a number. */
static int64_t default_number(const struct schema_key *k)
{
    switch (k->type) {
    case SCHEMA_CHOICE:
        return k->min + schema_choice_index(k->choices, k->def);
    case SCHEMA_DURATION:
    case SCHEMA_SIZE:
        return quantity_default(k);
    case SCHEMA_INTEGER:
        return strtoll(k->def, NULL, 10);
    default:
        return strcmp(k->def, "true") == 0;
    }
}

void value_default(struct reading *r, const struct schema_key *k, void *base)
{
    if (!k->def || k->type == SCHEMA_LIST)
        return;
    if (k->type == SCHEMA_TEXT)
        *(char **)value_at(k, base) = reading_copy(r, k->def);
    else
        put_number(value_at(k, base), k->size, default_number(k));
}

int64_t value_number(const struct schema_key *k, const void *base)
{
    return get_number(value_at_const(k, base), k->size);
}

bool value_is_default(const struct schema_key *k, const void *base)
{
    return value_number(k, base) == default_number(k);
}

bool value_equal(const struct schema_key *k, const void *a, const void *b)
{
    return k->type == SCHEMA_GROUP ||
           types[k->type].equal(value_at_const(k, a), value_at_const(k, b), k->size);
}

void value_free(const struct schema_key *k, void *base)
{
    if (k->type != SCHEMA_GROUP && types[k->type].free)
        types[k->type].free(value_at(k, base));
}
