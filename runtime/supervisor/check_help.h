/* SPDX-License-Identifier: MIT
 * supervisor/check_help.h: what rotad --help says of options.h. */
#ifndef ROTA_SUPERVISOR_CHECK_HELP_H
#define ROTA_SUPERVISOR_CHECK_HELP_H
#include <stdio.h>

void check_help_print(FILE *out);
#endif
