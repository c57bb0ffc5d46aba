/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The name behind its first character. */
static const char *next_character(const char *name)
{
    name++;
    while (((unsigned char)*name & 0xc0U) == 0x80)
        name++;
    return name;
}

bool words_match(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;

    /* Only the last '*' can have to take more: those before it took the least that fits. */
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == '?') {
            pattern++;
            name = next_character(name);
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            retry = next_character(retry);
            name = retry;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

char *words_escape(const char *text, char *buf, size_t size)
{
    static const char hex[] = "0123456789abcdef", more[] = "...";
    size_t used = 0, cut_at = 0;

    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        size_t need = c < 0x20 || c == 0x7f ? 4 : 1;

        if (used + sizeof(more) <= size)
            cut_at = used;
        if (used + need >= size) {
            memcpy(buf + cut_at, more, sizeof(more));
            return buf;
        }
        if (need == 1) {
            buf[used] = *at;
        } else {
            const char escaped[] = { '\\', 'x', hex[c >> 4], hex[c & 0x0fU] };

            memcpy(buf + used, escaped, sizeof(escaped));
        }
        used += need;
    }
    buf[used] = '\0';
    return buf;
}

char *words_size(int64_t bytes, char buf[WORDS_SIZE])
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
    int64_t tenths;
    size_t unit = 0;

    if (bytes < 1024) {
        snprintf(buf, WORDS_SIZE, "%" PRId64 " B", bytes);
        return buf;
    }
    while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes >= INT64_C(1024) * 1024) {
        bytes /= 1024;
        unit++;
    }
    tenths = bytes * 10 / 1024;
    snprintf(buf, WORDS_SIZE, "%" PRId64 ".%d %s", tenths / 10, (int)(tenths % 10), units[unit]);
    return buf;
}
