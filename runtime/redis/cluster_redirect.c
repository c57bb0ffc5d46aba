/* SPDX-License-Identifier: MIT */
#include "redis/cluster_redirect.h"
#include "core/slot.h"
#include "redis/host.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Digits up to `end`, no more than five: a value of at most `most`. False: it is none. */
static bool read_number(const char *text, const char *end, unsigned most, unsigned *ret_value)
{
    unsigned value = 0;

    if (end == text || end - text > 5)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (unsigned)(*text - '0');
    }
    *ret_value = value;
    return value <= most;
}

/* "HOST:PORT", where an IPv6 address has no brackets. */
static int read_place(const char *text, struct cluster_redirect *ret_redirect)
{
    const char *colon = strrchr(text, ':');
    unsigned port;
    size_t length;

    if (!colon || !read_number(colon + 1, strchr(colon, '\0'), UINT16_MAX, &port) || port == 0)
        return -EBADMSG;
    length = (size_t)(colon - text);
    if (length == 1 && text[0] == '?')
        return -EDESTADDRREQ;
    if (length > 0 && !redis_host_is_plain(text, length))
        return -EBADMSG;
    memcpy(ret_redirect->host, text, length);
    ret_redirect->host[length] = '\0';
    ret_redirect->port = (uint16_t)port;
    return 0;
}

int cluster_redirect_read(const char *error, struct cluster_redirect *ret_redirect)
{
    static const char moved[] = "MOVED ", ask[] = "ASK ";
    bool is_ask = strncmp(error, ask, sizeof ask - 1) == 0;
    const char *slot, *blank;
    unsigned number;

    if (!is_ask && strncmp(error, moved, sizeof moved - 1) != 0)
        return -ENOENT;
    slot = error + (is_ask ? sizeof ask : sizeof moved) - 1;
    blank = strchr(slot, ' ');
    if (!blank || !read_number(slot, blank, SLOT_COUNT - 1, &number))
        return -EBADMSG;
    ret_redirect->asks = is_ask;
    return read_place(blank + 1, ret_redirect);
}
