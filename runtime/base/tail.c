/* SPDX-License-Identifier: MIT */
#include "base/tail.h"

#include <stdlib.h>
#include <string.h>

#define TAIL_SIZE_MIN ((size_t)512)

/* Before each text, at any address; of one size on every machine. */
struct record {
    _Alignas(8) int64_t at_ms;
    uint16_t size; /* of the text, with its NUL */
    uint8_t stream, level;
};
_Static_assert(sizeof(struct record) == 16, "the header says so");

void tail_init(struct tail *t, uint32_t lines_max, size_t bytes_max)
{
    *t = (struct tail){ .lines_max = lines_max, .bytes_max = bytes_max };
}

void tail_done(struct tail *t)
{
    free(t->bytes);
    tail_init(t, t->lines_max, t->bytes_max);
}

static struct record record_at(const struct tail *t, size_t at)
{
    struct record r;

    memcpy(&r, t->bytes + at, sizeof(r));
    return r;
}

void tail_drop(struct tail *t)
{
    t->begin += sizeof(struct record) + record_at(t, t->begin).size;
    t->lines--;
}

/* What is kept moves to the front only where that frees a quarter, so that a line costs a bounded
 * number of moved bytes; else there is more memory. */
static bool make_room(struct tail *t, size_t need)
{
    const size_t most = t->bytes_max + t->bytes_max / 4;
    size_t used = t->end - t->begin, size = t->size;
    unsigned char *bytes;

    if (t->size - t->end >= need)
        return true;
    if (used > 0)
        memmove(t->bytes, t->bytes + t->begin, used);
    t->begin = 0;
    t->end = used;
    while (size < most && size - used < need + size / 4)
        size = size < TAIL_SIZE_MIN ? TAIL_SIZE_MIN : size * 2;
    size = size < most ? size : most;
    if (size > t->size) {
        bytes = realloc(t->bytes, size);
        if (bytes) {
            t->bytes = bytes;
            t->size = size;
        }
    }
    return t->size - used >= need;
}

uint32_t tail_add(struct tail *t, const struct tail_line *line)
{
    size_t length = strlen(line->text), need = sizeof(struct record) + length + 1;
    struct record r = { .at_ms = line->at.ms,
                        .size = (uint16_t)(length + 1),
                        .stream = line->stream,
                        .level = line->level };
    uint32_t lost = 0;

    if (t->lines_max == 0 || need > t->bytes_max || length >= UINT16_MAX)
        return 1;
    while (t->lines > 0 && (t->lines >= t->lines_max || t->end - t->begin + need > t->bytes_max)) {
        tail_drop(t);
        lost++;
    }
    if (!make_room(t, need))
        return lost + 1;
    memcpy(t->bytes + t->end, &r, sizeof(r));
    memcpy(t->bytes + t->end + sizeof(r), line->text, length + 1);
    t->end += need;
    t->lines++;
    return lost;
}

bool tail_next(const struct tail *t, size_t *at, struct tail_line *ret_line)
{
    struct record r;

    if (t->end - t->begin <= *at)
        return false;
    r = record_at(t, t->begin + *at);
    *ret_line = (struct tail_line){
        .at = { r.at_ms },
        .stream = r.stream,
        .level = r.level,
        .text = (const char *)t->bytes + t->begin + *at + sizeof(r),
    };
    *at += sizeof(r) + r.size;
    return true;
}
