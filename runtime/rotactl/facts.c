/* SPDX-License-Identifier: MIT */
#include "rotactl/facts.h"
#include "rotactl/output.h"
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static const char fact_types[] = { [FACT_TEXT] = 's', [FACT_NUMBER] = 'x', [FACT_FLAG] = 'b' };

static void *place_in(void *into, const struct fact *f)
{
    return (char *)into + f->offset;
}

static const void *look_in(const void *from, const struct fact *f)
{
    return (const char *)from + f->offset;
}

static void forget(const struct fact *table, size_t count, void *into)
{
    for (const struct fact *f = table; f < table + count; f++) {
        if (f->kind == FACT_TEXT)
            *(const char **)place_in(into, f) = NULL;
        else if (f->kind == FACT_NUMBER)
            *(int64_t *)place_in(into, f) = FACT_NONE;
        else
            *(bool *)place_in(into, f) = false;
    }
}

static const struct fact *find(const struct fact *table, size_t count, const char *name)
{
    for (const struct fact *f = table; f < table + count; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static int read_value(sd_bus_message *m, const struct fact *f, void *into)
{
    const char type[] = { fact_types[f->kind], '\0' };
    int flag = 0, rc = sd_bus_message_enter_container(m, 'v', type);

    if (rc < 0)
        return rc;
    if (f->kind == FACT_FLAG)
        rc = sd_bus_message_read_basic(m, *type, &flag);
    else
        rc = sd_bus_message_read_basic(m, *type, place_in(into, f));
    if (rc < 0)
        return rc;
    if (f->kind == FACT_FLAG)
        *(bool *)place_in(into, f) = flag;
    return sd_bus_message_exit_container(m);
}

static int read_fact(sd_bus_message *m, const struct fact *table, size_t count, void *into)
{
    const struct fact *f;
    const char *name, *type;
    int rc = sd_bus_message_read_basic(m, 's', &name);

    if (rc >= 0)
        rc = sd_bus_message_peek_type(m, NULL, &type);
    if (rc < 0)
        return rc;
    f = find(table, count, name);
    if (f && type && type[0] == fact_types[f->kind] && !type[1])
        return read_value(m, f, into);
    return sd_bus_message_skip(m, "v");
}

int facts_read(sd_bus_message *m, const struct fact *table, size_t count, void *into)
{
    int rc = sd_bus_message_enter_container(m, 'a', "{sv}");

    forget(table, count, into);
    while (rc >= 0 && (rc = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
        rc = read_fact(m, table, count, into);
        if (rc >= 0)
            rc = sd_bus_message_exit_container(m);
    }
    return rc < 0 ? rc : sd_bus_message_exit_container(m);
}

static const char *text_of(const void *from, const struct fact *f)
{
    return *(const char *const *)look_in(from, f);
}

static int64_t number_of(const void *from, const struct fact *f)
{
    return *(const int64_t *)look_in(from, f);
}

static bool was_said(const void *from, const struct fact *f)
{
    if (f->kind == FACT_TEXT)
        return text_of(from, f) != NULL;
    return f->kind == FACT_NUMBER ? number_of(from, f) != FACT_NONE
                                  : *(const bool *)look_in(from, f);
}

void facts_print_json(FILE *out, const struct fact *table, size_t count, const void *from)
{
    for (const struct fact *f = table; f < table + count; f++) {
        if (!was_said(from, f))
            continue;
        fprintf(out, ", \"%s\": ", f->name);
        if (f->kind == FACT_TEXT)
            output_json(out, text_of(from, f));
        else if (f->kind == FACT_NUMBER)
            fprintf(out, "%" PRId64, number_of(from, f));
        else
            fputs("true", out);
    }
}
