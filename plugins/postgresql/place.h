/* SPDX-License-Identifier: MIT
 * place.h: where a session connects to: the job's parameters as options of libpq's. */
#ifndef PLACE_H
#define PLACE_H
#include <rota/plugin.h>

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#define PLACE_OPTIONS_MAX 12
#define PLACE_PASSWORD_MAX 1024

struct place {
    const struct rota_run *run;
    PQconninfoOption *given; /* what `connection` says; NULL: it is a service alone */
    PQconninfoOption *other; /* the service's, the environment's, libpq's own */
    /* For PQconnectStartParams(). */
    const char *names[PLACE_OPTIONS_MAX + 1], *values[PLACE_OPTIONS_MAX + 1];
    char application[128];
    char idle_s[12], interval_s[12], timeout_ms[24];
    int silence_ms; /* in which a dead connection is found */
    char password[PLACE_PASSWORD_MAX];
};

/* Reads the parameters. ROTA_SUCCEEDED; or ROTA_REFUSED or ROTA_FAILED, and why is told.
 * place_done() is due in any case. for_run: the files that they name are read, too. */
int place_init(struct place *p, const struct rota_run *r, bool for_run);
void place_done(struct place *p);

/* For a run: fills names and values. Connecting may take connect_ms in all; what is left of the
 * lease says how soon a dead connection is to be found. */
void place_options(struct place *p, int64_t connect_ms, int64_t left_ms);
/* Behind the login: how long a host may be silent is no longer its share of connecting. */
void place_connected(const struct place *p, int fd);
#endif
