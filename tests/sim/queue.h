/* SPDX-License-Identifier: MIT
 * sim/queue.h: what is to happen, by its instant: a heap of events that are embedded in their
 * owners. Events of one instant happen in the order in which they were set. */
#ifndef ROTA_SIM_QUEUE_H
#define ROTA_SIM_QUEUE_H
#include <stddef.h>
#include <stdint.h>

/* Never: an event that is not queued. */
#define QUEUE_NEVER INT64_MAX

struct sim;
struct event;
typedef void event_happen(struct sim *s, struct event *e);

struct event {
    event_happen *happen;
    int64_t at_ms; /* true time */
    size_t place;  /* in the heap, from 1; 0: not queued */
};

/* The instant stands beside its event, so that a comparison looks at no owner's memory. */
struct queue_slot {
    int64_t at_ms;
    uint64_t order;
    struct event *event;
};

struct queue {
    struct queue_slot *heap; /* from 1 */
    size_t count, room;
    uint64_t orders;
};

void queue_done(struct queue *q);
/* Puts the event there, or moves it; QUEUE_NEVER takes it out. Memory that is short ends the
 * program. */
void queue_set(struct queue *q, struct event *e, int64_t at_ms);
/* Takes out the first; NULL where nothing is queued. */
struct event *queue_pop(struct queue *q);
#endif
