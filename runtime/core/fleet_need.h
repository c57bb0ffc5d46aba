/* SPDX-License-Identifier: MIT
 * core/fleet_need.h: when this device next has something to ask of the store, for a store that
 * keeps a connection. */
#ifndef ROTA_CORE_FLEET_NEED_H
#define ROTA_CORE_FLEET_NEED_H
#include "core/fleet.h"

/* By the state of all jobs, and the fleet's own questions. To be asked after each event, behind
 * fleet_settle_timer(). */
struct store_need fleet_need(const struct fleet *f);
#endif
