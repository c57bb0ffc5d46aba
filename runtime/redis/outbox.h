/* SPDX-License-Identifier: MIT
 * redis/outbox.h: commands on their way into a socket that may take them in parts. */
#ifndef ROTA_REDIS_OUTBOX_H
#define ROTA_REDIS_OUTBOX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_outbox {
    char *bytes;
    size_t size; /* reserved */
    size_t used; /* written up to here */
    size_t sent; /* handed to the socket up to here */
};

/* One command as Redis reads it: argument by argument, each with its length. */
struct redis_command {
    size_t count;
    const char *const *arguments;
    const size_t *lengths;
};

void redis_outbox_done(struct redis_outbox *outbox);
/* Overwrites the bytes, and gives a large buffer back. */
void redis_outbox_clear(struct redis_outbox *outbox);
/* Appends a whole command, or nothing: 0 or -ENOMEM. */
int redis_outbox_add(struct redis_outbox *outbox, const struct redis_command *command);
/* Appends bytes as they are: 0 or -ENOMEM. */
int redis_outbox_append(struct redis_outbox *outbox, const char *bytes, size_t size);
bool redis_outbox_is_empty(const struct redis_outbox *outbox);
/* Hands the socket what it takes, and adds that to *sent. 0, also where it took only a part or
 * nothing for now; else a negative errno. */
int redis_outbox_flush(struct redis_outbox *outbox, int fd, uint64_t *sent);
#endif
