/* SPDX-License-Identifier: MIT
 * guard/channel.h: the worker's end of its socket to the guard. From any thread of the worker.
 *
 *   worker -> guard   LOG*, PROGRESS*, ENDED (`how`, `result`, `detail` only)
 *   guard -> worker   DEADLINE* */
#ifndef ROTA_GUARD_CHANNEL_H
#define ROTA_GUARD_CHANNEL_H
#include "ipc/messages.h"

/* Descriptors of a worker, as the design numbers them. */
enum { WORKER_SOCKET = 3, WORKER_STOP = 4 };

/* Remembers which socket stands at WORKER_SOCKET: a plugin may close it, and then the number can
 * become a file of its own, into which nothing of ours may be written. */
void channel_open(void);
bool channel_is_open(void);

/* A lost line or report does no harm: these wait a moment for a slow guard, then drop. */
void channel_log(int level, const char *text);
void channel_progress(double fraction, const char *text);
/* Waits until the guard has it. Whoever waits for ever is ended by the backstop. */
void channel_ended(enum ended_how how, int result, const char *detail);
#endif
