/* SPDX-License-Identifier: MIT
 * guard/probe.h: loads plugins and checks parameters in children with a deadline, so that whatever
 * a file does is a sentence and nothing worse. */
#ifndef ROTA_GUARD_PROBE_H
#define ROTA_GUARD_PROBE_H
#include "ipc/messages.h"

/* For one job's parameters and check(), and for the constructors before those where the file has to
 * be loaded for it. */
#define PROBE_DEADLINE_MS 5000
/* So many of a file's jobs may meet it. */
#define PROBE_LATE_MAX 3

/* `rota-guard --probe`: answers each PROBE on the control socket until its end of file. A file that
 * several questions in a row are about is loaded once. The program's exit status. */
int probe_main(void);

/* One question, from a command line: the file may be anybody's, and params are all texts. This
 * process must be a subreaper. Fills `answer` with a PROBED. */
void probe_ask(const struct message_probe *question, struct frame *answer);
#endif
