/* SPDX-License-Identifier: MIT */
#include "supervisor/module.h"
#include "base/text.h"
#include "supervisor/check.h"
#include "supervisor/process.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

const struct module *module_load(const char *path, const char *symbol, char why[LIBRARY_WHY_SIZE])
{
    void *library;
    int r = library_load(path, &library, why);
    const struct module *module = r == 0 ? dlsym(library, symbol) : NULL;

    if (module && strcmp(module->version, ROTA_VERSION) == 0 && module->layout == MODULE_LAYOUT)
        return module;
    if (r == 0)
        text_copy(why, LIBRARY_WHY_SIZE, "the module is of another build");
    return NULL;
}

int module_check(int argc, char **argv)
{
    char why[LIBRARY_WHY_SIZE];
    const struct check_module *check =
        (const void *)module_load(process_check_path(), CHECK_SYMBOL, why);

    if (check)
        return check->main(argc, argv);
    fprintf(stderr, "rotad: nothing can be checked: %s; " MODULE_ADVICE "\n", why);
    return EX_OSERR;
}
