/* SPDX-License-Identifier: MIT */
#include "cut.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM 64

bool cut_is_before(struct cut_key a, struct cut_key b)
{
    return a.changed_ns != b.changed_ns ? a.changed_ns < b.changed_ns : a.inode < b.inode;
}

static bool is_older(const struct cut *c, size_t a, size_t b)
{
    return cut_is_before(c->heap[a].key, c->heap[b].key);
}

static void swap(struct cut *c, size_t a, size_t b)
{
    struct cut_file kept = c->heap[a];

    c->heap[a] = c->heap[b];
    c->heap[b] = kept;
}

static int make_room(struct cut *c)
{
    size_t room = c->room ? c->room * 2 : FIRST_ROOM;
    struct cut_file *heap;

    if (c->count < c->room)
        return 0;
    heap = realloc(c->heap, room * sizeof(*heap));
    if (!heap)
        return -ENOMEM;
    c->heap = heap;
    c->room = room;
    return 0;
}

static void drop_oldest(struct cut *c)
{
    size_t at = 0;

    if (!c->left_out || cut_is_before(c->newest_out, c->heap[0].key))
        c->newest_out = c->heap[0].key;
    c->left_out = true;
    c->bytes -= c->heap[0].bytes;
    c->heap[0] = c->heap[--c->count];
    for (;;) {
        size_t oldest = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < c->count; child++)
            if (is_older(c, child, oldest))
                oldest = child;
        if (oldest == at)
            return;
        swap(c, at, oldest);
        at = oldest;
    }
}

int cut_add(struct cut *c, struct cut_file file)
{
    size_t at = c->count;

    /* Older than one that did not fit: it does not fit either, however small it is. */
    if (c->left_out && !cut_is_before(c->newest_out, file.key))
        return 0;
    if (make_room(c) < 0)
        return -ENOMEM;
    c->heap[c->count++] = file;
    c->bytes += file.bytes;
    for (; at > 0 && is_older(c, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(c, at, (at - 1) / 2);
    while (c->count > c->files_max || c->bytes > c->bytes_max)
        drop_oldest(c);
    return 0;
}

struct cut_key cut_at(const struct cut *c)
{
    struct cut_key key = c->newest_out;

    if (!c->left_out)
        return CUT_NOTHING;
    key.inode += key.inode < UINT64_MAX;
    return key;
}

struct cut_key cut_oldest_kept(const struct cut *c)
{
    if (!c->left_out)
        return CUT_NOTHING;
    return c->count > 0 ? c->heap[0].key : cut_at(c);
}

void cut_done(struct cut *c)
{
    free(c->heap);
    *c = (struct cut){ 0 };
}
