/* SPDX-License-Identifier: MIT
 * Golden pairs: for each NAME.conf in the folder GOLDEN, NAME.expected holds the problems that
 * loading it finds. */
#include "test_config_support.h"

#include "base/text.h"
#include "support/golden.h"
#include <glob.h>
#include <string.h>

static void check_pair(const struct place *p, const char *conf)
{
    char expected_path[PATH_SIZE];
    size_t size;
    char *text = golden_read(conf, &size), *found;
    struct config *c;

    place_write_bytes(p, "rotad.conf", text, size);
    c = place_load(p, "rotad.conf");
    found = place_problems(p, c);
    assert_true(text_format(expected_path, sizeof(expected_path), "%.*s.expected",
                            (int)(strlen(conf) - strlen(".conf")), conf));
    golden_check(expected_path, found);
    free(text);
    free(found);
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
