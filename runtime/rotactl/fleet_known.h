/* SPDX-License-Identifier: MIT
 * rotactl/fleet_known.h: whether a name is any job's. */
#ifndef ROTA_ROTACTL_FLEET_KNOWN_H
#define ROTA_ROTACTL_FLEET_KNOWN_H
#include "rotactl/call.h"

/* 0; EX_USAGE, with a line, where neither Redis nor any configuration of the fleet knows a job of
 * that name; or another exit status, with a line. What is known here, or has run, costs little. */
int fleet_known_check(struct call *c, const char *job);
/* Whether Redis has anything of it, or it stands in the fleet's list of jobs. 0; or an exit status,
 * with a line. */
int fleet_known_trace(struct call *c, const char *job, bool *ret_trace);
#endif
