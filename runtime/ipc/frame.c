/* SPDX-License-Identifier: MIT */
#include "ipc/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct header {
    char magic[4];
    uint16_t version, type;
    uint32_t body_length;
};

struct field_header {
    uint16_t tag, zero;
    uint32_t length;
};

_Static_assert(sizeof(struct header) == FRAME_HEADER_SIZE, "the header has no padding");
_Static_assert(sizeof(struct field_header) == FRAME_FIELD_SIZE, "a field's header has no padding");

static const char magic[4] = { 'R', 'O', 'T', 'A' };

/* The most that a packet brings; Linux's SCM_MAX_FD. */
#define DESCRIPTORS_MAX 253

static void write_header(struct frame *f, uint16_t type)
{
    struct header h = { .version = FRAME_VERSION, .type = type };

    memcpy(h.magic, magic, sizeof(magic));
    h.body_length = (uint32_t)(f->length - FRAME_HEADER_SIZE);
    memcpy(f->bytes, &h, sizeof(h));
}

static uint16_t type_of(const struct frame *f)
{
    struct header h;

    memcpy(&h, f->bytes, sizeof(h));
    return h.type;
}

void frame_begin(struct frame *f, uint16_t type)
{
    f->length = FRAME_HEADER_SIZE;
    f->overflow = false;
    f->read_at = FRAME_HEADER_SIZE;
    write_header(f, type);
}

void frame_put(struct frame *f, uint16_t tag, const void *data, size_t length)
{
    struct field_header h = { .tag = tag, .length = (uint32_t)length };

    if (f->overflow || length > FRAME_MAX - FRAME_FIELD_SIZE ||
        f->length > FRAME_MAX - FRAME_FIELD_SIZE - length) {
        f->overflow = true;
        return;
    }
    memcpy(f->bytes + f->length, &h, sizeof(h));
    if (length > 0)
        memcpy(f->bytes + f->length + sizeof(h), data, length);
    f->length += sizeof(h) + length;
    write_header(f, type_of(f));
}

void frame_put_integer(struct frame *f, uint16_t tag, int64_t value)
{
    frame_put(f, tag, &value, sizeof(value));
}

void frame_put_text(struct frame *f, uint16_t tag, const char *text)
{
    if (text)
        frame_put(f, tag, text, strlen(text) + 1);
}

int frame_send(int fd, const struct frame *f)
{
    ssize_t n;

    if (f->overflow)
        return -EMSGSIZE;
    do
        n = send(fd, f->bytes, f->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return 0;
    if (errno == EWOULDBLOCK || errno == ENOBUFS)
        return -EAGAIN;
    return errno == ECONNRESET ? -EPIPE : -errno;
}

static int check_header(const struct frame *f)
{
    struct header h;

    if (f->length < FRAME_HEADER_SIZE)
        return -EBADMSG;
    memcpy(&h, f->bytes, sizeof(h));
    if (memcmp(h.magic, magic, sizeof(magic)) != 0 || h.version != FRAME_VERSION || h.type == 0 ||
        h.body_length != f->length - FRAME_HEADER_SIZE)
        return -EBADMSG;
    return h.type;
}

int frame_receive(int fd, struct frame *f)
{
    /* Where a peer sends descriptors and there is no room for them, the kernel closes them here and
     * now, and that of a socket that lingers (SO_LINGER) waits for as long as the peer likes. */
    union {
        struct cmsghdr first;
        char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
    } control;
    struct iovec packet = { f->bytes, sizeof(f->bytes) };
    struct msghdr m = { .msg_iov = &packet,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };
    ssize_t n;

    /* MSG_TRUNC makes the kernel tell the packet's whole length, so that a cut one is seen. A peer
     * that closed with packets of ours unread is told by one ECONNRESET, before what it sent
     * itself. */
    do
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    if (m.msg_controllen > 0)
        return -EPERM;
    if (n == 0)
        return 0;
    if ((size_t)n > sizeof(f->bytes))
        return -EBADMSG;
    f->length = (size_t)n;
    f->overflow = false;
    f->read_at = FRAME_HEADER_SIZE;
    return check_header(f);
}

int frame_next(struct frame *f, struct field *ret_field)
{
    struct field_header h;

    if (f->read_at == f->length)
        return 0;
    if (f->length - f->read_at < sizeof(h))
        return -EBADMSG;
    memcpy(&h, f->bytes + f->read_at, sizeof(h));
    if (h.length > f->length - f->read_at - sizeof(h))
        return -EBADMSG;
    *ret_field = (struct field){
        .tag = h.tag,
        .data = f->bytes + f->read_at + sizeof(h),
        .length = h.length,
    };
    f->read_at += sizeof(h) + h.length;
    return 1;
}

int field_integer(const struct field *field, int64_t *ret_value)
{
    if (field->length != sizeof(*ret_value))
        return -EBADMSG;
    memcpy(ret_value, field->data, sizeof(*ret_value));
    return 0;
}

int field_text(const struct field *field, const char **ret_text)
{
    const char *text = field->data;

    if (field->length == 0 || memchr(text, 0, field->length) != text + field->length - 1)
        return -EBADMSG;
    *ret_text = text;
    return 0;
}
