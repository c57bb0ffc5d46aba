/* SPDX-License-Identifier: MIT */
#include "guard/describe.h"
#include "base/text.h"
#include "guard/params.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The plugin's texts are not ours: fit for a terminal first. */
static void print_text(const char *before, const char *text, const char *after)
{
    char shown[SENTENCE_SIZE];

    printf("%s%s%s", before, text_escape(shown, sizeof(shown), text, strlen(text)), after);
}

static void print_param(const struct rota_param *param)
{
    bool length = param->type == ROTA_STRING || param->type == ROTA_STRINGS;

    printf("\n  %s  %s", param->name, params_type_name(param->type));
    if (param->flags & ROTA_PATH)
        printf(", absolute path");
    if (param->flags & ROTA_REQUIRED)
        printf(", required");
    if (param->flags & ROTA_SECRET)
        printf(", secret");
    if (param->def)
        print_text(", default ", param->def, "");
    if (param->min)
        print_text(length ? ", length from " : ", from ", param->min, "");
    if (param->max)
        print_text(length && !param->min ? ", length up to "
                   : param->min          ? " to "
                                         : ", up to ",
                   param->max, "");
    if (param->choices)
        print_text(", one of ", param->choices, "");
    printf("\n");
    if (param->help)
        print_text("      ", param->help, "\n");
}

int describe_main(const char *file)
{
    char path[PATH_MAX], sentence[SENTENCE_SIZE];
    struct plugin plugin;

    if (!realpath(file, path)) {
        fprintf(stderr, "rota-guard: %s: %s\n", file, strerror(errno));
        return EXIT_FAILURE;
    }
    if (loader_load(path, &plugin, sentence) < 0) {
        fprintf(stderr, "rota-guard: %s\n", sentence);
        return EXIT_FAILURE;
    }
    printf("%s ", plugin.contract.name);
    print_text("", plugin.contract.version, ": ");
    print_text("", plugin.contract.summary, "\n");
    printf("  file  %s\n  ABI   %u\n", path, plugin.contract.abi);
    if (plugin.param_count == 0)
        printf("\nIt takes no parameters.\n");
    else
        printf("\nparams = { ... };\n");
    for (size_t i = 0; i < plugin.param_count; i++)
        print_param(&plugin.params[i]);
    loader_done(&plugin);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
