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
        size_t left, back = 0;

        if (*in < 128) {
            text[done++] = (char)*in++;
            continue;
        }
        left = (size_t)*in++ - 128 + REDIS_SCRIPTS_COPY_MIN;
        do {
            back = back << 7 | (*in & 127U);
        } while (*in++ >= 128);
        assert(back > 0 && back <= done);
        for (; left > 0 && done < size; left--, done++)
            text[done] = text[done - back];
    }
}

char *redis_scripts_body(const struct redis_script *script)
{
    /* A script is packed as what differs from those before it. */
    char *text = malloc(script->begin + script->size + 1);

    if (!text)
        return NULL;
    unpack(redis_scripts_packed, text, script->begin + script->size);
    memmove(text, text + script->begin, script->size);
    text[script->size] = '\0';
    return text;
}
