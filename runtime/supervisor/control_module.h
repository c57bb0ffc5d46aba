/* SPDX-License-Identifier: MIT
 * supervisor/control_module.h: the contract between rotad and librota-control.so, which has all
 * that concerns a client of the control socket, so that a rotad that nobody asks has none of it in
 * memory, nor in its own file. It is loaded for the first client, or for
 * metrics_file, and stays; it calls functions of
 * rotad, those of lent.list. */
#ifndef ROTA_SUPERVISOR_CONTROL_MODULE_H
#define ROTA_SUPERVISOR_CONTROL_MODULE_H
#include "supervisor/control.h"
#include "supervisor/module.h"
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>

/* The module's one symbol, a const struct control_module. */
#define CONTROL_SYMBOL "rota_control"

struct control_client;

struct control {
    struct manager *manager;
    int fd; /* where clients connect */
    sd_event_source *io;
    const struct control_module *module;  /* NULL: not needed yet, or not to be had */
    bool module_missed;                   /* said */
    struct control_client *clients;       /* the module's, as the next one */
    struct control_pause *paused;         /* jobs, by an operator; NULL: none */
    struct control_metrics_file *metrics; /* NULL: none was written yet */
};

struct control_module {
    struct module module;
    /* A client has connected: `fd` is the module's from now on. */
    void (*receive)(struct control *c, int fd);
    /* And all else that the module has made. */
    void (*drop_clients)(struct control *c);
    /* See control.h for these. */
    void (*reload_begins)(struct control *c);
    void (*reload_line)(struct control *c, const char *line);
    void (*answer)(struct control *c, enum control_wait wait, bool good);
    void (*changed)(struct control *c);
    void (*report)(struct control *c, const struct job *job, const struct report *r);
    bool (*pauses)(struct control *c, const struct job *job, struct wall turn);
};

/* rotad's: a source of the loop for what comes in at `fd`, slowed down where that is too often. 0
 * or negative errno; *ret_source may be set then, too, and is the caller's. */
int control_watch(struct control *c, int fd, sd_event_io_handler_t handler, void *userdata,
                  sd_event_source **ret_source);

/* What a client is told that is not served, in words of D-Bus's greeting: any library takes both
 * for "not you", and rotactl tells them apart by the first one. Two lines, since sd-bus reads so
 * many before it looks at the first. */
#define CONTROL_NOT_LET_IN "REJECTED\r\nERROR\r\n"
#define CONTROL_NO_MODULE "ERROR\r\nERROR\r\n"

static inline void control_refuse(int fd, const char *words)
{
    (void)send(fd, words, strlen(words), MSG_DONTWAIT | MSG_NOSIGNAL);
}
#endif
