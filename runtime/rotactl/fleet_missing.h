/* SPDX-License-Identifier: MIT
 * rotactl/fleet_missing.h: the devices on which a job of scope "device" has yet to run. */
#ifndef ROTA_ROTACTL_FLEET_MISSING_H
#define ROTA_ROTACTL_FLEET_MISSING_H
#include "rotactl/fleet_ask.h"
#include "rotactl/options.h"

/* Of the one job that was asked for. An exit status. */
int fleet_missing_show(struct call *c, const struct request *r, struct fleet_answers *a);
#endif
