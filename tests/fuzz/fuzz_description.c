/* SPDX-License-Identifier: MIT
 * Descriptions of plugins, and what a job gives the plugin that is described: what is read is
 * written as the same text again, and no value that is bound is past the declared limits.
 *
 * An input is a description; behind a line "---", one value a line: NAME, one of "=#~![", TEXT. The
 * sign says how the conf file wrote it: text, integer, number, boolean, list (commas between). */
#include "base/units.h"
#include "fuzz.h"
#include "guard/description.h"
#include "guard/values.h"
#include <errno.h>
#include <stdio.h>

#define VALUES_MAX 16
#define ITEMS_MAX 64
#define DIVIDER "\n---\n"

/* What a job gives. Points into the input. */
struct given {
    struct param_value values[VALUES_MAX];
    const char *items[ITEMS_MAX];
    uint32_t count, item_count;
};

static struct problems problems;

static void take_items(struct given *g, struct param_value *value, char *text)
{
    char *save = NULL;

    value->items = g->items + g->item_count;
    for (char *item = strtok_r(text, ",", &save); item && g->item_count < ITEMS_MAX;
         item = strtok_r(NULL, ",", &save)) {
        g->items[g->item_count++] = item;
        value->count++;
    }
}

static void take_values(struct given *g, char *text)
{
    static const char signs[] = "=#~!["; /* as enum param_kind */
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line && g->count < VALUES_MAX;
         line = strtok_r(NULL, "\n", &save)) {
        size_t length = strcspn(line, signs);
        struct param_value *value = &g->values[g->count];

        if (line[length] == '\0')
            continue;
        value->kind = (enum param_kind)(strchr(signs, line[length]) - signs + PARAM_TEXT);
        line[length] = '\0';
        value->name = line;
        if (value->kind == PARAM_LIST)
            take_items(g, value, line + length + 1);
        else
            value->text = line + length + 1;
        g->count++;
    }
}

static void check_problems(uint32_t before)
{
    assert(problems.count > before && problems.count <= PROBE_ERRORS_MAX);
    for (uint32_t i = before; i < problems.count; i++)
        assert(problems.text[i][0] != '\0' && memchr(problems.text[i], '\0', SENTENCE_SIZE));
}

static int parse(const char *text, size_t size, struct plugin *ret_plugin)
{
    char *copy = fuzz_text((const uint8_t *)text, size);
    uint32_t before = problems.count = 0;
    int r = description_parse(copy, size, "x", ret_plugin, &problems);

    assert(r == 0 || r == -EBADMSG);
    if (r < 0)
        check_problems(before);
    return r;
}

static char *write_out(const struct plugin *p, size_t *ret_size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_size);

    assert(out);
    description_write(out, p);
    assert(fclose(out) == 0);
    return text;
}

static bool has_long_line(const char *text)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") > DESCRIPTION_LINE_MAX)
            return true;
    return false;
}

/* A byte that a file may hold as it is takes four where it is written, so that a line may get too
 * long. */
static void check_again(const struct plugin *p)
{
    struct plugin back;
    size_t size, size_again;
    char *text = write_out(p, &size), *again;

    if (!has_long_line(text)) {
        assert(parse(text, size, &back) == 0);
        again = write_out(&back, &size_again);
        assert(size == size_again && memcmp(text, again, size) == 0);
        free(again);
        loader_done(&back);
    }
    free(text);
}

static void check_integer(const struct rota_param *decl, int64_t value)
{
    int (*const read)(const char *, int64_t *) =
        decl->type == ROTA_DURATION ? units_parse_duration : units_parse_size;
    int64_t limit = 0;

    if (decl->type == ROTA_BOOLEAN) {
        assert(value == 0 || value == 1);
        return;
    }
    if (decl->type == ROTA_INTEGER) {
        assert(!decl->min || value >= strtoll(decl->min, NULL, 0));
        assert(!decl->max || value <= strtoll(decl->max, NULL, 0));
        return;
    }
    assert(value >= 0);
    if (decl->min)
        assert(read(decl->min, &limit) == 0 && value >= limit);
    if (decl->max)
        assert(read(decl->max, &limit) == 0 && value <= limit);
}

static void check_text(const struct rota_param *decl, const char *text)
{
    assert(!(decl->flags & ROTA_PATH) || text[0] == '/');
    assert(!decl->choices || text[0] != '\0');
}

static void check_value(const struct rota_param *decl, const struct value *value)
{
    switch (value->set ? decl->type : 0) {
    case 0:
        assert(!(decl->flags & ROTA_REQUIRED) && !decl->def);
        break;
    case ROTA_STRING:
        check_text(decl, value->string);
        break;
    case ROTA_STRINGS:
        for (const char *const *text = value->strings; *text; text++)
            check_text(decl, *text);
        break;
    case ROTA_NUMBER:
        assert(value->number - value->number >= 0);
        break;
    default:
        check_integer(decl, value->integer);
        break;
    }
}

static void check_bind(const struct plugin *p, const struct given *g, bool loose)
{
    struct message_probe probe = { .params = g->values, .param_count = g->count };
    struct params params;
    uint32_t before = problems.count = 0;
    int r = params_bind(&params, p, &probe, loose, &problems);

    assert(r == 0 || r == -EINVAL);
    if (r < 0)
        check_problems(before);
    for (size_t i = 0; r == 0 && i < p->param_count; i++)
        check_value(&p->params[i], params_find(&params, p->params[i].name, p->params[i].type));
    params_done(&params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *values = strstr(text, DIVIDER);
    struct given given = { 0 };
    struct plugin plugin;

    if (values) {
        size = (size_t)(values - text) + 1;
        take_values(&given, values + strlen(DIVIDER));
    }
    if (parse(text, size, &plugin) == 0) {
        check_again(&plugin);
        check_bind(&plugin, &given, false);
        check_bind(&plugin, &given, true);
        loader_done(&plugin);
    }
    free(text);
    return 0;
}
