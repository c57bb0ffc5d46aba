/* SPDX-License-Identifier: MIT
 * ipc/row.h: a message's plain members as a table, read and written by one pair of functions.
 * Inside ipc only. */
#ifndef ROTA_IPC_ROW_H
#define ROTA_IPC_ROW_H
#include "ipc/frame.h"

/* How a member of a message's struct is kept. */
enum row_kind { ROW_END, ROW_I64, ROW_I32, ROW_U32, ROW_BOOL, ROW_TEXT };

/* One member. An array of rows ends with ROW_END. */
struct row {
    uint16_t tag;
    uint8_t kind;
    bool optional;   /* absent: 0, false or NULL */
    uint16_t offset; /* small, as there are many */
};

/* Begins the frame and puts a field a row. */
void row_pack(struct frame *f, uint16_t type, const struct row *rows, const void *message);
/* Puts a field a row into a frame that was begun. */
void row_put(struct frame *f, const struct row *rows, const void *message);
/* Fills `message`, where what is absent stays as it was: zeroed. Fields without a row are skipped,
 * as from a newer peer. 0, or -EBADMSG where a field is absent that is not optional, or is of the
 * wrong kind or range. */
int row_unpack(struct frame *f, const struct row *rows, void *message);
#endif
