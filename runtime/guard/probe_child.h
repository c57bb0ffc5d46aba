/* SPDX-License-Identifier: MIT
 * guard/probe_child.h: the process in which a plugin is loaded to be checked. Called in a forked
 * child. */
#ifndef ROTA_GUARD_PROBE_CHILD_H
#define ROTA_GUARD_PROBE_CHILD_H
#include "guard/loader.h"
#include "guard/sandbox.h"
#include "ipc/messages.h"

struct probe_child {
    const struct message_probe *question;
    bool loose;
    const char *path; /* the file, resolved */
    int socket;       /* where the PROBED goes */
    int stop;         /* a pipe's end that is never readable */
    pid_t parent;
};

/* Never comes back. */
void probe_child_main(const struct probe_child *c) __attribute__((noreturn));
#endif
