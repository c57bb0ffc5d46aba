/* SPDX-License-Identifier: MIT
 * Scope, lock, versions and overrun: what they come to, and what the fleet is told of them. The
 * messages are in config/sharing*.conf. */
#include "config/fleet_summary.h"
#include "config/schema.h"
#include "core/store.h"
#include "test_config_support.h"

#include "base/units.h"
#include <string.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\"; "
#define HOURLY "plugin = \"exec\"; every = \"1h\"; worst_case = \"1m\"; "

static struct config *load_job(const struct place *p, const char *top, const char *keys)
{
    char text[1024];
    struct config *c;

    snprintf(text, sizeof(text), "%s jobs = { a = { %s }; };", top, keys);
    c = place_load_text(p, text);
    assert_int_equal(c->job_count, 1);
    return c;
}

static void test_defaults(void **state)
{
    struct config *c = load_job(*state, SERVER, JOB);
    const struct job_spec *spec = &c->jobs[0].spec;

    place_expect(*state, c, "");
    assert_int_equal(c->fleet.checkin_ms, 0);
    assert_false(c->fleet.turns_all);
    assert_int_equal(c->redis.idle_timeout_ms, 15 * MINUTE_MS);
    assert_int_equal(spec->scope, SCOPE_FLEET);
    assert_int_equal(spec->concurrency, 1);
    assert_int_equal(spec->stop_after_failures, 0);
    assert_int_equal(spec->version, 0);
    assert_int_equal(spec->lock, LOCK_STORE);
    assert_null(spec->lock_key);
    assert_int_equal(spec->timing.max_runtime_ms, 0);
    assert_false(spec->run_unreachable);
    assert_false(spec->require_fence);
    config_free(c);
}

static void test_values(void **state)
{
    struct config *c =
        load_job(*state,
                 "prefix = \"a:\"; checkin = \"1d\"; turns = \"all\";\n"
                 "redis = { address = \"127.0.0.1:6379\"; idle_timeout = \"0s\"; };",
                 JOB "scope = \"device\"; concurrency = 100000; stop_after_failures = 0;\n"
                     "version = 2147483647; if_unreachable = \"run\"; splay = \"2s\";");
    const struct job_spec *spec = &c->jobs[0].spec;

    place_expect(*state, c, "");
    assert_int_equal(c->fleet.checkin_ms, DAY_MS);
    assert_true(c->fleet.turns_all);
    assert_int_equal(c->redis.idle_timeout_ms, 0);
    assert_int_equal(spec->scope, SCOPE_DEVICE);
    assert_int_equal(spec->concurrency, 100000);
    assert_int_equal(spec->stop_after_failures, 0);
    assert_int_equal(spec->version, 2147483647);
    assert_true(spec->run_unreachable);
    assert_int_equal(spec->splay_ms, 2 * SECOND_MS);
    config_free(c);
}

static void test_defaults_of_device_scope(void **state)
{
    struct config *c = load_job(*state, SERVER, JOB "scope = \"device\";");
    const struct job_spec *spec = &c->jobs[0].spec;

    place_expect(*state, c, "");
    assert_int_equal(spec->concurrency, 1);
    assert_int_equal(spec->stop_after_failures, 3);
    assert_int_equal(spec->splay_ms, MINUTE_MS);
    config_free(c);
    c = load_job(*state, SERVER,
                 "plugin = \"exec\"; every = \"2m\"; worst_case = \"1m\"; scope = \"device\";");
    assert_int_equal(c->jobs[0].spec.splay_ms, 30 * SECOND_MS);
    config_free(c);
}

static void test_max_runtime(void **state)
{
    static const struct {
        const char *keys;
        int64_t max_runtime_ms, budget_ms, lease_ms;
    } cases[] = {
        { JOB "overrun = \"stop\";", 0, 69600, 60000 },
        { JOB "overrun = \"extend\";", 240000, 249600, 60000 },
        { JOB "overrun = \"extend\"; max_runtime = \"1m\";", 60000, 69600, 60000 },
        { "plugin = \"exec\"; every = \"5m\"; worst_case = \"1s\"; overrun = \"extend\";", 4000,
          13250, 13250 },
        { "plugin = \"exec\"; every = \"366d\"; worst_case = \"31d\"; overrun = \"extend\";",
          31 * DAY_MS, 31 * DAY_MS + 9600, 60000 },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config *c = load_job(*state, SERVER, cases[i].keys);
        const struct timing *t = &c->jobs[0].spec.timing;

        place_expect(*state, c, "");
        assert_int_equal(t->max_runtime_ms, cases[i].max_runtime_ms);
        assert_int_equal(t->budget_ms, cases[i].budget_ms);
        assert_int_equal(t->lease_ms, cases[i].lease_ms);
        config_free(c);
    }
}

/* Nothing is renewed, and no lease is too short; the key keeps its value. */
static void test_no_lock(void **state)
{
    struct config *c = load_job(*state, SERVER, JOB "lock = \"none\"; stop_grace = \"1m\";");
    const struct job_spec *spec = &c->jobs[0].spec;

    place_expect(*state, c, "");
    assert_int_equal(spec->lock, LOCK_NONE);
    assert_int_equal(spec->timing.renew_ms, 0);
    assert_int_equal(spec->timing.lease_ms, spec->timing.budget_ms);
    assert_int_equal(spec->timing.lease_cap_ms, MINUTE_MS);
    config_free(c);
}

/* With nobody to share with, what is written out as the default is no mistake. */
static void test_sharing_out_of_one_device(void **state)
{
    struct config *c =
        load_job(*state, "store = \"local\"; checkin = \"auto\"; turns = \"auto\";", JOB);

    place_expect(*state, c, "");
    config_free(c);
    c = load_job(*state, "store = \"local\"; checkin = \"1d\";\nturns = \"all\";\n", JOB);
    place_expect(*state, c,
                 "warning /rotad.conf:1: checkin has no meaning with store = \"local\"; leave it "
                 "out\n"
                 "warning /rotad.conf:2: turns has no meaning with store = \"local\"; leave it "
                 "out\n");
    config_free(c);
}

/* One device is the whole fleet: what goes with a fleet is taken back, so that the job means the
 * same when it is printed and read again. */
static void test_device_scope_of_one_device(void **state)
{
    struct config *c = load_job(*state, "store = \"local\"; ",
                                JOB "scope = \"device\"; concurrency = 2; if_unreachable = "
                                    "\"run\";");
    const struct job_spec *spec = &c->jobs[0].spec;

    assert_int_equal(c->problems.errors, 0);
    assert_int_equal(spec->scope, SCOPE_FLEET);
    assert_int_equal(spec->concurrency, 1);
    assert_int_equal(spec->stop_after_failures, 0);
    assert_false(spec->run_unreachable);
    assert_int_equal(spec->splay_ms, SECOND_MS);
    config_free(c);
}

/* Who shares a lock may not rely on fences, however many share it; who has no such wish may. */
static void test_fences_of_a_shared_lock(void **state)
{
    struct config *c =
        place_load_text(*state, SERVER "jobs = {\n"
                                       "a = { " JOB "lock_key = \"x\"; require_fence = true; };\n"
                                       "b = { " JOB "lock_key = \"x\"; };\n"
                                       "c = { " JOB "lock_key = \"x\"; require_fence = true; };\n"
                                       "d = { " JOB "lock_key = \"y\"; require_fence = true; };\n"
                                       "e = { " JOB "require_fence = true; }; };");

    assert_int_equal(c->problems.errors, 2);
    assert_true(config_find_job(c, "a")->invalid);
    assert_false(config_find_job(c, "b")->invalid);
    assert_true(config_find_job(c, "c")->invalid);
    assert_false(config_find_job(c, "d")->invalid);
    assert_string_equal(config_find_job(c, "d")->spec.lock_key, "y");
    assert_true(config_find_job(c, "e")->spec.require_fence);
    config_free(c);
}

/* A key may be as long as is allowed, and hold anything between the braces. */
static void test_lock_keys(void **state)
{
    static const char *const keys[] = { "orders", "{orders}:lock", "a}{b}", "{a{b}", "x:{ }" };
    char text[256];

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct config *c;

        snprintf(text, sizeof(text), JOB "lock_key = \"%s\";", keys[i]);
        c = load_job(*state, SERVER, text);
        place_expect(*state, c, "");
        assert_string_equal(c->jobs[0].spec.lock_key, keys[i]);
        config_free(c);
    }
}

/* But those that need a file, a user or TLS, or are only read; and those of which one excludes
 * another (test_config_topology.c). */
static void assert_every_key(const char *printed)
{
    static const char *const absent[] = {
        "device_file", "password_file", "username", "requires",          "job_user",
        "tls_ca",      "tls_cert",      "tls_key",  "tls_name",          "user",
        "group",       "sentinels",     "master",   "sentinel_username", "sentinel_password_file",
        "quorum"
    };

    for (int id = 0; id < SCHEMA_GROUP_COUNT; id++) {
        const struct schema_group *g = schema_group((enum schema_group_id)id);

        for (size_t i = 0; i < g->count; i++) {
            char key[64];
            bool wanted = true;

            for (size_t a = 0; a < COUNT_OF(absent); a++)
                wanted = wanted && strcmp(schema_name(&g->keys[i]), absent[a]) != 0;
            snprintf(key, sizeof(key), "%s = ", schema_name(&g->keys[i]));
            if (wanted && !strstr(printed, key))
                fail_msg("%s is not printed", g->keys[i].path);
        }
    }
}

static void test_print_parses_again(void **state)
{
    static const char text[] =
        "prefix = \"a:\"; checkin = \"6h\"; turns = \"all\"; metrics_file = \"/m/a\";\n"
        "redis = { address = \"127.0.0.1:6379\"; idle_timeout = \"7d\"; };\n"
        "jobs = {\n"
        "a = { " HOURLY "description = \"Says \\\"a\\\".\"; scope = \"device\"; concurrency = 20; "
        "stop_after_failures = 0;\n"
        "      if_unreachable = \"run\"; };\n"
        "b = { " HOURLY "lock = \"none\"; offset = \"7m\"; };\n"
        "c = { " HOURLY "lock_key = \"{a\\\"b}\"; version = 3; };\n"
        "d = { " HOURLY "overrun = \"extend\"; max_runtime = \"2m\"; require_fence = true; };\n"
        "e = { " HOURLY "overrun = \"extend\"; };\n"
        "f = { " HOURLY "scope = \"device\"; };\n"
        "g = { plugin = \"exec\"; worst_case = \"1m\"; cron = \"0 * * * *\"; timezone = \"UTC\";\n"
        "      was = \"old\"; history = 0; retention = \"400d\"; retry_delay = \"0s\"; attempts = "
        "1;\n"
        "      catch_up = \"1m\"; first = \"now\"; params = { x = [ \"1\", \"2\" ]; }; };\n"
        "h = { " HOURLY "working_dir = \"/x \\\"\";\n"
        "      environment = [ \"A= \\\"\\n\", \"B=\" ]; network = false;\n"
        "      limits = { memory = \"1.5GiB\"; cpu_time = \"1h\"; open_files = 8; processes = 9;\n"
        "                 file_size = \"0B\"; core = \"1B\"; }; };\n"
        "};\n";
    struct config *c, *again;
    char *printed = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&printed, &size);

    c = place_load_text(*state, text);
    place_expect(*state, c, "");
    assert_non_null(out);
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_every_key(printed);
    place_write_bytes(*state, "again.conf", printed, size);
    again = place_load(*state, "again.conf");
    place_expect(*state, again, "");
    assert_null(config_fixed_change(c, again));
    assert_int_equal(again->job_count, c->job_count);
    for (size_t i = 0; i < c->job_count; i++)
        assert_true(config_job_equal(&c->jobs[i], &again->jobs[i]));
    assert_int_equal(again->fleet.checkin_ms, 6 * HOUR_MS);
    assert_int_equal(again->jobs[4].spec.timing.max_runtime_ms, 4 * MINUTE_MS);
    assert_int_equal(again->jobs[5].spec.stop_after_failures, 3);
    config_free(c);
    config_free(again);
    free(printed);
}

/* What a reload would have to bring about, and what it cannot. */
static void test_changes(void **state)
{
    static const char *const jobs[] = {
        "scope = \"device\";",
        "lock = \"none\";",
        "lock_key = \"x\";",
        "version = 1;",
        "overrun = \"extend\";",
        "require_fence = true;",
        "scope = \"device\"; concurrency = 2;",
    };
    struct config *c = load_job(*state, SERVER, JOB), *other;

    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        char keys[256];

        snprintf(keys, sizeof(keys), JOB "%s", jobs[i]);
        other = load_job(*state, SERVER, keys);
        place_expect(*state, other, "");
        assert_false(config_job_equal(&c->jobs[0], &other->jobs[0]));
        config_free(other);
    }
    other = load_job(*state, SERVER, JOB "description = \"x\";");
    assert_true(config_job_equal(&c->jobs[0], &other->jobs[0])); /* it goes on as it is */
    config_free(other);
    other = load_job(*state, SERVER "checkin = \"1h\";", JOB);
    assert_string_equal(config_fixed_change(c, other), "checkin");
    config_free(other);
    other = load_job(*state, SERVER "turns = \"all\";", JOB);
    assert_string_equal(config_fixed_change(c, other), "turns");
    config_free(other);
    config_free(c);
}

/* Final, and computed apart from this code. */
static void test_prints_are_final(void **state)
{
    static const struct {
        const char *keys, *print;
    } cases[] = {
        { JOB, "1bd183dd" },
        { JOB "scope = \"device\";", "0a64e842" },
        { JOB "scope = \"device\"; concurrency = 20;", "a246a41d" },
        { JOB "lock = \"none\";", "5e7dbab5" },
        { JOB "lock_key = \"{orders}:lock\";", "51fe5160" },
        /* what two devices may have differently without harm */
        { JOB "version = 3; overrun = \"extend\"; require_fence = true;", "1bd183dd" },
        { JOB "scope = \"device\"; stop_after_failures = 9; if_unreachable = \"run\";",
          "0a64e842" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config *c = load_job(*state, SERVER, cases[i].keys);

        place_expect(*state, c, "");
        assert_string_equal(c->jobs[0].spec.fingerprint, cases[i].print);
        config_free(c);
    }
}

static void expect_summary(struct config *c, const char *text, const char *digest)
{
    char found[FINGERPRINT_SIZE], *lines = NULL;

    assert_int_equal(fleet_summary_text(c, &lines), 0);
    assert_string_equal(lines, text);
    free(lines);
    fleet_summary_digest(c, found);
    assert_string_equal(found, digest);
    config_free(c);
}

/* The lines and their digest are final too; when jobs are due is told behind them, and is no part
 * of the digest, for the fingerprints say it. */
static void test_summary(void **state)
{
    static const char jobs[] =
        SERVER "jobs = {\n"
               "a = { " JOB "scope = \"device\"; concurrency = 20; };\n"
               "b = { " JOB "enabled = false; };\n"
               "c = { " JOB "lock_key = \"{orders}:lock\"; devices = \"nobody\"; };\n"
               "d = { " JOB "lock = \"none\"; };\n"
               "e = { " JOB "nonsense = 1; };\n"
               "f = { " JOB "was = \"z\"; };\n"
               "};";

    expect_summary(
        place_load_text(*state, jobs),
        "a a246a41d device own\nc 51fe5160 fleet key {orders}:lock\nd 5e7dbab5 fleet none\n"
        "z 1bd183dd fleet own\n"
        "@a every 5m\n@c every 5m\n@d every 5m\n@z every 5m\n",
        "e0a4a858");
    expect_summary(place_load_text(*state, SERVER), "", "");
}

static struct config *load_many(const struct place *p, int count, const char *last)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *c;

    assert_non_null(out);
    fputs(SERVER "jobs = {\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "job_%050d = { " JOB " };\n", i);
    fprintf(out, "last = { " JOB "%s };\n};\n", last);
    assert_int_equal(fclose(out), 0);
    c = place_load_text(p, text);
    free(text);
    return c;
}

/* What the text has no room for is in the digest all the same. */
static void test_summary_is_bounded(void **state)
{
    struct config *c = load_many(*state, 500, ""), *other = load_many(*state, 500, "version = 1;");
    char digest[FINGERPRINT_SIZE], others[FINGERPRINT_SIZE], *text = NULL;
    const size_t line = strlen("job_ 1bd183dd fleet own\n") + 50;

    assert_int_equal(fleet_summary_text(c, &text), 0);
    assert_int_equal(strlen(text), STORE_CONFIG_TEXT_MAX / line * line);
    assert_null(strstr(text, "last"));
    fleet_summary_digest(c, digest);
    fleet_summary_digest(other, others);
    assert_string_equal(digest, others);
    config_free(other);
    other = load_many(*state, 500, "attempts = 2;");
    fleet_summary_digest(other, others);
    assert_string_not_equal(digest, others);
    free(text);
    config_free(c);
    config_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
        TEST(test_defaults),
        TEST(test_values),
        TEST(test_defaults_of_device_scope),
        TEST(test_max_runtime),
        TEST(test_no_lock),
        TEST(test_sharing_out_of_one_device),
        TEST(test_device_scope_of_one_device),
        TEST(test_fences_of_a_shared_lock),
        TEST(test_lock_keys),
        TEST(test_print_parses_again),
        TEST(test_changes),
        TEST(test_prints_are_final),
        TEST(test_summary),
        TEST(test_summary_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
