/* SPDX-License-Identifier: MIT */
#include "core/memory_table.h"

#include "base/text.h"
#include <assert.h>
#include <string.h>

static void *entry_at(const struct memory_table *t, uint32_t number)
{
    return (char *)t->entries + number * t->size;
}

/* The place of the name in the order, or where it belongs. */
static uint32_t place_of(const struct memory_table *t, const char *name)
{
    uint32_t low = 0, high = *t->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (strcmp(entry_at(t, t->order[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void *memory_table_find(const struct memory_table *t, const char *name)
{
    uint32_t place = place_of(t, name);
    void *entry;

    if (place == *t->count)
        return NULL;
    entry = entry_at(t, t->order[place]);
    return strcmp(entry, name) == 0 ? entry : NULL;
}

/* The number of a free one, which has lost its place; `count` where there is none. */
static uint32_t give_up_one(const struct memory_table *t)
{
    uint32_t number = 0, place;

    while (number < *t->count && !t->is_free(entry_at(t, number)))
        number++;
    if (number == *t->count)
        return number;
    place = place_of(t, entry_at(t, number));
    memmove(t->order + place, t->order + place + 1, (*t->count - place - 1) * sizeof t->order[0]);
    return number;
}

void *memory_table_have(const struct memory_table *t, const char *name)
{
    void *entry = memory_table_find(t, name);
    uint32_t number = *t->count, place;
    bool fits;

    if (entry)
        return entry;
    if (number == t->capacity) {
        number = give_up_one(t);
        if (number == *t->count)
            return NULL;
        --*t->count;
    }
    place = place_of(t, name);
    memmove(t->order + place + 1, t->order + place, (*t->count - place) * sizeof t->order[0]);
    t->order[place] = number;
    ++*t->count;
    entry = entry_at(t, number);
    memset(entry, 0, t->size);
    fits = text_copy(entry, MEMORY_NAME_SIZE, name);
    assert(fits); /* names are the caller's own */
    return entry;
}

void *memory_table_next(const struct memory_table *t, uint32_t *number)
{
    if (*number >= *t->count)
        *number = 0;
    return entry_at(t, (*number)++);
}
