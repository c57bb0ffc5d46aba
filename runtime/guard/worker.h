/* SPDX-License-Identifier: MIT
 * guard/worker.h: the process that runs a plugin. Called in the guard's forked child. */
#ifndef ROTA_GUARD_WORKER_H
#define ROTA_GUARD_WORKER_H
#include "guard/sandbox.h"
#include "ipc/messages.h"

struct worker_setup {
    const struct message_start *start;
    const struct trust_place *plugin; /* as loader_find() found it */
    struct boot started;
    struct sandbox sandbox; /* 0, stdout, stderr, the socket, the stop pipe, the plugin's folder */
};

/* Backstop, sandbox, thread, plugin, result; never comes back. */
void worker_main(const struct worker_setup *setup) __attribute__((noreturn));
#endif
