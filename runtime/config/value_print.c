/* SPDX-License-Identifier: MIT
 * Of librota-check.so: a rotad that serves prints nothing. */
#include "config/value_print.h"
#include "base/units.h"
#include "config/value.h"

static void print_quoted(const char *text, bool template, FILE *out)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p == '%' && template)
            fputs("%%", out);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(out, "\\x%02x", *p);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}

void value_print_text(const char *text, FILE *out)
{
    print_quoted(text, false, out);
}

/* --- texts --- */

static bool text_is_set(const void *dest)
{
    const char *text = *(char *const *)dest;

    return text && text[0] != '\0';
}

static void print_text(const struct schema_key *k, const void *base, FILE *out)
{
    print_quoted(*(char *const *)value_at_const(k, base), k->flags & SCHEMA_TEMPLATE, out);
}

/* --- numbers --- */

static void print_choice(const struct schema_key *k, const void *base, FILE *out)
{
    int length = 0;
    const char *choice = schema_choice(k->choices, (int)(value_number(k, base) - k->min), &length);

    fprintf(out, "\"%.*s\"", length, choice ? choice : "");
}

static void print_quantity(const struct schema_key *k, const void *base, FILE *out)
{
    int64_t value = value_number(k, base);
    char buf[UNITS_SIZE];

    if (value == 0 && (k->flags & SCHEMA_AUTO))
        fputs("\"auto\"", out);
    else if (k->type == SCHEMA_DURATION)
        fprintf(out, "\"%s\"", units_write_duration(value, buf, sizeof(buf)));
    else
        fprintf(out, "\"%s\"", units_write_size(value, buf, sizeof(buf)));
}

static void print_integer(const struct schema_key *k, const void *base, FILE *out)
{
    fprintf(out, "%lld", (long long)value_number(k, base));
}

static void print_boolean(const struct schema_key *k, const void *base, FILE *out)
{
    fputs(value_number(k, base) ? "true" : "false", out);
}

/* --- lists --- */

static bool list_is_set(const void *dest)
{
    char *const *texts = *(char **const *)dest;

    return texts && texts[0];
}

static void print_list(const struct schema_key *k, const void *base, FILE *out)
{
    char *const *texts = *(char **const *)value_at_const(k, base);

    fputs("[ ", out);
    if (!texts)
        value_print_text(k->def, out);
    for (; texts && *texts; texts++) {
        value_print_text(*texts, out);
        fputs(texts[1] ? ", " : "", out);
    }
    fputs(" ]", out);
}

static bool addresses_are_set(const void *dest)
{
    return ((const struct redis_addresses *)dest)->count > 0;
}

static void print_addresses(const struct schema_key *k, const void *base, FILE *out)
{
    const struct redis_addresses *all = value_at_const(k, base);

    fputs("[ ", out);
    for (size_t i = 0; i < all->count; i++) {
        fputs(i > 0 ? ", " : "", out);
        value_print_text(all->items[i].text, out);
    }
    fputs(" ]", out);
}

static bool servers_are_set(const void *dest)
{
    return ((const struct redis_config *)dest)->server_count > 0;
}

static void print_servers(const struct schema_key *k, const void *base, FILE *out);

/* --- a plugin's settings --- */

static bool params_are_set(const void *dest)
{
    return ((const struct job_config *)dest)->param_count > 0;
}

static void print_param(const struct param_value *v, FILE *out)
{
    if (v->kind == PARAM_TEXT)
        value_print_text(v->text, out);
    else if (v->kind != PARAM_LIST)
        fputs(v->text, out);
    else {
        fputs("[ ", out);
        for (uint32_t i = 0; i < v->count; i++) {
            fputs(i > 0 ? ", " : "", out);
            value_print_text(v->items[i], out);
        }
        fputs(" ]", out);
    }
}

static void print_params(const struct schema_key *k, const void *base, FILE *out)
{
    const struct job_config *job = value_at_const(k, base);

    fputs("{\n", out);
    for (uint32_t i = 0; i < job->param_count; i++) {
        fprintf(out, "      %s = ", job->params[i].name);
        print_param(&job->params[i], out);
        fputs(";\n", out);
    }
    fputs("    }", out);
}

/* --- all of them --- */

/* is_set: NULL where the value is a number. */
static const struct {
    bool (*is_set)(const void *dest);
    void (*print)(const struct schema_key *k, const void *base, FILE *out);
} types[SCHEMA_TYPE_COUNT] = {
    [SCHEMA_TEXT] = { text_is_set, print_text },
    [SCHEMA_CHOICE] = { NULL, print_choice },
    [SCHEMA_DURATION] = { NULL, print_quantity },
    [SCHEMA_SIZE] = { NULL, print_quantity },
    [SCHEMA_INTEGER] = { NULL, print_integer },
    [SCHEMA_BOOLEAN] = { NULL, print_boolean },
    [SCHEMA_LIST] = { list_is_set, print_list },
    [SCHEMA_ADDRESSES] = { addresses_are_set, print_addresses },
    [SCHEMA_SERVERS] = { servers_are_set, print_servers },
    [SCHEMA_PARAMS] = { params_are_set, print_params },
};

/* Of a number, too, that stands for none: 0, or, where 0 means something, one below it. */
static bool is_set(const struct schema_key *k, const void *base)
{
    if (k->type == SCHEMA_GROUP)
        return false;
    if (types[k->type].is_set)
        return (k->type == SCHEMA_LIST && k->def) || types[k->type].is_set(value_at_const(k, base));
    return !((k->flags & SCHEMA_ZERO_IS_NONE) && value_number(k, base) == 0) &&
           !(k->type == SCHEMA_SIZE && value_number(k, base) < 0);
}

/* Those keys that have all of `flags`. */
static void print_keys(const struct schema_group *g, const void *base, const char *indent,
                       unsigned flags, FILE *out)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct schema_key *k = &g->keys[i];

        if ((k->flags & flags) != flags || !is_set(k, base))
            continue;
        fprintf(out, "%s%s = ", indent, schema_name(k));
        types[k->type].print(k, base, out);
        fputs(";\n", out);
    }
}

static void print_servers(const struct schema_key *k, const void *base, FILE *out)
{
    const struct redis_config *redis = value_at_const(k, base);

    fputs("(\n", out);
    for (size_t i = 0; i < redis->server_count; i++) {
        fputs("    {\n", out);
        print_keys(schema_group(SCHEMA_REDIS), &redis->servers[i], "      ", SCHEMA_EACH, out);
        fputs(i + 1 < redis->server_count ? "    },\n" : "    }\n  )", out);
    }
}

void value_print_group(const struct schema_group *g, const void *base, const char *indent,
                       FILE *out)
{
    print_keys(g, base, indent, 0, out);
}
