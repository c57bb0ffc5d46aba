/* SPDX-License-Identifier: MIT
 * pack_scripts TEXT OUTPUT: packs a text as redis/scripts.h says, and writes it as numbers for a C
 * file to include. Runs while rota is built; not installed. */
#include "redis/scripts.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 65536
#define NOWHERE SIZE_MAX
#define STARTS 65536

/* What is best from a place on, to the text's end. */
struct step {
    size_t cost;   /* bytes of packed text */
    size_t length; /* 1: the byte itself; else a copy */
    size_t back;
};

static unsigned char text[TEXT_MAX];
static struct step steps[TEXT_MAX + 1];
/* The newest place before one that begins with the same two bytes. */
static size_t before[TEXT_MAX];

static size_t read_text(const char *path)
{
    FILE *in = fopen(path, "rbe");
    size_t size;

    if (!in) {
        perror(path);
        exit(1);
    }
    size = fread(text, 1, sizeof text, in);
    if (ferror(in) || size == sizeof text) {
        fprintf(stderr, "%s cannot be read, or has %d bytes or more\n", path, TEXT_MAX);
        exit(1);
    }
    fclose(in);
    for (size_t i = 0; i < size; i++)
        if (text[i] >= 128) {
            fprintf(stderr, "%s: byte %zu is not ASCII\n", path, i);
            exit(1);
        }
    return size;
}

static void link_places(size_t size)
{
    static size_t newest[STARTS];

    for (size_t i = 0; i < STARTS; i++)
        newest[i] = NOWHERE;
    for (size_t i = 0; i + 1 < size; i++) {
        size_t start = (size_t)text[i] << 8 | text[i + 1];

        before[i] = newest[start];
        newest[start] = i;
    }
}

/* How many bytes of 7 bits follow a copy's first byte, which has 3 bits. */
static unsigned more_bytes(size_t back)
{
    return back < 1 << 10 ? 1 : 2;
}

_Static_assert(TEXT_MAX <= 1 << 17, "two bytes are enough");

static bool is_long(size_t length)
{
    return length >= REDIS_SCRIPTS_COPY_MIN + REDIS_SCRIPTS_COPY_LONG;
}

static size_t same_bytes(size_t at, size_t from, size_t most)
{
    size_t n = 0;

    while (n < most && text[at + n] == text[from + n])
        n++;
    return n;
}

/* All lengths from all places, since a shorter copy may leave a better rest. */
static void choose(size_t at, size_t size)
{
    size_t most = size - at < REDIS_SCRIPTS_COPY_MAX ? size - at : REDIS_SCRIPTS_COPY_MAX;
    struct step best = { steps[at + 1].cost + 1, 1, 0 };
    size_t tried = REDIS_SCRIPTS_COPY_MIN - 1;

    for (size_t from = at + 1 < size ? before[at] : NOWHERE; from != NOWHERE; from = before[from]) {
        size_t same = same_bytes(at, from, most);

        /* What a nearer place has too costs no more there. */
        for (; tried < same; tried++) {
            size_t cost =
                1 + more_bytes(at - from) + is_long(tried + 1) + steps[at + tried + 1].cost;

            if (cost < best.cost)
                best = (struct step){ cost, tried + 1, at - from };
        }
    }
    steps[at] = best;
}

static void put(unsigned byte, FILE *out)
{
    fprintf(out, "%u,\n", byte);
}

static void put_copy(size_t length, size_t back, FILE *out)
{
    unsigned n = more_bytes(back), beyond = (unsigned)length - REDIS_SCRIPTS_COPY_MIN;
    unsigned first = is_long(length) ? REDIS_SCRIPTS_COPY_LONG : beyond;

    put(128 + 8 * first + (unsigned)(back >> 7 * n), out);
    while (n-- > 0)
        put((unsigned)(back >> 7 * n & 127) | (n > 0 ? 128U : 0), out);
    if (is_long(length))
        put(beyond - REDIS_SCRIPTS_COPY_LONG, out);
}

static void put_step(size_t at, FILE *out)
{
    if (steps[at].length == 1)
        put(text[at], out);
    else
        put_copy(steps[at].length, steps[at].back, out);
}

int main(int argc, char **argv)
{
    size_t size;
    FILE *out;

    if (argc != 3) {
        fputs("pack_scripts needs the text and the file to write\n", stderr);
        return 64;
    }
    size = read_text(argv[1]);
    link_places(size);
    for (size_t at = size; at-- > 0;)
        choose(at, size);
    out = fopen(argv[2], "we");
    if (!out) {
        perror(argv[2]);
        return 1;
    }
    for (size_t at = 0; at < size; at += steps[at].length)
        put_step(at, out);
    if (ferror(out) || fclose(out) != 0) {
        fprintf(stderr, "%s cannot be written\n", argv[2]);
        return 1;
    }
    return 0;
}
