/* SPDX-License-Identifier: MIT
 * base/fault_point.h: named instants between two steps of a program, at which a test can let it die
 * of SIGKILL, as if power or memory had ended.
 *
 * Only in builds with -DROTA_FAULT_POINTS=ON: there the environment's ROTA_FAULT_POINT names the
 * instant. In all others the macro is empty, and neither it nor the names are in the programs. */
#ifndef ROTA_BASE_FAULT_POINT_H
#define ROTA_BASE_FAULT_POINT_H
#ifdef ROTA_FAULT_POINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One for the whole program: a worker clears its environment, and keeps what its guard has read. */
__attribute__((weak)) const char *fault_point_wanted;

static inline void fault_point(const char *name)
{
    if (!fault_point_wanted)
        fault_point_wanted = getenv("ROTA_FAULT_POINT");
    if (!fault_point_wanted)
        fault_point_wanted = "";
    if (strcmp(name, fault_point_wanted) == 0)
        kill(getpid(), SIGKILL);
}
#define FAULT_POINT(name) fault_point(#name)
#else
#define FAULT_POINT(name) ((void)0)
#endif
#endif
