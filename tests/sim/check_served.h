/* SPDX-License-Identifier: MIT
 * sim/check_served.h: what check_store.c, check_finish.c and check_seats.c share: a request that
 * the store has just answered. */
#ifndef ROTA_SIM_CHECK_SERVED_H
#define ROTA_SIM_CHECK_SERVED_H
#include "sim.h"
#include <string.h>

/* One request, its answer, and what it did. */
struct served {
    const struct flight *f;
    unsigned record;
    const struct shot *before, *after;
    struct ledger *ledger; /* of the job, or of the device */
    struct ledger *whole;  /* of the job */
    struct job_check *check;
    struct wall now;
};

static inline const char *served_name(const struct served *v)
{
    return v->f->request.job->name;
}

static inline bool served_by_seat(const struct served *v)
{
    return v->f->request.job->scope == SCOPE_DEVICE;
}

/* Of an acquire. */
static inline bool served_by_hand(const struct served *v)
{
    return v->f->request.next.ms <= 0;
}

static inline bool served_is_new(const struct served *v)
{
    return strcmp(v->before->record.token, v->f->token) != 0;
}

/* check_finish.c: of a finish, what it is to record, and no more. */
void served_finish(struct sim *s, const struct served *v);

/* check_seats.c. Who waits longest for a seat is next; of an acquire. */
void served_queue(struct sim *s, const struct served *v);
/* Failures in a row stop the job; of a finish, `first`: of that token. */
void served_brake(struct sim *s, const struct served *v, bool first);
/* The store itself has stopped the job. */
void served_note_brake(struct sim *s, const struct served *v);
/* No more are taken than there are. */
void served_seats(struct sim *s, const struct served *v);
#endif
