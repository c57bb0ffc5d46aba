/* SPDX-License-Identifier: MIT */
#include "guard/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct param_value *find(struct param_value *params, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(params[i].name, name) == 0)
            return &params[i];
    return NULL;
}

/* A second value makes it a list. */
static int append(struct param_value *param, const char *text)
{
    uint32_t count = param->kind == PARAM_LIST ? param->count : 1;
    const char **items = calloc((size_t)count + 1, sizeof(*items));

    if (!items)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        items[i] = param->kind == PARAM_LIST ? param->items[i] : param->text;
    items[count] = text;
    if (param->kind == PARAM_LIST)
        free((void *)(uintptr_t)param->items);
    *param = (struct param_value){
        .name = param->name, .kind = PARAM_LIST, .items = items, .count = count + 1
    };
    return 0;
}

void settings_free(struct param_value *params, uint32_t count)
{
    for (uint32_t i = 0; params && i < count; i++)
        free((void *)(uintptr_t)params[i].items);
    free(params);
}

static int add(struct param_value *params, uint32_t *count, char *text)
{
    char *equals = strchr(text, '=');
    struct param_value *known;

    if (!equals || equals == text)
        return -EINVAL;
    *equals = 0;
    known = find(params, *count, text);
    if (known)
        return append(known, equals + 1);
    params[(*count)++] =
        (struct param_value){ .name = text, .kind = PARAM_TEXT, .text = equals + 1 };
    return 0;
}

int settings_parse(char *const *texts, struct param_value **ret_params, uint32_t *ret_count,
                   const char **ret_bad)
{
    struct param_value *params;
    uint32_t count = 0;
    size_t total = 0;
    int r = 0;

    while (texts[total])
        total++;
    params = calloc(total + 1, sizeof(*params));
    if (!params)
        return -ENOMEM;
    for (size_t i = 0; i < total && r == 0; i++) {
        r = add(params, &count, texts[i]);
        if (r == -EINVAL)
            *ret_bad = texts[i];
    }
    if (r < 0) {
        settings_free(params, count);
        return r;
    }
    *ret_params = params;
    *ret_count = count;
    return 0;
}
