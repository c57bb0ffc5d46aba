/* SPDX-License-Identifier: MIT
 * guard/host.h: what rota/plugin.h promises to a plugin: struct rota_run and the functions behind
 * it. */
#ifndef ROTA_GUARD_HOST_H
#define ROTA_GUARD_HOST_H
#include "base/time.h"
#include "guard/params.h"
#include <pthread.h>
#include <stdatomic.h>

/* Exit status of a worker whose plugin broke the contract (EX_SOFTWARE). */
#define HOST_EXIT_BUG 70
/* Room for what fail() says, its NUL included. */
#define HOST_FAIL_SIZE 1024

struct host;

/* One way to say something, and to end: of a worker by its channel, of a probe not at all. */
struct host_port {
    void (*log)(int level, const char *text);
    void (*progress)(double fraction, const char *text);
    /* Sets `stopping` where it is time; NULL: somebody else does. Async-signal-safe. */
    void (*look)(void);
    /* The plugin has a bug: say `sentence` and end the process. Does not return. */
    __attribute__((noreturn)) void (*give_up)(const char *sentence);
};

struct host {
    struct rota_run run; /* what the plugin sees */
    const struct params *params;
    struct host_port port;
    int64_t stop_grace_ms;
    struct boot started;
    int64_t worst_case_ms, max_runtime_ms;
    atomic_llong overrun_ms;        /* O: moved by progress, if it may be */
    atomic_llong deadline_ms;       /* D: moved by renewals */
    atomic_bool stopping;           /* SIGTERM came, or the stop pipe is readable */
    pthread_mutex_t fail_lock;      /* any thread may call fail() */
    char fail_text[HOST_FAIL_SIZE]; /* under it: see host_fail_text() */
};

/* Fills everything but the members of `run` that say which run it is. `h` must not move afterwards.
 */
void host_init(struct host *h, const struct params *params, const struct host_port *port);

/* Calls run() or check() and gives a result that the contract knows, or a negative errno; where the
 * plugin returned another number that is ROTA_FAILED with a text that says so. */
int host_call(struct host *h, int (*function)(const struct rota_run *), const char *name);

/* Copies the last fail() text; "" if there is none. From any thread. */
void host_fail_text(struct host *h, char ret_text[HOST_FAIL_SIZE]);
#endif
