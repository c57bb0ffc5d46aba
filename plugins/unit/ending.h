/* SPDX-License-Identifier: MIT
 * ending.h: what the end of a unit means for the turn. */
#ifndef UNIT_ENDING_H
#define UNIT_ENDING_H
#include "bus.h"

/* A result, with the run's reason told, for the unit that bus_start() started and that is down
 * again. */
int ending_result(struct bus *b);
#endif
