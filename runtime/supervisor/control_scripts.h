/* SPDX-License-Identifier: MIT
 * supervisor/control_scripts.h: the scripts behind people's questions and changes
 * (redis/scripts/NAME.lua). librota-control.so has a text of its own of them, and unpacks it by
 * redis/scripts.h: what devices need is rotad's, and smaller without these. */
#ifndef ROTA_SUPERVISOR_CONTROL_SCRIPTS_H
#define ROTA_SUPERVISOR_CONTROL_SCRIPTS_H
#include "redis/scripts.h"

extern const struct redis_script redis_script_server, redis_script_page, redis_script_config_lines,
    redis_script_look, redis_script_history, redis_script_release, redis_script_unlist,
    redis_script_forget; /* and pause and resume */
#endif
