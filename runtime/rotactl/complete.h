/* SPDX-License-Identifier: MIT
 * rotactl/complete.h: what can stand at the end of a command line, for the shells' completion
 * (completion/). The shells know nothing of rotactl themselves. */
#ifndef ROTA_ROTACTL_COMPLETE_H
#define ROTA_ROTACTL_COMPLETE_H
#include "rotactl/call.h"

/* `words`: what stands behind "rotactl", until NULL; the last is the one that is begun, perhaps "".
 * Prints what can become of that, one a line, each perhaps with a tab and what it does behind it;
 * or a tab and "file" or "folder", where the shell knows better. 0, or an exit status. */
int complete_print(struct call *c, const char *const *words);
#endif
