/* SPDX-License-Identifier: MIT
 * fuzz.h: what every fuzz target includes. A target is one file: libFuzzer calls its only function
 * with bytes that it makes up, and whatever fails an assert(), or a sanitizer, is a find. */
#ifndef ROTA_TESTS_FUZZ_H
#define ROTA_TESTS_FUZZ_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes as a text, in memory of just that size; free() it. It may end before, at a NUL. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    assert(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* A number that depends on all bytes, for what an input says nothing about; below `end`. FNV-1a. */
static inline int64_t fuzz_number(const uint8_t *data, size_t size, int64_t end)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    return (int64_t)((hash ^ hash >> 32) % (uint64_t)end);
}
#endif
