/* SPDX-License-Identifier: MIT
 * supervisor/check_online.h: what rotad --check --online says of each Redis. */
#ifndef ROTA_SUPERVISOR_CHECK_ONLINE_H
#define ROTA_SUPERVISOR_CHECK_ONLINE_H
#include "config/config.h"
#include "redis/scripts.h"

/* survey.lua, in librota-check.so's own text. */
extern const struct redis_script redis_script_survey;

/* Tries each server of a configuration without mistakes, one after the other, as `device`, and
 * prints six lines for each to stdout; of sentinels first what each says, then the master; of nodes
 * of a cluster also its state; of a quorum at the end what all come to. A line begins with "!"
 * where something needs a look, and with "x" where it keeps rota from working. Nothing is written
 * at the servers. An exit status: 0 where one of them, or a majority of a quorum, can be used, or
 * none is needed; else, by the first of them, EX_UNAVAILABLE (69), or EX_NOPERM (77) where it
 * refuses the user; EX_CONFIG (78) where two of a quorum are one. Or a negative errno where the
 * work was not possible. */
int check_online(const struct config *c, const char *device);
#endif
