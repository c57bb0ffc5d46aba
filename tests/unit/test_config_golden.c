/* SPDX-License-Identifier: MIT
 * Golden pairs: for each NAME.conf in the folder GOLDEN, NAME.expected holds the problems that
 * loading it finds, word for word. With ROTA_GOLDEN_WRITE in the environment the .expected files
 * are written instead. */
#include "test_config_support.h"

#include "base/text.h"
#include <glob.h>
#include <string.h>

static char *read_file(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "re");
    char *text = malloc(512 * 1024);

    assert_non_null(f);
    assert_non_null(text);
    *ret_size = fread(text, 1, 512 * 1024 - 1, f);
    text[*ret_size] = '\0';
    fclose(f);
    return text;
}

static void check_pair(const struct place *p, const char *conf)
{
    char expected_path[PATH_SIZE];
    size_t size, expected_size;
    char *text = read_file(conf, &size), *found, *expected;
    struct config *c;

    place_write_bytes(p, "rotad.conf", text, size);
    c = place_load(p, "rotad.conf");
    found = place_problems(p, c);
    assert_true(text_format(expected_path, sizeof(expected_path), "%.*s.expected",
                            (int)(strlen(conf) - strlen(".conf")), conf));
    if (getenv("ROTA_GOLDEN_WRITE")) {
        FILE *out = fopen(expected_path, "we");

        assert_non_null(out);
        fputs(found, out);
        fclose(out);
    }
    expected = read_file(expected_path, &expected_size);
    if (strcmp(found, expected) != 0)
        print_error("%s\n", conf);
    assert_string_equal(found, expected);
    free(text);
    free(found);
    free(expected);
    config_free(c);
}

static void test_golden_pairs(void **state)
{
    glob_t confs;

    assert_int_equal(glob(GOLDEN "/*.conf", 0, NULL, &confs), 0);
    assert_true(confs.gl_pathc >= 12);
    for (size_t i = 0; i < confs.gl_pathc; i++)
        check_pair(*state, confs.gl_pathv[i]);
    globfree(&confs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden_pairs, place_setup, place_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
