/* SPDX-License-Identifier: MIT
 * exits.h: for the plugins that have a program run: the parameters by which an exit status gets a
 * result of its own, and whether it ended by the stop of its run. */
#ifndef EXITS_H
#define EXITS_H
#include <rota/plugin.h>
#include <stdbool.h>

/* The rows of the three, for the plugin's table. */
/* clang-format off */
#define EXITS_PARAMS                                                       \
    { .name = "nothing_exit",                                              \
      .type = ROTA_STRINGS,                                                \
      .help = "Exit statuses that mean: there was nothing to do." },       \
    { .name = "decline_exit",                                              \
      .type = ROTA_STRINGS,                                                \
      .def = "[ \"75\" ]",                                                 \
      .help = "Exit statuses that mean: not here, another device may do it." }, \
    { .name = "refuse_exit",                                               \
      .type = ROTA_STRINGS,                                                \
      .help = "Exit statuses that mean: trying again cannot help." }
/* clang-format on */

/* ROTA_SUCCEEDED; or ROTA_REFUSED, and which list has what that cannot be is told. */
int exits_check(const struct rota_run *r);
/* The result that the parameters give to an exit status, or -1. */
int exits_listed(const struct rota_run *r, int status);
/* The run is to stop: what ends from now on may have ended by that. */
bool exits_by_stop(const struct rota_run *r);
#endif
