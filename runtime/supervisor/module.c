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

int module_check(const struct options *o)
{
    char why[LIBRARY_WHY_SIZE];
    void *library;
    int r = library_load(process_check_path(), &library, why);
    const struct check_module *module = r == 0 ? dlsym(library, SYMBOL) : NULL;

    if (module && strcmp(module->version, ROTA_VERSION) == 0)
        return module->main(o);
    fprintf(stderr,
            "rotad: nothing can be checked: %s; restart rotad, or install all of rota again\n",
            r < 0 ? why : "the module is of another version");
    return EX_OSERR;
}
