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

/* Begins as { .runtime_dir, .peer = -1 }; connects with its first question. */
struct call {
    sd_bus *bus;
    int peer; /* the same connection, for what comes before the bus is ready */
    enum { GREETING_OF_BUS, GREETING_REJECTED, GREETING_ERROR } greeting;
    const char *runtime_dir;
};

void call_close(struct call *c);

/* Calls a method of rotad's that answers at once. 0 and *ret_reply, which the caller unrefs; or an
 * exit status, with one line on stderr. */
int call_now(struct call *c, const char *method, sd_bus_message **ret_reply);
/* The same of one that may take its time. -ETIMEDOUT, without a line, where limit_ms is over: the
 * answer is not waited for any more. */
int call_wait(struct call *c, const char *method, int64_t limit_ms, sd_bus_message **ret_reply);
/* call_now() of a method that takes a text. -ENOENT, without a line, where rotad has nothing of
 * that name. */
int call_about(struct call *c, const char *method, const char *text, sd_bus_message **ret_reply);
/* The same with arguments, of D-Bus's types. */
int call_find(struct call *c, sd_bus_message **ret_reply, const char *method, const char *types,
              ...);
/* call_now() of a method that Redis is asked for: with arguments, of D-Bus's types. STATUS_LOOK
 * where Redis cannot be asked, EX_USAGE where it cannot be asked that. */
int call_ask(struct call *c, sd_bus_message **ret_reply, const char *method, const char *types,
             ...);
/* The same; but where Redis cannot answer this, as where a key is of another kind: -ENODATA without
 * a line, and why, which may be anything. */
#define CALL_WHY_SIZE 256
int call_try(struct call *c, sd_bus_message **ret_reply, char ret_why[CALL_WHY_SIZE],
             const char *method, const char *types, ...);
/* The same, of what may take any time. */
int call_long(struct call *c, sd_bus_message **ret_reply, const char *method, const char *types,
              ...);
/* Where an answer is not what this rotactl expects: a line, and an exit status. */
int call_say_odd(const struct call *c);
#endif
