/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The least prefix of 127.0.0.0/8. */
#define LOOPBACK_NET 127

char *words_flatten(const char *text, char *buf, size_t size)
{
    static const char more[] = "...";
    size_t used = 0, cut_at = 0;
    bool line_ended = false;

    for (const char *at = text; *at; at++) {
        bool control = (unsigned char)*at < ' ' || *at == 0x7f;
        char c = control ? ' ' : *at;

        line_ended = line_ended || *at == '\n';
        if (c == ' ' && (used == 0 || line_ended || buf[used - 1] == ' '))
            continue;
        /* Not within a character of several bytes. */
        if (used + sizeof(more) + 2 <= size && ((unsigned char)c & 0xc0U) != 0x80)
            cut_at = used;
        if (used + 4 >= size) {
            memcpy(buf + cut_at, more, sizeof(more));
            return buf;
        }
        if (line_ended && used > 0) {
            used -= buf[used - 1] == ' ';
            memcpy(buf + used, "; ", 2);
            used += 2;
        }
        line_ended = false;
        buf[used++] = c;
    }
    used -= used > 0 && buf[used - 1] == ' ';
    buf[used] = '\0';
    return buf;
}

int words_line(const char *text, int position)
{
    int line = 1, at = 0;

    for (; *text; text++) {
        at += ((unsigned char)*text & 0xc0U) != 0x80;
        if (at == position)
            return line;
        line += *text == '\n';
    }
    /* "at end of input" is one behind the last. */
    return position == at + 1 ? line : 0;
}

/* One identifier of the name, with its quotes. */
static bool quote(const char *from, size_t length, char *to)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz_0123456789";

    if (length == 0 || length > WORDS_NAME_MAX || !memchr(first, *from, sizeof(first) - 1))
        return false;
    if (strspn(from, rest) < length)
        return false;
    snprintf(to, WORDS_NAME_MAX + 3, "\"%.*s\"", (int)length, from);
    return true;
}

const char *words_table(const char *name, char buf[WORDS_TABLE_SIZE])
{
    const char *dot = strchr(name, '.');
    size_t used = 0;

    if (dot) {
        if (!quote(name, (size_t)(dot - name), buf))
            return NULL;
        used = strlen(buf);
        buf[used++] = '.';
        name = dot + 1;
    }
    return quote(name, strlen(name), buf + used) ? buf : NULL;
}

static bool is_local(const char *host)
{
    struct in6_addr six;
    struct in_addr four;

    if (host[0] == '\0' || host[0] == '/' || host[0] == '@' || strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == LOOPBACK_NET;
    return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool words_is_local(const char *hosts)
{
    char host[256];

    while (hosts) {
        size_t length = strcspn(hosts, ",");

        /* Longer than any name of a machine: of a socket's folder at most. */
        if (length >= sizeof(host) && hosts[0] != '/')
            return false;
        snprintf(host, sizeof(host), "%.*s", (int)length, hosts);
        if (!is_local(host))
            return false;
        hosts = hosts[length] ? hosts + length + 1 : NULL;
    }
    return true;
}

size_t words_count(const char *hosts)
{
    size_t count = 1;

    for (; hosts && *hosts; hosts++)
        count += *hosts == ',';
    return count;
}

char *words_time(long long ms, char buf[WORDS_TIME_SIZE])
{
    long long tenths = (ms + 50) / 100;

    if (ms < 1000)
        snprintf(buf, WORDS_TIME_SIZE, "%lldms", ms);
    else if (tenths < 600)
        snprintf(buf, WORDS_TIME_SIZE, "%lld.%llds", tenths / 10, tenths % 10);
    else
        snprintf(buf, WORDS_TIME_SIZE, "%lldm%llds", tenths / 600, tenths % 600 / 10);
    return buf;
}
