/* SPDX-License-Identifier: MIT
 * supervisor/control_internal.h: what the files of librota-control.so share: control_module.c (all
 * clients), control_client.c (one of them) and control_methods.c (what can be asked). */
#ifndef ROTA_SUPERVISOR_CONTROL_INTERNAL_H
#define ROTA_SUPERVISOR_CONTROL_INTERNAL_H
#include "supervisor/control_access.h"
#include "supervisor/control_gate.h"
#include "supervisor/control_module.h"
#include <systemd/sd-bus.h>

#define CONTROL_PATH "/rota"
#define CONTROL_INTERFACE "rota.Control1"

/* Clients at once, and of one user: others of a group cannot lock anybody out who may change
 * something. */
#define CONTROL_CLIENTS_MAX 16
#define CONTROL_CLIENTS_OF_ONE 4
/* Calls of one client that wait for something to happen. */
#define CONTROL_CALLS_MAX 4
/* A client that says nothing, takes nothing and waits for nothing is dropped after so long. */
#define CONTROL_IDLE_MS 30000

/* A call that is answered later: by "asb", lines for people and whether it went well. */
struct control_call {
    sd_bus_message *reply; /* NULL: there is none here */
    enum control_wait wait;
};

struct control_client {
    struct control_client *next;
    struct control *control;
    sd_bus *bus;
    int fd;        /* the client's; the bus writes to it, and owns it */
    int bus_input; /* what the gate has passed goes in here; the bus reads it at the other end */
    uid_t uid;
    enum control_access access;
    sd_event_source *io, *idle;
    struct control_gate gate;
    struct control_call calls[CONTROL_CALLS_MAX];
};

/* *fd is -1 as soon as it is the client's, also where this fails then. 0 or negative errno. */
int control_client_new(struct control *c, int *fd, uid_t uid, enum control_access access);
/* Takes it out of the list. */
void control_client_free(struct control_client *client);
/* Keeps the call `m` for later. 0; -ENOBUFS where too many wait already; another negative errno. */
int control_client_hold(struct control_client *client, sd_bus_message *m, enum control_wait wait);
/* Answers a call that was held; where rc is an error, nobody waits for it any more all the same. */
void control_client_answer(struct control_client *client, struct control_call *call, int rc);

/* control_methods.c: what each client's bus has, with the client as its userdata. */
extern const sd_bus_vtable control_methods[];
#endif
