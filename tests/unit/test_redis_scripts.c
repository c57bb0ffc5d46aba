/* SPDX-License-Identifier: MIT
 * Each script is unpacked as it was packed, byte by byte: its SHA-1 names just these. */
#include "redis/scripts.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const struct redis_script *script;
} rows[] = {
    { "acquire", &redis_script_acquire },       { "renew", &redis_script_renew },
    { "finish", &redis_script_finish },         { "seat_acquire", &redis_script_seat_acquire },
    { "seat_renew", &redis_script_seat_renew }, { "seat_finish", &redis_script_seat_finish },
    { "hello", &redis_script_hello },           { "index", &redis_script_index },
    { "config_get", &redis_script_config_get }, { "config_put", &redis_script_config_put },
    { "pause", &redis_script_pause },           { "resume", &redis_script_resume },
};

/* What was embedded, as the build leaves it for tests. */
static char *embedded_text(const char *name, size_t *ret_size)
{
    static char text[65536];
    char path[4096];
    FILE *in;

    snprintf(path, sizeof path, "%s/%s.lua", SCRIPTS, name);
    in = fopen(path, "re");
    assert_non_null(in);
    *ret_size = fread(text, 1, sizeof text, in);
    assert_true(*ret_size > 0 && *ret_size < sizeof text);
    fclose(in);
    return text;
}

static void test_bodies_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t size;
        const char *text = embedded_text(rows[i].name, &size);
        char *body = redis_scripts_body(rows[i].script);

        assert_non_null(body);
        assert_int_equal(rows[i].script->size, size);
        assert_int_equal(strlen(body), size);
        assert_memory_equal(body, text, size);
        free(body);
    }
}

static void test_names_are_hashes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *sha1 = rows[i].script->sha1;

        assert_int_equal(strlen(sha1), 40);
        assert_int_equal(strspn(sha1, "0123456789abcdef"), 40);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_are_whole),
        cmocka_unit_test(test_names_are_hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
