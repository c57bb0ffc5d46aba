/* SPDX-License-Identifier: MIT
 * What a store holds: a master's, and a replica's. */
#include "sim.h"
#include <stdlib.h>
#include <string.h>

/* Taken, or left to expire, or over and not yet noticed. */
#define SEATS_MAX 200

static void make_room(const struct sim *s, struct store_job *job)
{
    struct memory_room *room = &job->seats.room;

    room->seats_max = SEATS_MAX;
    room->devices_max = s->plan.devices + 1;
    room->seats = sim_new(room->seats_max * sizeof *room->seats);
    room->devices = sim_new(room->devices_max * sizeof *room->devices);
    room->by_name = sim_new(room->devices_max * sizeof *room->by_name);
    room->queue = sim_new(room->devices_max * sizeof *room->queue);
    job->own = sim_new(s->plan.devices * sizeof *job->own);
}

void copy_init(struct sim *s, struct store_copy *c)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++)
        if (plan_has_record(&s->plan, i) && plan_has_seats(&s->plan, i))
            make_room(s, &c->jobs[i]);
    copy_forget(s, c);
}

void copy_done(struct store_copy *c)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++) {
        struct memory_room *room = &c->jobs[i].seats.room;

        free(room->seats);
        free(room->devices);
        free(room->by_name);
        free(room->queue);
        free(c->jobs[i].own);
    }
}

/* What a record points to is of its own copy. */
static void connect(struct sim *s, struct store_copy *c)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++) {
        struct store_job *job = &c->jobs[i];

        job->record.lock = &c->jobs[plan_lock(&s->plan, i)].lock;
        job->record.pause = &job->pause;
        job->record.seats = job->own ? &job->seats : NULL;
        job->record.texts = &s->texts;
    }
}

void copy_forget(struct sim *s, struct store_copy *c)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++) {
        struct store_job *job = &c->jobs[i];

        *job = (struct store_job){ .seats = { .room = job->seats.room }, .own = job->own };
        if (job->own)
            memset(job->own, 0, s->plan.devices * sizeof *job->own);
    }
    connect(s, c);
}

static void take_job(const struct sim *s, struct store_job *to, const struct store_job *from)
{
    const struct memory_seats *seats = &from->seats;
    struct memory_room room = to->seats.room;
    struct ledger *own = to->own;

    *to = *from;
    to->seats.room = room;
    to->own = own;
    if (!own)
        return;
    memcpy(room.seats, seats->room.seats, seats->seats * sizeof *room.seats);
    memcpy(room.devices, seats->room.devices, seats->devices * sizeof *room.devices);
    memcpy(room.by_name, seats->room.by_name, seats->devices * sizeof *room.by_name);
    memcpy(room.queue, seats->room.queue, seats->queued * sizeof *room.queue);
    memcpy(own, from->own, s->plan.devices * sizeof *own);
}

void copy_take(struct sim *s, struct store_copy *to, const struct store_copy *from)
{
    for (unsigned i = 0; i < PLAN_RECORDS_MAX; i++)
        take_job(s, &to->jobs[i], &from->jobs[i]);
    connect(s, to);
}
