/* SPDX-License-Identifier: MIT
 * supervisor/check_online.h: what rotad --check --online says of each Redis. */
#ifndef ROTA_SUPERVISOR_CHECK_ONLINE_H
#define ROTA_SUPERVISOR_CHECK_ONLINE_H
#include "config/config.h"
#include "redis/scripts.h"

/* survey.lua, in librota-check.so's own text. */
extern const struct redis_script redis_script_survey;

/* Tries each server of a configuration without mistakes, one after the other, as `device`, and
 * prints six lines for each to stdout. A line begins with "!" where something needs a look, and
 * with "x" where it keeps rota from working. Nothing is written at the servers. An exit
 * status: 0 where one of them can be used, or none is needed; else, by the first of them,
 * EX_UNAVAILABLE (69), or EX_NOPERM (77) where it refuses the user. Or a negative errno where the
 * work was not possible. */
int check_online(const struct config *c, const char *device);
#endif
