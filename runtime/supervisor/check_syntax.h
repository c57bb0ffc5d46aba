/* SPDX-License-Identifier: MIT
 * supervisor/check_syntax.h: what is wrong where a conf file cannot be understood: the habits of
 * other files and languages, each told by how it is written here. */
#ifndef ROTA_SUPERVISOR_CHECK_SYNTAX_H
#define ROTA_SUPERVISOR_CHECK_SYNTAX_H
#include "config/config.h"

/* config_source.explain. Whatever stands in the line may stand in `why`. */
void check_syntax_explain(const char *text, int line, char why[CONFIG_WHY_SIZE]);
#endif
