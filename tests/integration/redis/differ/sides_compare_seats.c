/* SPDX-License-Identifier: MIT */
#include "redis/differ/sides_compare.h"

#include "base/text.h"
#include "core/memory_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "seats", "queue", "devices" };

void sides_compare_send_seats(struct sides *s, size_t job)
{
    char key[SIDES_KEY_SIZE];

    for (size_t i = 0; i < 2; i++) {
        redisAppendCommand(s->redis, "ZRANGE %s 0 -1 WITHSCORES", sides_key(job, kinds[i], key));
        redisAppendCommand(s->redis, "PTTL %s", key);
    }
    redisAppendCommand(s->redis, "HGETALL %s", sides_key(job, kinds[2], key));
    redisAppendCommand(s->redis, "PTTL %s", key);
}

static void compare_seats(struct sides *s, struct memory_seats *seats)
{
    redisReply *list = sides_compare_next(s), *pttl = sides_compare_next(s);

    memory_seats_expire(seats, s->now);
    sides_compare_number(s, "seats", seats->seats, (int64_t)list->elements / 2);
    for (size_t i = 0; i < seats->seats && 2 * i < list->elements; i++) {
        sides_compare_text(s, "seat", seats->room.seats[i].who, list->element[2 * i]->str);
        sides_compare_number(s, "seat's end", seats->room.seats[i].until.ms,
                             strtoll(list->element[2 * i + 1]->str, NULL, 10));
    }
    sides_compare_end(s, "seats' time left", seats->seats_end, pttl);
    freeReplyObject(list);
    freeReplyObject(pttl);
}

static void compare_queue(struct sides *s, struct memory_seats *seats)
{
    redisReply *list = sides_compare_next(s), *pttl = sides_compare_next(s);

    memory_queue_expire(seats, s->now);
    sides_compare_number(s, "queue", seats->queued, (int64_t)list->elements / 2);
    for (uint32_t i = 0; i < seats->queued && 2 * i < list->elements; i++) {
        const struct memory_device *d = memory_queue_at(seats, i);

        sides_compare_text(s, "queued", d->name, list->element[2 * i]->str);
        sides_compare_number(s, "queued since", d->since.ms,
                             strtoll(list->element[2 * i + 1]->str, NULL, 10));
    }
    sides_compare_end(s, "queue's time left", seats->queue_end, pttl);
    freeReplyObject(list);
    freeReplyObject(pttl);
}

/* As the scripts write it, but for the boot: no answer depends on that. */
static void device_text(const struct memory_device *d, char *text, size_t size)
{
    unsigned flags = d->held + 2U * d->stopped + 4U * d->manual;
    const char *state = memory_state_word(d->state, d->outcome);

    text_format(text, size,
                "%" PRId64 " %u %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                " %" PRId64 " %" PRId64 " %u %s %s %s",
                d->turn.ms, d->attempt, d->done.ms, d->retry.ms, d->delay_ms, d->started.ms,
                d->ended.ms, d->blank.ms, d->ask.ms, flags, state[0] ? state : "new",
                d->print[0] ? d->print : "-", d->token);
}

/* Takes the twelfth word out. */
static void without_boot(const char *record, char *text, size_t size)
{
    const char *boot = record;

    for (int blanks = 0; blanks < 11 && *boot; boot++)
        blanks += *boot == ' ';
    text_format(text, size, "%.*s%s", (int)(boot - record), record,
                boot + strcspn(boot, " ") + (strchr(boot, ' ') != NULL));
}

static void compare_device(struct sides *s, const struct memory_device *d, const char *record)
{
    char memory[400], redis[400];

    device_text(d, memory, sizeof memory);
    without_boot(record, redis, sizeof redis);
    sides_compare_text(s, d->name, memory, redis);
}

static void compare_devices(struct sides *s, struct memory_seats *seats)
{
    redisReply *list = sides_compare_next(s), *pttl = sides_compare_next(s);
    struct memory_table table = memory_seats_table(seats);
    int64_t known = 0;

    memory_devices_expire(seats, s->now);
    for (uint32_t i = 0; i < seats->devices; i++)
        known += seats->room.devices[i].known;
    sides_compare_number(s, "devices", known, (int64_t)list->elements / 2);
    for (size_t i = 0; i + 1 < list->elements; i += 2) {
        const struct memory_device *d = memory_table_find(&table, list->element[i]->str);

        if (d)
            compare_device(s, d, list->element[i + 1]->str);
        else
            sides_compare_failed(s, "device", "nothing", list->element[i]->str);
    }
    sides_compare_end(s, "devices' time left", seats->devices_end, pttl);
    freeReplyObject(list);
    freeReplyObject(pttl);
}

void sides_compare_seats(struct sides *s, size_t job)
{
    struct memory_seats *seats = &s->jobs[job].seats;

    compare_seats(s, seats);
    compare_queue(s, seats);
    compare_devices(s, seats);
}
