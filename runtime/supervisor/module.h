/* SPDX-License-Identifier: MIT
 * supervisor/module.h: the modules of rotad that hold what it seldom needs, so that it has that
 * neither in memory nor in its own file: librota-check.so for --check, --print-config and the like
 * (check.h), librota-control.so for the clients of the control socket (control_module.h),
 * librota-local.so for turns of this device alone (local_module.h). They call functions of this
 * program, those of lent.list. */
#ifndef ROTA_SUPERVISOR_MODULE_H
#define ROTA_SUPERVISOR_MODULE_H
#include "base/library.h"
#include "supervisor/manager.h"

/* Of structs that modules and rotad both know, their sizes in one number: builds of one version may
 * differ in them too. */
#define MODULE_LAYOUT                                                                              \
    ((unsigned)((sizeof(struct manager) << 20) + (sizeof(struct config) << 10) +                   \
                sizeof(struct device_job)))

/* What a module's one symbol begins with. */
struct module {
    const char *version; /* of the rota that it belongs to: a rotad of another has other structs */
    unsigned layout;     /* MODULE_LAYOUT */
};

/* The symbol of the module at `path`, which stays loaded: of this rotad's build. NULL, and why
 * not: so it is, too, while a package is being upgraded, for the rotad that was there before. */
const struct module *module_load(const char *path, const char *symbol, char why[LIBRARY_WHY_SIZE]);

/* What to do then. */
#define MODULE_ADVICE "restart rotad, or install all of rota again"

/* check_main() of check.h, out of its module. EX_OSERR, and a sentence on stderr, where that is not
 * to be had. */
int module_check(int argc, char **argv);
#endif
