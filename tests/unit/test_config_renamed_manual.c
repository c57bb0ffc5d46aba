/* SPDX-License-Identifier: MIT
 * rotad.conf(5) of a rota in which keys had another name before. */
#define RENAMED_KEYS                                                                               \
    { SCHEMA_JOB, "longest", "worst_case", 0, 7 }, { SCHEMA_LIMITS, "ram", "memory", 1, 2 },
#include "config/config_write_manual.c"

#include "unit.h"
#include <stdlib.h>

static const char *times(const char *text, const char *part, int *ret_count)
{
    const char *first = strstr(text, part);

    *ret_count = 0;
    for (const char *at = first; at; at = strstr(at + 1, part))
        ++*ret_count;
    return first;
}

static void test_the_page_tells_the_old_name(void **state)
{
    const char *at;
    char *text = NULL;
    size_t size = 0;
    int count;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    assert_int_equal(config_write_manual(out), 0);
    assert_int_equal(fclose(out), 0);
    at = times(text,
               "; required)++\nBefore rota 0.7 this was called longest, which works up to rota "
               "0.8.\n\n*stop_grace*\n",
               &count);
    assert_int_equal(count, 1);
    assert_true(at > strstr(text, "\n*worst_case*\n"));
    times(text, "++\nBefore rota 1.2 this was called ram, which works up to rota 1.3.\n", &count);
    assert_int_equal(count, 1);
    times(text, "this was called", &count);
    assert_int_equal(count, 2);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_tells_the_old_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
