/* SPDX-License-Identifier: MIT
 * guard/probe_file.h: one plugin file, loaded once in a child of this process, which answers for
 * job after job. This process must be a subreaper with no other children. */
#ifndef ROTA_GUARD_PROBE_FILE_H
#define ROTA_GUARD_PROBE_FILE_H
#include "ipc/messages.h"
#include <stdbool.h>
#include <sys/types.h>

struct probe_file {
    struct message_probe key; /* the path, and in what it is loaded; its texts are in `first` */
    struct frame first;       /* the first question */
    bool loose;               /* the file may be anybody's, params are all texts */
    int control;              /* a question is given up once this is closed; -1: never */
    pid_t pid;                /* the child; 0: none */
    int socket, stop;         /* to the child */
    unsigned late;            /* jobs that met the deadline */
    bool refused;             /* no job can use the file; `verdict` says why */
    struct frame verdict;     /* a PROBED */
};

/* For the file and the setup that are in `question`, a PROBE; it is copied. Nothing is started yet.
 * 0, -EBADMSG or -ENOMEM. */
int probe_file_init(struct probe_file *f, const struct frame *question, bool loose, int control);

/* Whether this question is about the same file and setup. False before init and after done. */
bool probe_file_is_of(const struct probe_file *f, const struct message_probe *question);

/* Fills `answer` with a PROBED to `question`, whose index this is. A child that crashed or was late
 * costs this job; the next one gets a new child. Where that happened while the file was loaded, it
 * is the answer for every job: their constructors are the same. After PROBE_LATE_MAX jobs that were
 * late the others are told so at once, since each would keep all jobs of the device waiting. */
void probe_file_ask(struct probe_file *f, const struct frame *question, uint32_t index,
                    struct frame *answer);

/* Ends the child and all that the file left running. Accepts one that is all zero. */
void probe_file_done(struct probe_file *f);
#endif
