/* SPDX-License-Identifier: MIT
 * Conf files that somebody cut off or scrambled: whatever they hold, loading ends, and what cannot
 * be printed and read again has been called wrong. */
#include "test_config_support.h"

#include <string.h>

#define MUTATIONS 1200

static const char seed_text[] =
    "# a comment\n"
    "prefix = \"a:\"; device = \"gate-%b\"; max_running = 4; log_level = \"info\";\n"
    "plugin_dir = [ \"/nowhere\", \"/no/where\" ];\n"
    "redis = { address = [ \"127.0.0.1:6379\", \"[::1]:1\", \"unix:/r\" ]; database = 3; tls = "
    "false;\n"
    "  connect_timeout = \"1s\"; backoff_min = \"1s\"; backoff_max = \"1m30s\"; };\n"
    "/* another\n comment */\n"
    "jobs = {\n"
    "  a = { plugin = \"/bin/true\"; every = \"5m\"; offset = \"1m\"; worst_case = \"10s\"; "
    "attempts = 010;\n"
    "    params = { t = \"x\\n\\x41\\\\\" \"more\"; n = -1.5e3; i = 3000000000; b = true; l = [ "
    "\"a\", \"b\" ]; }; };\n"
    "  c = { plugin = \"/bin/true\"; cron = \"*/5 2-4 * jan-mar 1,7\"; timezone = "
    "\"Europe/Berlin\"; "
    "was = \"z\";\n"
    "    worst_case = \"10s\"; devices = [ \"gate-*\", \"?\" ]; enabled = false;\n"
    "    scope = \"device\"; concurrency = 2; stop_after_failures = 2; if_unreachable = \"run\"; "
    "};\n"
    "  d = { plugin = \"exec\"; every = \"1h\"; worst_case = \"10s\"; lock_key = \"{a}b\"; "
    "version = 2;\n"
    "    overrun = \"extend\"; max_runtime = \"1m\"; require_fence = true; };\n"
    "  e = { plugin = \"exec\"; every = \"1h\"; worst_case = \"10s\"; lock = \"none\"; };\n"
    "  b : { plugin = \"exec\", every = \"1h\"; worst_case = 10; first = \"now\"; lease = \"46s\" "
    "};\n"
    "}; // end\n";

/* Of which one excludes another. */
static const char sentinel_text[] =
    "prefix = \"a:\"; redis = { sentinels = [ \"127.0.0.1:26379\", \"s:1\" ]; master = \"m\";\n"
    "  sentinel_username = \"u\"; tls = true; tls_name = \"x\"; };\n";
static const char quorum_text[] =
    "prefix = \"a:\"; redis = { database = 2; command_timeout = \"1s\"; quorum = (\n"
    "  { address = \"127.0.0.1:1\"; }, { address = [ \"[::1]:2\" ]; database = 3; },\n"
    "  { address = \"unix:/r\"; tls = true; tls_name = \"y\"; } ); };\n"
    "jobs = { a = { plugin = \"/bin/true\"; every = \"5m\"; worst_case = \"10s\"; };\n"
    "  b = { plugin = \"/bin/true\"; every = \"5m\"; worst_case = \"10s\"; require_fence = false; "
    "}; };\n";

static const struct {
    const char *text;
    size_t size; /* with the end */
} seeds[] = { { seed_text, sizeof(seed_text) },
              { sentinel_text, sizeof(sentinel_text) },
              { quorum_text, sizeof(quorum_text) } };

/* Bytes that mean something to a conf file. */
static const char telling[] = "\"\\/*#@{}[]();:=,.-+0123456789eExXL \n\t\0\xff"
                              "aZ%_";

static void expect_sound(const struct place *p, const void *data, size_t size)
{
    char *text = NULL;
    size_t printed = 0;
    struct config *c, *again;
    FILE *out;

    place_write_bytes(p, "rotad.conf", data, size);
    c = place_load(p, "rotad.conf");
    assert_true(c->problems.errors > 0 || !c->fatal);
    out = open_memstream(&text, &printed);
    assert_non_null(out);
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    if (!c->fatal) {
        place_write_bytes(p, "again.conf", text, printed);
        again = place_load(p, "again.conf");
        assert_false(again->fatal && again->job_count > 0 && c->redis.configured);
        assert_null(config_fixed_change(c, again));
        config_free(again);
    }
    free(text);
    config_free(c);
}

static void test_truncated(void **state)
{
    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        for (size_t size = 0; size < seeds[i].size; size++)
            expect_sound(*state, seeds[i].text, size);
}

static void mutate(struct unit_random *random, char *text, size_t *size)
{
    size_t at = (size_t)unit_random_in(random, 0, (int64_t)*size - 1);
    char byte = telling[unit_random_in(random, 0, (int64_t)sizeof(telling) - 2)];

    switch (unit_random_in(random, 0, 2)) {
    case 0:
        text[at] = byte;
        break;
    case 1:
        memmove(text + at, text + at + 1, *size - at - 1);
        --*size;
        break;
    default:
        memmove(text + at + 1, text + at, *size - at);
        text[at] = byte;
        ++*size;
    }
}

static void test_mutated(void **state)
{
    struct unit_random random = unit_random_begin();

    for (size_t i = 0; i < MUTATIONS; i++) {
        char text[sizeof(seed_text) + 16];
        size_t size = seeds[i % COUNT_OF(seeds)].size - 1;

        memcpy(text, seeds[i % COUNT_OF(seeds)].text, size);
        for (int64_t n = unit_random_in(&random, 1, 8); n > 0; n--)
            mutate(&random, text, &size);
        expect_sound(*state, text, size);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_truncated),
        TEST(test_mutated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
