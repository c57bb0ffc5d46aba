/* SPDX-License-Identifier: MIT
 * redis/inbox.h: replies out of bytes: hiredis's reader with bounds. The bytes are a stranger's:
 * thirteen of them make the bare reader reserve 16 GB, and a bulk that never ends makes it grow for
 * ever. */
#ifndef ROTA_REDIS_INBOX_H
#define ROTA_REDIS_INBOX_H
#include <hiredis/hiredis.h>
#include <stddef.h>

/* A master's answer to ROLE: arrays of its replicas, in an array, in an array. */
#define REDIS_INBOX_DEPTH_MAX 3
/* More than any reply of ours has; hello's, and what people ask for, have arrays in them. */
#define REDIS_INBOX_ELEMENTS_MAX 64
#define REDIS_INBOX_NESTED_MAX 1000 /* of an array in an array */
/* Bytes of one reply, whole or not yet: also of many elements, each of which is small. */
#define REDIS_INBOX_BYTES_MAX ((size_t)64 * 1024)

struct redis_inbox {
    redisReader *reader;
    redisReplyObjectFunctions library; /* hiredis's own */
    redisReplyObjectFunctions bounded; /* what the reader calls */
    size_t unfinished;                 /* bytes fed since the last whole reply was taken */
};

/* 0 or -ENOMEM. The inbox must not move afterwards: the reader points into it. */
int redis_inbox_init(struct redis_inbox *inbox);
void redis_inbox_done(struct redis_inbox *inbox);
/* 0 or -ENOMEM. */
int redis_inbox_feed(struct redis_inbox *inbox, const char *bytes, size_t size);
/* 1 and *ret_reply (free it with freeReplyObject()), 0 where the bytes hold no further whole reply,
 * -EBADMSG where they are not the protocol, -EMSGSIZE where the reply is past a bound. */
int redis_inbox_take(struct redis_inbox *inbox, redisReply **ret_reply);
#endif
