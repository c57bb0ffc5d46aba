/* SPDX-License-Identifier: MIT
 * guard/run.h: `rota-guard --run`: one run of one job, from START to ENDED. */
#ifndef ROTA_GUARD_RUN_H
#define ROTA_GUARD_RUN_H

/* Where the supervisor puts the control socket. */
#define CONTROL_SOCKET 3

/* Returns the program's exit status: once the run's whole tree is gone. */
int run_main(void);
#endif
