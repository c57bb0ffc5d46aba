/* SPDX-License-Identifier: MIT */
#include "redis/scripts.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Unpacks the first `size` bytes of the text. */
static void unpack(const unsigned char *in, char *text, size_t size)
{
    size_t done = 0;

    while (done < size) {
        size_t left = *in >> 3 & REDIS_SCRIPTS_COPY_LONG, back = *in & 7;

        if (*in < 128) {
            text[done++] = (char)*in++;
            continue;
        }
        do {
            back = back << 7 | (*++in & 127);
        } while (*in >= 128);
        in++;
        if (left == REDIS_SCRIPTS_COPY_LONG)
            left += *in++;
        assert(back > 0 && back <= done);
        for (left += REDIS_SCRIPTS_COPY_MIN; left > 0 && done < size; left--, done++)
            text[done] = text[done - back];
    }
}

char *redis_scripts_body(const struct redis_script *script)
{
    /* A script is packed as what differs from those before it. */
    size_t end = (size_t)script->begin + script->size;
    char *text = malloc(end + 1);

    if (!text)
        return NULL;
    unpack(redis_scripts_packed, text, end);
    memmove(text, text + script->begin, script->size);
    text[script->size] = '\0';
    return text;
}
