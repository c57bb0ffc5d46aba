/* SPDX-License-Identifier: MIT
 * guard/probe.h: loads a plugin and checks parameters in a child with a deadline, so that whatever
 * the file does is a sentence and nothing worse. */
#ifndef ROTA_GUARD_PROBE_H
#define ROTA_GUARD_PROBE_H
#include "ipc/messages.h"

/* For the constructors, the parameters and check() together. */
#define PROBE_DEADLINE_MS 5000

/* `rota-guard --probe`: answers each PROBE on the control socket until its end of file. The
 * program's exit status. */
int probe_main(void);

/* Asks a child; this process must be a subreaper. Fills `answer` with a PROBED. `loose`: params are
 * from a command line, and the file may be anybody's. `control`: the probe is given up once it is
 * closed; -1: none. */
void probe_ask(const struct message_probe *question, bool loose, int control, struct frame *answer);
#endif
