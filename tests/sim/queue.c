/* SPDX-License-Identifier: MIT */
#include "queue.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Of each place in the heap: less deep than a binary one, and those of one place lie together. */
#define CHILDREN 4

static bool before(const struct queue_slot *a, const struct queue_slot *b)
{
    return a->at_ms < b->at_ms || (a->at_ms == b->at_ms && a->order < b->order);
}

static void put(struct queue *q, size_t place, struct queue_slot slot)
{
    q->heap[place] = slot;
    slot.event->place = place;
}

static size_t parent_of(size_t place)
{
    return (place - 2) / CHILDREN + 1;
}

/* From `place` towards the first, until it is there. */
static void rise(struct queue *q, size_t place, struct queue_slot slot)
{
    while (place > 1 && before(&slot, &q->heap[parent_of(place)])) {
        put(q, place, q->heap[parent_of(place)]);
        place = parent_of(place);
    }
    put(q, place, slot);
}

/* 0: the place has none. */
static size_t first_child(const struct queue *q, size_t place)
{
    size_t child = (place - 1) * CHILDREN + 2, first = child;

    if (child > q->count)
        return 0;
    for (size_t i = 1; i < CHILDREN && child + i <= q->count; i++)
        if (before(&q->heap[child + i], &q->heap[first]))
            first = child + i;
    return first;
}

static void sink(struct queue *q, size_t place, struct queue_slot slot)
{
    size_t child;

    while ((child = first_child(q, place)) && before(&q->heap[child], &slot)) {
        put(q, place, q->heap[child]);
        place = child;
    }
    put(q, place, slot);
}

static void make_room(struct queue *q)
{
    if (q->count + 1 < q->room)
        return;
    q->room = q->room ? 2 * q->room : 1024;
    q->heap = realloc(q->heap, q->room * sizeof *q->heap);
    if (q->heap)
        return;
    fputs("sim: no memory for the events\n", stderr);
    exit(EXIT_FAILURE);
}

static void take_out(struct queue *q, struct event *e)
{
    struct queue_slot last = q->heap[q->count--];
    size_t place = e->place;

    e->place = 0;
    if (last.event == e)
        return;
    if (place > 1 && before(&last, &q->heap[parent_of(place)]))
        rise(q, place, last);
    else
        sink(q, place, last);
}

void queue_set(struct queue *q, struct event *e, int64_t at_ms)
{
    struct queue_slot slot = { .at_ms = at_ms, .event = e };
    int64_t was_ms = e->at_ms;

    e->at_ms = at_ms;
    if (at_ms == QUEUE_NEVER) {
        if (e->place > 0)
            take_out(q, e);
        return;
    }
    if (e->place > 0 && was_ms == at_ms)
        return;
    slot.order = ++q->orders;
    if (e->place == 0) {
        make_room(q);
        rise(q, ++q->count, slot);
    } else if (at_ms < was_ms) {
        rise(q, e->place, slot);
    } else {
        sink(q, e->place, slot);
    }
}

struct event *queue_pop(struct queue *q)
{
    struct event *first = q->count > 0 ? q->heap[1].event : NULL;

    if (first)
        take_out(q, first);
    return first;
}

void queue_done(struct queue *q)
{
    free(q->heap);
    *q = (struct queue){ 0 };
}
