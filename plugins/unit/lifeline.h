/* SPDX-License-Identifier: MIT
 * lifeline.h: the second wall. The unit is no child of the worker's, so nothing that ends the
 * worker ends it. A transient unit of systemd's does: a shell that reads a socket whose other end
 * the worker holds. Where that closes without a word, or the run's budget is over, systemd stops
 * the unit, and kills what is left after kill_after. */
#ifndef UNIT_LIFELINE_H
#define UNIT_LIFELINE_H
#include "bus.h"

/* Asks systemd to start it; b->job is its start. The worker's end of the socket, or -errno
 * (-EACCES: the job's user may not). */
int lifeline_open(struct bus *b);
/* harmless: the unit is down, so nothing is to be ended. Else systemd ends it, which is waited for:
 * the run's lock must not be free before. Accepts below 0. */
void lifeline_close(int fd, bool harmless);
#endif
