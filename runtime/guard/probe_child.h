/* SPDX-License-Identifier: MIT
 * guard/probe_child.h: the process that loads one plugin file and answers for job after job. Called
 * in a forked child.
 *
 *   child -> guard   PROBED once it is loaded or cannot be (index 0); then one a PROBE
 *   guard -> child   PROBE*, one at a time; end of file: it ends
 *
 * Each job's check() runs in a process of its own, forked from this one, in which only the file's
 * constructors have run: what one check() does to its memory no other job meets. */
#ifndef ROTA_GUARD_PROBE_CHILD_H
#define ROTA_GUARD_PROBE_CHILD_H
#include "ipc/messages.h"
#include <stdbool.h>
#include <sys/types.h>

struct probe_child {
    const struct message_probe *file; /* its path, and in what it is loaded; no params */
    bool loose;                       /* the file may be anybody's, params are all texts */
    const struct trust_place *place;  /* as loader_find() found the file */
    int socket;                       /* to the guard */
    int stop;                         /* a pipe's end that is never readable */
    pid_t parent;
};

/* Never comes back. */
void probe_child_main(const struct probe_child *c) __attribute__((noreturn));
#endif
