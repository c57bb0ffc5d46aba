/* SPDX-License-Identifier: MIT
 * supervisor/control_internal.h: what the files of librota-control.so share: control_module.c (all
 * clients), control_client.c (one of them) and control_methods.c (what can be asked). */
#ifndef ROTA_SUPERVISOR_CONTROL_INTERNAL_H
#define ROTA_SUPERVISOR_CONTROL_INTERNAL_H
#include "base/time.h"
#include "supervisor/control_access.h"
#include "supervisor/control_gate.h"
#include "supervisor/control_module.h"
#include <systemd/sd-bus.h>
#include <time.h>

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

struct config;     /* config/config.h */
struct device_job; /* supervisor/manager.h */
struct job;        /* core/job.h */
struct job_config; /* config/config.h */

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
    struct control_ask *ask;   /* what Redis is asked for it (control_ask.h); NULL: nothing */
    struct control_hand *hand; /* the run that it waits for (control_hand.h); NULL: none */
};

/* *fd is -1 as soon as it is the client's, also where this fails then. 0 or negative errno. */
int control_client_new(struct control *c, int *fd, uid_t uid, enum control_access access);
/* Takes it out of the list. */
void control_client_free(struct control_client *client);
/* Keeps the call `m` for later. 0; -ENOBUFS where too many wait already; another negative errno. */
int control_client_hold(struct control_client *client, sd_bus_message *m, enum control_wait wait);
/* Answers a call that was held; where rc is an error, nobody waits for it any more all the same. */
void control_client_answer(struct control_client *client, struct control_call *call, int rc);
/* Sends what another question is answered by; NULL: it could not be composed. */
void control_client_send(struct control_client *client, sd_bus_message *reply);

/* control_methods.c: what each client's bus has, with the client as its userdata. */
extern const sd_bus_vtable control_methods[];
/* control_facts.c: adds an entry to an array of facts, "a{sv}", that is open. Text is escaped, and
 * NULL adds nothing, nor does a flag that is false. Negative errno where that fails. */
int control_add_text(sd_bus_message *reply, const char *name, const char *text);
int control_add_number(sd_bus_message *reply, const char *name, int64_t number);
int control_add_flag(sd_bus_message *reply, const char *name, bool flag);
/* control_status.c: the method Status. */
int control_status(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* A clock of the device, in ms; CLOCK_REALTIME's are since 1970. */
struct boot control_clock(clockid_t clock);
/* Since rotad was started, in ms; -1: not to be had. */
int64_t control_uptime_ms(struct boot now);
/* What Status says of a job: its state, and facts of one that takes turns here; d may be NULL in
 * the first. */
const char *control_job_state(const struct job_config *c, const struct device_job *d);
int control_add_job(sd_bus_message *reply, const struct device_job *d, struct boot now);
bool control_uses_tls(const struct config *c);
/* Whether its run has a lease: not without a lock, nor by hand without it. */
bool control_has_lease(const struct job *j);
/* By which the fleet keeps it from running here; NULL: by nothing. */
const char *control_bar_word(const struct job *j);
/* The job of that name, from *at on, which moves past what comes before it in order of name. NULL:
 * there is none. */
const struct device_job *control_find_job(const struct device_job **at, const char *name);
/* control_show.c: the method Show. */
int control_show(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* control_plugin.c: the version of a plugin, by the description beside it. False, and nothing is
 * written: there is none that says it, or it has no room. */
bool control_plugin_version(const char *plugin_path, char *ret_version, size_t size);
/* control_explain.c: the method Explain. */
int control_explain(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* control_past.c: the method Past. */
int control_past(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* control_turns.c: the method Turns. */
int control_turns(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* control_metrics.c: the method Metrics. */
int control_metrics(sd_bus_message *m, void *userdata, sd_bus_error *error);
#endif
