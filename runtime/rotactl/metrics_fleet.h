/* SPDX-License-Identifier: MIT
 * rotactl/metrics_fleet.h: what Redis knows of the fleet's jobs and devices, for a monitor: the
 * same as rotactl fleet shows, and how late jobs are. */
#ifndef ROTA_ROTACTL_METRICS_FLEET_H
#define ROTA_ROTACTL_METRICS_FLEET_H
#include "base/openmetrics.h"
#include "rotactl/call.h"

/* All of it, when all of it is known: a part of a fleet would look like jobs that are gone. 0; or
 * an exit status, with a line on stderr. */
int metrics_fleet_print(struct call *c, const struct openmetrics *o);
#endif
