/* SPDX-License-Identifier: MIT */
#include "core/memory_internal.h"

#include "base/text.h"
#include <string.h>

/* --- seats: by their ends, and by name where these are the same, as a sorted set --- */

static bool comes_before(const struct memory_seat *seat, struct wall until, const char *who)
{
    return seat->until.ms != until.ms ? seat->until.ms < until.ms : strcmp(seat->who, who) < 0;
}

static uint32_t number_of(const struct memory_seats *s, const char *who)
{
    uint32_t i = 0;

    while (i < s->seats && strcmp(s->room.seats[i].who, who) != 0)
        i++;
    return i;
}

struct wall memory_seats_find(const struct memory_seats *s, const char *who)
{
    uint32_t i = number_of(s, who);

    return i < s->seats ? s->room.seats[i].until : (struct wall){ 0 };
}

uint32_t memory_seats_taken(const struct memory_seats *s, struct wall now)
{
    uint32_t over = 0;

    while (over < s->seats && s->room.seats[over].until.ms <= now.ms)
        over++;
    return s->seats - over;
}

static void take_out(struct memory_seats *s, uint32_t i)
{
    memmove(s->room.seats + i, s->room.seats + i + 1, (s->seats - i - 1) * sizeof s->room.seats[0]);
    s->seats--;
}

static void put_in(struct memory_seats *s, const char *who, struct wall until)
{
    uint32_t i = s->seats;

    while (i > 0 && !comes_before(&s->room.seats[i - 1], until, who))
        i--;
    memmove(s->room.seats + i + 1, s->room.seats + i, (s->seats - i) * sizeof s->room.seats[0]);
    s->room.seats[i].until = until;
    text_copy(s->room.seats[i].who, sizeof s->room.seats[i].who, who);
    s->seats++;
}

void memory_seats_remove(struct memory_seats *s, const char *who)
{
    uint32_t i = number_of(s, who);

    if (i < s->seats)
        take_out(s, i);
}

bool memory_seats_put(struct memory_seats *s, const char *who, struct wall until)
{
    uint32_t i = number_of(s, who);

    if (i == s->seats && s->seats == s->room.seats_max)
        return false;
    if (s->seats == 0)
        s->seats_end = MEMORY_FOREVER;
    if (i < s->seats)
        take_out(s, i);
    put_in(s, who, until);
    return true;
}

bool memory_seats_sit(struct memory_seats *s, struct wall now, const struct store_request *request)
{
    int64_t longest_ms = s->longest_ms > request->ttl_ms ? s->longest_ms : request->ttl_ms;

    if (!memory_seats_put(s, request->token, wall_add(now, request->ttl_ms)))
        return false;
    s->seats_end = wall_add(now, request->job->retention_ms + longest_ms);
    return true;
}

void memory_seats_cut(struct memory_seats *s, struct wall most)
{
    struct memory_seat last;

    while (s->seats > 0 && s->room.seats[s->seats - 1].until.ms > most.ms) {
        last = s->room.seats[--s->seats];
        put_in(s, last.who, most);
    }
}

void memory_seats_drop_over(struct memory_seats *s, struct wall now)
{
    uint32_t taken = memory_seats_taken(s, now);

    memmove(s->room.seats, s->room.seats + s->seats - taken, taken * sizeof s->room.seats[0]);
    s->seats = taken;
}

void memory_seats_expire(struct memory_seats *s, struct wall now)
{
    if (now.ms > s->seats_end.ms)
        s->seats = 0;
}

/* --- devices --- */

static bool is_free(const void *entry)
{
    const struct memory_device *d = entry;

    return !d->known && !d->queued;
}

struct memory_table memory_seats_table(struct memory_seats *s)
{
    return (struct memory_table){ .entries = s->room.devices,
                                  .size = sizeof s->room.devices[0],
                                  .order = s->room.by_name,
                                  .capacity = s->room.devices_max,
                                  .count = &s->devices,
                                  .is_free = is_free };
}

struct memory_device *memory_seats_device(struct memory_seats *s, const char *name)
{
    struct memory_table table = memory_seats_table(s);

    return memory_table_have(&table, name);
}

void memory_device_forget(struct memory_device *d)
{
    struct memory_device empty = { .queued = d->queued, .since = d->since };

    text_copy(empty.name, sizeof empty.name, d->name);
    *d = empty;
}

void memory_devices_expire(struct memory_seats *s, struct wall now)
{
    if (now.ms <= s->devices_end.ms)
        return;
    for (uint32_t i = 0; i < s->devices; i++)
        memory_device_forget(&s->room.devices[i]);
    s->devices_end = MEMORY_FOREVER;
}

void memory_device_keep(struct memory_seats *s, struct memory_device *d, struct wall now,
                        int64_t retention_ms)
{
    d->known = true;
    s->devices_end = wall_add(now, retention_ms);
}

void memory_seats_forget_old(struct memory_seats *s, const struct memory_device *self,
                             struct wall now, int64_t retention_ms)
{
    struct memory_table table = memory_seats_table(s);

    for (int i = 0; i < 2; i++) {
        struct memory_device *d = memory_table_next(&table, &s->look);
        struct wall last = memory_later(memory_later(d->turn, d->done),
                                        memory_later(memory_later(d->ended, d->blank), d->ask));

        if (d != self && wall_add(last, retention_ms).ms < now.ms)
            memory_device_forget(d);
    }
}

/* --- the queue: by the first refusal, and by name --- */

struct memory_device *memory_queue_at(const struct memory_seats *s, uint32_t place)
{
    return &s->room.devices[s->room.queue[place]];
}

/* Where one that came then is, or belongs. */
static uint32_t place_in_queue(const struct memory_seats *s, struct wall since, const char *name)
{
    uint32_t low = 0, high = s->queued;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct memory_device *d = memory_queue_at(s, middle);

        if (d->since.ms != since.ms ? d->since.ms < since.ms : strcmp(d->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t memory_queue_place(const struct memory_seats *s, const struct memory_device *d)
{
    return d->queued ? place_in_queue(s, d->since, d->name) : s->queued;
}

void memory_queue_join(struct memory_seats *s, struct memory_device *d, struct wall now)
{
    uint32_t place;

    if (d->queued)
        return;
    place = place_in_queue(s, now, d->name);
    memmove(s->room.queue + place + 1, s->room.queue + place,
            (s->queued - place) * sizeof s->room.queue[0]);
    s->room.queue[place] = (uint32_t)(d - s->room.devices);
    s->queued++;
    d->queued = true;
    d->since = now;
}

void memory_queue_leave(struct memory_seats *s, struct memory_device *d)
{
    uint32_t place;

    if (!d->queued)
        return;
    place = memory_queue_place(s, d);
    memmove(s->room.queue + place, s->room.queue + place + 1,
            (s->queued - place - 1) * sizeof s->room.queue[0]);
    s->queued--;
    d->queued = false;
}

void memory_queue_drop_heads(struct memory_seats *s, const struct memory_device *self,
                             struct wall now, int64_t patience_ms, int64_t retention_ms)
{
    uint32_t count = s->queued < 2 ? s->queued : 2;
    struct memory_device *heads[2];

    for (uint32_t i = 0; i < count; i++)
        heads[i] = memory_queue_at(s, i);
    for (uint32_t i = 0; i < count; i++) {
        struct wall ask = heads[i]->ask;

        /* the second: its clock was set back */
        if (heads[i] != self &&
            (wall_add(ask, patience_ms).ms < now.ms || ask.ms > wall_add(now, retention_ms).ms))
            memory_queue_leave(s, heads[i]);
    }
}

void memory_queue_expire(struct memory_seats *s, struct wall now)
{
    if (s->queued == 0 || now.ms <= s->queue_end.ms)
        return;
    while (s->queued > 0)
        memory_queue_at(s, --s->queued)->queued = false;
}
