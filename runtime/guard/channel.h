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

/* Remembers what stands at WORKER_SOCKET and WORKER_STOP: a plugin may close them, and then the
 * numbers can become files of its own, into which nothing of ours may be written, and which stop
 * nobody. */
void channel_open(void);
bool channel_is_open(void);
/* Whether the guard has asked for the stop, by WORKER_STOP. */
bool channel_is_stopped(void);

/* A lost line or report does no harm: these wait a moment for a slow guard, then drop. */
void channel_log(int level, const char *text);
void channel_progress(double fraction, const char *text);
/* Waits until the guard has it. Whoever waits for ever is ended by the backstop. */
void channel_ended(enum ended_how how, int result, const char *detail);
#endif
