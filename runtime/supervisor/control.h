/* SPDX-License-Identifier: MIT
 * supervisor/control.h: the control socket, "control" in the runtime folder, at which rotactl asks:
 * D-Bus from peer to peer, without a bus (control_methods.c has the interface).
 *
 * control.c listens. All else is librota-control.so's, which is loaded for the first client, or for
 * metrics_file:
 * control_module.c lets clients in, and knows who waits for what; control_client.c serves one of
 * them, within its limits; control_access.c says who may do what; control_gate.c keeps sd-bus from
 * reading more than a client has use for. All in rotad's loop, after everything else that is due.
 * Without a client it is one descriptor that sleeps. */
#ifndef ROTA_SUPERVISOR_CONTROL_H
#define ROTA_SUPERVISOR_CONTROL_H
#include "core/report.h"
#include <stdbool.h>

struct control;
struct manager;

/* What a caller waits for. */
enum control_wait {
    CONTROL_WAITS_RELOAD, /* the next one, which has not begun */
    CONTROL_HEARS_RELOAD, /* the one under way */
    CONTROL_WAITS_DRAIN
};

/* Listens, as control_listen() does. `m` must outlive it. 0 or -ENOMEM. */
int control_new(struct manager *m, struct control **ret_control);
/* Where it does not listen, or its socket was removed, it begins to; where it cannot, it says why,
 * and rotad works without. The runtime folder must be this rotad's alone (instance.h): a socket
 * that is left there from before is replaced. */
void control_listen(struct control *c);
/* Drops the clients. The socket stays, and nobody answers there: a rotad that starts replaces it.
 * Accepts NULL, and so do those below. */
void control_free(struct control *c);

/* A reload begins: who waited for one hears it. */
void control_reload_begins(struct control *c);
/* A line for those that hear it. */
void control_reload_line(struct control *c, const char *line);
/* Something of what people can see has changed: metrics_file is to be written again. */
void control_changed(struct control *c);
/* What the core reports of a job: who waits for its run hears it. */
void control_report(struct control *c, const struct job *job, const struct report *r);
/* Whether an operator has paused the job on this device, as core_port.paused asks for it. */
bool control_pauses(struct control *c, const struct job *job, struct wall turn);
/* Who waits for that is answered: whether it went well. */
void control_answer(struct control *c, enum control_wait wait, bool good);
#endif
