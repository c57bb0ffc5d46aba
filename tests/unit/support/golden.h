/* SPDX-License-Identifier: MIT
 * support/golden.h: files that hold what is expected, word for word. With ROTA_GOLDEN_WRITE in the
 * environment they are written instead. */
#ifndef ROTA_TESTS_UNIT_GOLDEN_H
#define ROTA_TESTS_UNIT_GOLDEN_H
#include "unit.h"

#include <string.h>

#define GOLDEN_MAX (512 * 1024)

/* Free it. A NUL follows the last byte. */
static inline char *golden_read(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "re");
    char *text = malloc(GOLDEN_MAX);

    if (!f)
        fail_msg("%s is not there", path);
    assert_non_null(text);
    *ret_size = fread(text, 1, GOLDEN_MAX - 1, f);
    text[*ret_size] = '\0';
    fclose(f);
    return text;
}

static inline void golden_check(const char *path, const char *made)
{
    size_t size;
    char *expected;

    if (getenv("ROTA_GOLDEN_WRITE")) {
        FILE *out = fopen(path, "we");

        assert_non_null(out);
        fputs(made, out);
        assert_int_equal(fclose(out), 0);
    }
    expected = golden_read(path, &size);
    if (strcmp(made, expected) != 0)
        print_error("%s\n", path);
    assert_string_equal(made, expected);
    free(expected);
}
#endif
