/* SPDX-License-Identifier: MIT
 * rotactl/call.h: asking rotad at its control socket. */
#ifndef ROTA_ROTACTL_CALL_H
#define ROTA_ROTACTL_CALL_H
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

/* rotactl's exit statuses, besides those of sysexits.h. */
enum {
    STATUS_LOOK = 1,     /* something needs a look */
    STATUS_NO_ANSWER = 2 /* rotad does not run, or does not answer */
};

#define CALL_NO_LIMIT INT64_MAX

struct call {
    sd_bus *bus;
    int peer; /* the same connection, for what comes before the bus is ready */
    enum { GREETING_OF_BUS, GREETING_REJECTED, GREETING_ERROR } greeting;
    const char *runtime_dir;
};

/* Connects. 0, or an exit status, with one line on stderr. */
int call_open(const char *runtime_dir, struct call *ret_call);
void call_close(struct call *c);

/* Calls a method of rotad's that answers at once. 0 and *ret_reply, which the caller unrefs; or an
 * exit status, with one line on stderr. */
int call_now(struct call *c, const char *method, sd_bus_message **ret_reply);
/* The same of one that may take its time. -ETIMEDOUT, without a line, where limit_ms is over: the
 * answer is not waited for any more. */
int call_wait(struct call *c, const char *method, int64_t limit_ms, sd_bus_message **ret_reply);
/* Where an answer is not what this rotactl expects: a line, and an exit status. */
int call_say_odd(const struct call *c);
#endif
