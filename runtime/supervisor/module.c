/* SPDX-License-Identifier: MIT */
#include "supervisor/module.h"
#include "base/library.h"
#include "supervisor/check.h"
#include "supervisor/process.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define SYMBOL "rota_check"

/* Whoever may replace the module may do all that rotad may. NULL: `why`. */
static void *load(const char *path, char why[LIBRARY_WHY_SIZE])
{
    struct trust_place place = { 0 };
    void *library = NULL;
    int r = trust_walk("", path, &place, why);

    if (r == 0)
        r = library_open(&place, &library, why);
    trust_done(&place);
    if (r < 0 && why[0] == '\0')
        snprintf(why, LIBRARY_WHY_SIZE, "%s: %s", path, strerror(-r));
    return library;
}

int module_check(const struct options *o)
{
    char why[LIBRARY_WHY_SIZE] = "";
    void *library = load(process_check_path(), why);
    const struct check_module *module = library ? dlsym(library, SYMBOL) : NULL;

    if (module && strcmp(module->version, ROTA_VERSION) == 0)
        return module->main(o);
    fprintf(stderr,
            "rotad: nothing can be checked: %s; restart rotad, or install all of rota again\n",
            why[0] ? why : "the module is of another version");
    return EX_OSERR;
}
