/* SPDX-License-Identifier: MIT
 * core/memory_seats.h: what the in-memory store keeps of a job in device scope beside its record:
 * the keys `seats`, `devices` and `queue` of redis/scripts/seat_*.lua, and the fields of the claim
 * that only these use. */
#ifndef ROTA_CORE_MEMORY_SEATS_H
#define ROTA_CORE_MEMORY_SEATS_H
#include "core/memory.h"
#include "core/memory_table.h"

/* A token, or ~token where its run has ended and what it left behind is unknown; with the end. */
#define MEMORY_SEAT_SIZE (TOKEN_SIZE + 1)

struct memory_seat {
    struct wall until; /* taken before that */
    char who[MEMORY_SEAT_SIZE];
};

/* What one device did last, and its place in the queue; all zero but the name: nothing is known. */
struct memory_device {
    char name[MEMORY_NAME_SIZE];
    bool known;  /* there is a record of it */
    bool queued; /* since `since` */
    bool held, stopped, manual;
    enum memory_state state;
    enum outcome outcome;
    uint32_t attempt;
    struct wall turn, done, retry, started, ended, blank, ask, since;
    int64_t delay_ms;
    char print[FINGERPRINT_SIZE]; /* of its schedule; "": of none */
    char token[TOKEN_SIZE];       /* of its newest attempt */
};

/* The caller's arrays. */
struct memory_room {
    struct memory_seat *seats; /* as many as there can be seats taken, and that ended without a word
                                  since the last question */
    struct memory_device *devices;
    uint32_t *by_name, *queue; /* of as many as there are devices */
    uint32_t seats_max, devices_max;
};

/* All zero but the room: nothing is kept. Where the room does not last, the answer is STORE_ERROR
 * with FAULT_STORAGE. */
struct memory_seats {
    struct memory_room room;
    uint32_t seats, devices, queued;               /* in use; the seats by their ends, the queue by
                                                      the first refusal */
    uint32_t look;                                 /* the device that is looked at next, whether it
                                                      is to be forgotten */
    struct wall seats_end, devices_end, queue_end; /* last milliseconds; of what is not empty */
    /* Of the claim. */
    uint32_t fails; /* in a row, in the whole fleet */
    uint32_t runs;  /* that `mean_ms` is of, at most 128 */
    int64_t mean_ms, longest_ms;
    char by[TOKEN_SIZE]; /* the newest grant's */
};
#endif
