/* SPDX-License-Identifier: MIT */
#include "guard/params.h"
#include "base/text.h"
#include "guard/values.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void problems_add(struct problems *problems, int32_t param, const char *format, ...)
{
    va_list args;

    if (problems->count == PROBE_ERRORS_MAX)
        return;
    problems->param[problems->count] = param;
    va_start(args, format);
    /* clang-tidy 14 overlooks this va_start. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(problems->text[problems->count], SENTENCE_SIZE, format, args);
    va_end(args);
    problems->count++;
}

const char *params_type_name(uint32_t type)
{
    static const char *const names[] = {
        [ROTA_STRING] = "string",           [ROTA_INTEGER] = "integer",   [ROTA_NUMBER] = "number",
        [ROTA_BOOLEAN] = "boolean",         [ROTA_DURATION] = "duration", [ROTA_SIZE] = "size",
        [ROTA_STRINGS] = "list of strings",
    };

    return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "unknown";
}

const char *params_flag_name(uint32_t flag)
{
    switch (flag) {
    case ROTA_REQUIRED:
        return "required";
    case ROTA_SECRET:
        return "secret";
    case ROTA_PATH:
        return "path";
    default:
        return NULL;
    }
}

static size_t find_declared(const struct plugin *plugin, const char *name)
{
    size_t i = 0;

    while (i < plugin->param_count && strcmp(plugin->params[i].name, name) != 0)
        i++;
    return i;
}

static void add_unknown(const struct plugin *plugin, const char *name, int32_t index,
                        struct problems *problems)
{
    const char **names = calloc(plugin->param_count + 1, sizeof(*names));
    const char *nearest = NULL;

    for (size_t i = 0; names && i < plugin->param_count; i++)
        names[i] = plugin->params[i].name;
    if (names)
        nearest = text_nearest(name, names, plugin->param_count);
    if (nearest)
        problems_add(problems, index, "plugin '%s' has no parameter '%.64s'; did you mean '%s'?",
                     plugin->contract.name, name, nearest);
    else if (plugin->param_count == 0)
        problems_add(problems, index, "plugin '%s' takes no parameters, so not '%.64s'",
                     plugin->contract.name, name);
    else
        problems_add(problems, index,
                     "plugin '%s' has no parameter '%.64s'; rota-guard --describe lists those that "
                     "it has",
                     plugin->contract.name, name);
    free(names);
}

/* Adds what is wrong and goes on, so that every mistake is told at once. */
static void bind_given(struct params *p, const struct message_probe *given, bool loose,
                       struct problems *problems)
{
    char sentence[SENTENCE_SIZE];

    for (uint32_t i = 0; i < given->param_count; i++) {
        const struct param_value *value = &given->params[i];
        size_t at = find_declared(p->plugin, value->name);

        if (at == p->plugin->param_count)
            add_unknown(p->plugin, value->name, (int32_t)i, problems);
        else if (p->values[at].set)
            problems_add(problems, (int32_t)i, "%s is given twice", value->name);
        else if (values_read(&p->plugin->params[at], value, loose, &p->values[at], sentence) < 0)
            problems_add(problems, (int32_t)i, "%s", sentence);
    }
}

static bool is_given(const struct message_probe *given, const char *name)
{
    for (uint32_t i = 0; i < given->param_count; i++)
        if (strcmp(given->params[i].name, name) == 0)
            return true;
    return false;
}

static void bind_missing(struct params *p, const struct message_probe *given,
                         struct problems *problems)
{
    char sentence[SENTENCE_SIZE];

    for (size_t i = 0; i < p->plugin->param_count; i++) {
        const struct rota_param *decl = &p->plugin->params[i];

        if (is_given(given, decl->name))
            continue;
        if (decl->flags & ROTA_REQUIRED)
            problems_add(problems, -1,
                         "plugin '%s' needs the parameter '%s' (%s) in params = { %s = ...; }%s%s",
                         p->plugin->contract.name, decl->name, params_type_name(decl->type),
                         decl->name, decl->help ? ": " : "", decl->help ? decl->help : "");
        else if (decl->def && values_read_default(decl, &p->values[i], &p->blocks[i], sentence) < 0)
            problems_add(problems, -1, "the default of a parameter of plugin '%s' is wrong: %s",
                         p->plugin->contract.name, sentence);
    }
}

int params_bind(struct params *p, const struct plugin *plugin, const struct message_probe *given,
                bool loose, struct problems *problems)
{
    uint32_t before = problems->count;

    *p = (struct params){ .plugin = plugin };
    p->values = calloc(plugin->param_count + 1, sizeof(*p->values));
    p->blocks = calloc(plugin->param_count + 1, sizeof(*p->blocks));
    if (!p->values || !p->blocks) {
        problems_add(problems, -1, "no memory for the parameters");
        return -ENOMEM;
    }
    bind_given(p, given, loose, problems);
    bind_missing(p, given, problems);
    return problems->count > before ? -EINVAL : 0;
}

void params_done(struct params *p)
{
    if (!p || !p->plugin)
        return;
    for (size_t i = 0; i < p->plugin->param_count; i++) {
        if (p->values && p->values[i].set && p->plugin->params[i].type == ROTA_STRINGS)
            free((void *)(uintptr_t)p->values[i].strings);
        if (p->blocks)
            free(p->blocks[i]);
    }
    free(p->values);
    free(p->blocks);
    *p = (struct params){ 0 };
}

const struct value *params_find(const struct params *p, const char *name, uint32_t type)
{
    size_t i = find_declared(p->plugin, name);

    if (i == p->plugin->param_count || (type != 0 && p->plugin->params[i].type != type))
        return NULL;
    return &p->values[i];
}
