/* SPDX-License-Identifier: MIT */
#include "redis/outbox.h"
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Kept between commands; a script's body needs more, and is rare. */
#define SIZE_KEPT 2048

/* A login's password was among them. */
static void wipe(struct redis_outbox *outbox)
{
    if (outbox->bytes)
        explicit_bzero(outbox->bytes, outbox->used);
}

void redis_outbox_done(struct redis_outbox *outbox)
{
    wipe(outbox);
    free(outbox->bytes);
    *outbox = (struct redis_outbox){ 0 };
}

void redis_outbox_clear(struct redis_outbox *outbox)
{
    if (outbox->size > SIZE_KEPT) {
        redis_outbox_done(outbox);
        return;
    }
    wipe(outbox);
    outbox->used = 0;
    outbox->sent = 0;
}

static int reserve(struct redis_outbox *outbox, size_t more)
{
    size_t size = outbox->size ? outbox->size : SIZE_KEPT;
    char *bytes;

    while (size - outbox->used < more)
        size *= 2;
    if (size == outbox->size)
        return 0;
    bytes = malloc(size); /* realloc would leave what it has copied */
    if (!bytes)
        return -ENOMEM;
    if (outbox->bytes)
        memcpy(bytes, outbox->bytes, outbox->used);
    wipe(outbox);
    free(outbox->bytes);
    outbox->bytes = bytes;
    outbox->size = size;
    return 0;
}

int redis_outbox_append(struct redis_outbox *outbox, const char *bytes, size_t size)
{
    int r = reserve(outbox, size);

    if (r < 0)
        return r;
    memcpy(outbox->bytes + outbox->used, bytes, size);
    outbox->used += size;
    return 0;
}

int redis_outbox_add(struct redis_outbox *outbox, const struct redis_command *command)
{
    /* hiredis takes pointers to pointers without const, and writes to neither. */
    const char **arguments = (const char **)(uintptr_t)command->arguments;
    char *text = NULL;
    long long len;
    int r;

    len = redisFormatCommandArgv(&text, (int)command->count, arguments, command->lengths);
    if (len < 0)
        return -ENOMEM;
    r = redis_outbox_append(outbox, text, (size_t)len);
    explicit_bzero(text, (size_t)len);
    redisFreeCommand(text);
    return r;
}

bool redis_outbox_is_empty(const struct redis_outbox *outbox)
{
    return outbox->sent == outbox->used;
}

int redis_outbox_flush(struct redis_outbox *outbox, int fd, uint64_t *sent)
{
    while (!redis_outbox_is_empty(outbox)) {
        ssize_t n =
            send(fd, outbox->bytes + outbox->sent, outbox->used - outbox->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        outbox->sent += (size_t)n;
        *sent += (size_t)n;
    }
    redis_outbox_clear(outbox);
    return 0;
}
