/* SPDX-License-Identifier: MIT
 * fuzz_place.h: a folder of this process under TMPDIR, for what reads files. tests/fuzz/run removes
 * it with all in it. */
#ifndef ROTA_TESTS_FUZZ_PLACE_H
#define ROTA_TESTS_FUZZ_PLACE_H
#include "fuzz.h"
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define PLACE_PATH_SIZE 512

/* The path of `name` in it. Valid until the fourth call after it. */
static inline const char *place_path(const char *name)
{
    static char folder[PLACE_PATH_SIZE / 2], paths[4][PLACE_PATH_SIZE];
    static unsigned next;
    char *path = paths[next++ % 4];

    if (folder[0] == '\0') {
        const char *parent = getenv("TMPDIR");

        umask(022);
        snprintf(folder, sizeof(folder), "%s/rota-fuzz-XXXXXX", parent ? parent : "/tmp");
        assert(mkdtemp(folder));
    }
    snprintf(path, PLACE_PATH_SIZE, "%s/%s", folder, name);
    return path;
}

static inline void place_write(const char *name, const void *bytes, size_t size)
{
    FILE *out = fopen(place_path(name), "we");

    assert(out);
    assert(fwrite(bytes, 1, size, out) == size);
    assert(fclose(out) == 0);
}

/* Whoever has read a secret cannot be traced any more, which the leak checker has to do. */
static inline void place_forget_secret(void)
{
    assert(prctl(PR_SET_DUMPABLE, 1) == 0);
}
#endif
