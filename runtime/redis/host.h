/* SPDX-License-Identifier: MIT
 * redis/host.h: what may stand for a host, as a server or a child of ours writes it. Pure. */
#ifndef ROTA_REDIS_HOST_H
#define ROTA_REDIS_HOST_H
#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The longest name, with its end. */
#define REDIS_HOST_SIZE 254

/* An IPv4 or IPv6 address. */
static inline bool redis_host_is_numeric(const char *host)
{
    struct in6_addr any;

    return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

/* What an address or a name is made of; whether there is such a host shows when it is connected to.
 * It begins with a letter, a digit or a colon, so that no program takes it for an option. */
static inline bool redis_host_is_plain(const char *host, size_t length)
{
    if (length == 0 || length >= REDIS_HOST_SIZE ||
        (!isalnum((unsigned char)host[0]) && host[0] != ':'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)host[i]) && (host[i] == '\0' || !strchr(".:-_%", host[i])))
            return false;
    return true;
}
#endif
