/* SPDX-License-Identifier: MIT
 * core/memory_table.h: entries that are found by their names, in arrays of the caller's: a search
 * is O(log n), a new name O(n) moves of four bytes. */
#ifndef ROTA_CORE_MEMORY_TABLE_H
#define ROTA_CORE_MEMORY_TABLE_H
#include "core/fingerprint.h"
#include "core/spec.h"
#include <stddef.h>

/* Of a job, or of a device with what tells it from another of its name; with the end. */
#define MEMORY_NAME_SIZE (DEVICE_NAME_MAX + 1 + FINGERPRINT_SIZE)

/* A view of such arrays, made for one use. */
struct memory_table {
    void *entries;   /* each begins with char name[MEMORY_NAME_SIZE] */
    size_t size;     /* of one, in bytes */
    uint32_t *order; /* their numbers, by name; as long as `entries` */
    uint32_t capacity;
    uint32_t *count;                    /* that have a name; they are the first ones */
    bool (*is_free)(const void *entry); /* it may be forgotten with its name */
};

/* NULL where there is none. */
void *memory_table_find(const struct memory_table *t, const char *name);
/* Makes one where there is none, all zero but its name: an unused one, else one that is free. NULL
 * where there is neither. */
void *memory_table_have(const struct memory_table *t, const char *name);
/* The entries one by one, again and again, by a number that is kept for it. Only where `count` is
 * not 0. */
void *memory_table_next(const struct memory_table *t, uint32_t *number);
#endif
