/* SPDX-License-Identifier: MIT
 * supervisor/module.h: librota-check.so, which holds what only --check and --print-config need, so
 * that a rotad that serves has it neither in memory nor in its own file. It calls functions of this
 * program, those of lent.list. */
#ifndef ROTA_SUPERVISOR_MODULE_H
#define ROTA_SUPERVISOR_MODULE_H
#include "supervisor/options.h"

/* check_main() of check.h, out of the module. EX_OSERR, and a sentence on stderr, where that is not
 * to be had, or is of another version: so it is while a package is being upgraded. */
int module_check(const struct options *o);
#endif
