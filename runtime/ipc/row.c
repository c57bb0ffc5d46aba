/* SPDX-License-Identifier: MIT */
#include "ipc/row.h"

#include <errno.h>

void row_put(struct frame *f, const struct row *rows, const void *message)
{
    for (const struct row *row = rows; row->kind != ROW_END; row++) {
        const char *member = (const char *)message + row->offset;

        switch (row->kind) {
        case ROW_I64:
            frame_put_integer(f, row->tag, *(const int64_t *)(const void *)member);
            break;
        case ROW_I32:
            frame_put_integer(f, row->tag, *(const int32_t *)(const void *)member);
            break;
        case ROW_U32:
            frame_put_integer(f, row->tag, *(const uint32_t *)(const void *)member);
            break;
        case ROW_BOOL:
            frame_put_integer(f, row->tag, *(const bool *)member);
            break;
        default:
            frame_put_text(f, row->tag, *(const char *const *)(const void *)member);
            break;
        }
    }
}

void row_pack(struct frame *f, uint16_t type, const struct row *rows, const void *message)
{
    frame_begin(f, type);
    row_put(f, rows, message);
}

static int store_integer(const struct row *row, int64_t value, char *member)
{
    switch (row->kind) {
    case ROW_I64:
        *(int64_t *)(void *)member = value;
        return 0;
    case ROW_I32:
        if (value < INT32_MIN || value > INT32_MAX)
            return -EBADMSG;
        *(int32_t *)(void *)member = (int32_t)value;
        return 0;
    case ROW_U32:
        if (value < 0 || value > UINT32_MAX)
            return -EBADMSG;
        *(uint32_t *)(void *)member = (uint32_t)value;
        return 0;
    default:
        if (value != 0 && value != 1)
            return -EBADMSG;
        *(bool *)member = value == 1;
        return 0;
    }
}

static int store_field(const struct row *row, const struct field *field, void *message)
{
    char *member = (char *)message + row->offset;
    int64_t value;
    int r;

    if (row->kind == ROW_TEXT)
        return field_text(field, (const char **)(void *)member);
    r = field_integer(field, &value);
    return r < 0 ? r : store_integer(row, value, member);
}

int row_unpack(struct frame *f, const struct row *rows, void *message)
{
    uint64_t seen = 0;
    struct field field;
    int r;

    f->read_at = FRAME_HEADER_SIZE;
    while ((r = frame_next(f, &field)) > 0) {
        for (size_t i = 0; rows[i].kind != ROW_END; i++) {
            if (rows[i].tag != field.tag)
                continue;
            r = store_field(&rows[i], &field, message);
            if (r < 0)
                return r;
            seen |= UINT64_C(1) << i;
        }
    }
    if (r < 0)
        return r;
    for (size_t i = 0; rows[i].kind != ROW_END; i++)
        if (!rows[i].optional && !(seen & (UINT64_C(1) << i)))
            return -EBADMSG;
    return 0;
}
