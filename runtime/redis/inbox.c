/* SPDX-License-Identifier: MIT */
#include "redis/inbox.h"
#include <errno.h>

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

static void *create_array(const redisReadTask *task, element_count elements)
{
    const struct redis_inbox *inbox = task->privdata;
    int depth = 1;

    for (const redisReadTask *t = task->parent; t; t = t->parent)
        depth++;
    if (depth > REDIS_INBOX_DEPTH_MAX ||
        elements > (depth == 1 ? REDIS_INBOX_ELEMENTS_MAX : REDIS_INBOX_NESTED_MAX))
        return NULL;
    return inbox->library.createArray(task, elements);
}

int redis_inbox_init(struct redis_inbox *inbox)
{
    redisReader *reader = redisReaderCreate();

    if (!reader)
        return -ENOMEM;
    inbox->library = *reader->fn;
    inbox->bounded = *reader->fn;
    inbox->bounded.createArray = create_array;
    reader->fn = &inbox->bounded;
    reader->privdata = inbox;
    inbox->reader = reader;
    inbox->unfinished = 0;
    return 0;
}

void redis_inbox_done(struct redis_inbox *inbox)
{
    if (inbox->reader)
        redisReaderFree(inbox->reader);
    inbox->reader = NULL;
}

int redis_inbox_feed(struct redis_inbox *inbox, const char *bytes, size_t size)
{
    inbox->unfinished += size;
    return redisReaderFeed(inbox->reader, bytes, size) == REDIS_OK ? 0 : -ENOMEM;
}

int redis_inbox_take(struct redis_inbox *inbox, redisReply **ret_reply)
{
    void *reply = NULL;

    if (redisReaderGetReply(inbox->reader, &reply) != REDIS_OK)
        return inbox->reader->err == REDIS_ERR_OOM ? -EMSGSIZE : -EBADMSG;
    if (reply) {
        /* What is behind it in the buffer belongs to the next one. */
        inbox->unfinished = inbox->reader->len - inbox->reader->pos;
        *ret_reply = reply;
        return 1;
    }
    return inbox->unfinished > REDIS_INBOX_BYTES_MAX ? -EMSGSIZE : 0;
}
