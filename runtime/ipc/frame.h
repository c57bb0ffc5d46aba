/* SPDX-License-Identifier: MIT
 * ipc/frame.h: messages over a SOCK_SEQPACKET pair between supervisor and guard (and guard and
 * worker).
 *
 * One packet is one frame: a header, then fields to the end of the packet, without padding.
 *
 *   header   4 bytes "ROTA" | u16 version | u16 type | u32 length of what follows
 *   field    u16 tag | u16 zero | u32 length | bytes
 *
 * Numbers are in host order: both ends are on one machine. An integer is an i64; a text is its
 * bytes and one NUL. A reader skips tags that it does not know, so a message can grow. A packet
 * that is short, long, of another version or with a field past its end is -EBADMSG: input, never
 * asserted. */
#ifndef ROTA_IPC_FRAME_H
#define ROTA_IPC_FRAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX (96 * 1024)
#define FRAME_VERSION 1
#define FRAME_HEADER_SIZE 12
#define FRAME_FIELD_SIZE 8

struct frame {
    size_t length;  /* header included */
    bool overflow;  /* a put did not fit: the frame is not sent */
    size_t read_at; /* cursor of frame_next() */
    unsigned char bytes[FRAME_MAX];
};

struct field {
    uint16_t tag;
    const void *data;
    uint32_t length;
};

void frame_begin(struct frame *f, uint16_t type);
void frame_put(struct frame *f, uint16_t tag, const void *data, size_t length);
void frame_put_integer(struct frame *f, uint16_t tag, int64_t value);
void frame_put_text(struct frame *f, uint16_t tag, const char *text); /* NULL: nothing is put */

/* Sends without waiting. 0; -EAGAIN where the peer is slow; -EMSGSIZE after an overflow; -EPIPE. */
int frame_send(int fd, const struct frame *f);
/* Receives without waiting and checks the header. The type (never 0); 0 where the peer is gone;
 * -EAGAIN; -EBADMSG (that packet is consumed); -EPERM: with descriptors, which are left open, since
 * to close them, or the socket with more of them in it, may wait for ever; another -errno. */
int frame_receive(int fd, struct frame *f);
/* 1 and the next field, 0 at the end, -EBADMSG. */
int frame_next(struct frame *f, struct field *ret_field);
/* 0, or -EBADMSG where the field is no integer, or no text (ended, without a NUL inside). */
int field_integer(const struct field *field, int64_t *ret_value);
int field_text(const struct field *field, const char **ret_text);
#endif
