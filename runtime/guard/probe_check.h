/* SPDX-License-Identifier: MIT
 * guard/probe_check.h: one job's parameters, checked by a plugin that this process has loaded. */
#ifndef ROTA_GUARD_PROBE_CHECK_H
#define ROTA_GUARD_PROBE_CHECK_H
#include "guard/loader.h"
#include "ipc/messages.h"
#include <stdbool.h>

/* Calls the plugin's check(), so this process is good for nothing else afterwards: sends the PROBED
 * on WORKER_SOCKET and ends. Once a process. `loose`: params are from a command line. */
void probe_check_main(const struct plugin *plugin, const struct message_probe *question, bool loose)
    __attribute__((noreturn));
#endif
