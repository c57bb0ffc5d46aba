/* SPDX-License-Identifier: MIT
 * supervisor/check_topology.h: what it means that Redis is more than one server. */
#ifndef ROTA_SUPERVISOR_CHECK_TOPOLOGY_H
#define ROTA_SUPERVISOR_CHECK_TOPOLOGY_H
#include "config/config.h"

/* To stdout, with an empty line behind; nothing where it is one server. */
void check_topology_print(const struct config *c);
#endif
