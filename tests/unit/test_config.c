/* SPDX-License-Identifier: MIT */
#include "test_config_support.h"

#include "base/units.h"
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <syslog.h>
#include <unistd.h>

#define SERVER "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "plugin = \"exec\"; every = \"5m\"; worst_case = \"1m\";"

static void test_defaults(void **state)
{
    struct config *c = place_load_text(*state, SERVER "jobs = { a = { " JOB " }; };");
    const struct job_config *job = config_find_job(c, "a");

    place_expect(*state, c, "");
    assert_false(c->fatal);
    assert_int_equal(c->max_running, 4);
    assert_int_equal(c->log_level, LOG_INFO);
    assert_int_equal(c->stop_timeout_ms, 45 * SECOND_MS);
    assert_null(c->job_user);
    assert_false(c->job_user_written);
    assert_string_equal(c->plugin_dirs[0], place_path(*state, "plugins"));
    assert_null(c->plugin_dirs[1]);
    assert_true(c->redis.configured);
    assert_int_equal(c->redis.database, 0);
    assert_int_equal(c->redis.connect_timeout_ms, 10 * SECOND_MS);
    assert_int_equal(c->redis.command_timeout_ms, 3 * SECOND_MS);
    assert_int_equal(c->redis.backoff_min_ms, 500);
    assert_int_equal(c->redis.backoff_max_ms, MINUTE_MS);
    assert_non_null(job);
    assert_string_equal(job->plugin_path, place_path(*state, "plugins/exec.so"));
    assert_int_equal(job->spec.schedule.every_ms, 5 * MINUTE_MS);
    assert_int_equal(job->spec.schedule.offset_ms, 0);
    assert_int_equal(job->spec.catch_up_ms, 5 * MINUTE_MS);
    assert_false(job->spec.first_now);
    assert_int_equal(job->spec.splay_ms, SECOND_MS);
    assert_int_equal(job->spec.timing.stop_grace_ms, 5 * SECOND_MS);
    assert_int_equal(job->spec.timing.lease_cap_ms, MINUTE_MS);
    assert_int_equal(job->spec.timing.lease_ms, MINUTE_MS);
    assert_int_equal(job->spec.attempts, 3);
    assert_int_equal(job->spec.retry_delay_ms, MINUTE_MS);
    assert_int_equal(job->spec.history, 100);
    assert_int_equal(job->spec.retention_ms, 30 * DAY_MS);
    assert_int_equal(job->output_lines, 20);
    config_free(c);
}

static void test_defaults_that_follow_the_period(void **state)
{
    struct config *c = place_load_text(
        *state, SERVER "jobs = {"
                       " fast = { plugin = \"exec\"; every = \"2s\"; worst_case = \"1s\"; };"
                       " slow = { plugin = \"exec\"; every = \"60d\"; worst_case = \"1s\"; offset "
                       "= \"60d\"; }; };");
    const struct job_spec *fast = &config_find_job(c, "fast")->spec;
    const struct job_spec *slow = &config_find_job(c, "slow")->spec;

    place_expect(*state, c, "");
    assert_int_equal(fast->splay_ms, 500);
    assert_int_equal(fast->catch_up_ms, 2 * SECOND_MS);
    assert_int_equal(slow->splay_ms, SECOND_MS);
    assert_int_equal(slow->catch_up_ms, DAY_MS);
    assert_int_equal(slow->retention_ms, 120 * DAY_MS);
    assert_int_equal(slow->schedule.offset_ms, 0);
    config_free(c);
}

static void test_addresses(void **state)
{
    struct config *c = place_load_text(
        *state,
        "redis = { address = [ \"unix:/run/r.sock\", \"127.0.0.1:1\", \"[::1]:65535\" ]; };");
    const struct redis_address *a = c->redis.addresses.items;

    place_expect(*state, c, "");
    assert_int_equal(c->redis.addresses.count, 3);
    assert_int_equal(a[0].kind, ADDRESS_UNIX);
    assert_string_equal(a[0].host, "/run/r.sock");
    assert_string_equal(a[0].text, "unix:/run/r.sock");
    assert_int_equal(a[1].kind, ADDRESS_TCP);
    assert_string_equal(a[1].host, "127.0.0.1");
    assert_int_equal(a[1].port, 1);
    assert_string_equal(a[2].host, "::1");
    assert_int_equal(a[2].port, 65535);
    config_free(c);
}

static void test_params(void **state)
{
    struct config *c =
        place_load_text(*state, SERVER "jobs = { a = { " JOB " params = {\n"
                                       "z = \"last\";\nlist = [ \"x\", \"\" ];\nnumber = "
                                       "-1.50;\nwhole = 3000000000;\nyes = FALSE;\n"
                                       "}; }; };");
    const struct job_config *job = config_find_job(c, "a");
    const struct param_value *p = job->params;

    place_expect(*state, c, "");
    assert_int_equal(job->param_count, 5);
    assert_string_equal(p[0].name, "list");
    assert_int_equal(p[0].kind, PARAM_LIST);
    assert_int_equal(p[0].count, 2);
    assert_string_equal(p[0].items[0], "x");
    assert_string_equal(p[0].items[1], "");
    assert_int_equal(p[1].kind, PARAM_NUMBER);
    assert_string_equal(p[1].text, "-1.50");
    assert_int_equal(p[2].kind, PARAM_INTEGER);
    assert_string_equal(p[2].text, "3000000000");
    assert_int_equal(p[3].kind, PARAM_BOOLEAN);
    assert_string_equal(p[3].text, "false");
    assert_int_equal(p[4].kind, PARAM_TEXT);
    assert_string_equal(p[4].text, "last");
    assert_int_equal(job->param_lines[0], 4);
    assert_int_equal(job->param_lines[4], 3);
    config_free(c);
}

static void test_too_large_params(void **state)
{
    static char text[128 * 1024];
    size_t used =
        (size_t)snprintf(text, sizeof(text), SERVER "jobs = { a = { " JOB " params = { x = \"");
    struct config *c;

    memset(text + used, 'x', 65536);
    strcpy(text + used + 65536, "\"; }; }; };");
    c = place_load_text(*state, text);
    assert_false(c->fatal);
    assert_true(config_find_job(c, "a")->invalid);
    place_expect(*state, c,
                 "error /rotad.conf:2: job 'a': params hold 65553 bytes, at most 65536 fit; put "
                 "the rest into a file "
                 "and name it here\n");
    config_free(c);
}

/* What a problem outside, in one job, and in the probe does. */
static void test_fatal_or_invalid(void **state)
{
    struct config *c =
        place_load_text(*state, SERVER "jobs = { a = { " JOB " x = 1; }; b = { " JOB " }; };");
    struct job_config *b = config_find_job(c, "b");
    char *why = NULL;
    size_t before;

    assert_false(c->fatal);
    assert_int_equal(c->problems.errors, 1);
    assert_true(config_find_job(c, "a")->invalid);
    assert_string_equal(strrchr(config_find_job(c, "a")->invalid_why, '/'),
                        "/rotad.conf:2: unknown key 'x'");
    assert_false(b->invalid);
    before = c->problems.count; /* a machine without machine-id adds a warning of its own */
    assert_int_equal(config_job_problem(c, b, -1, "the plugin says %s", "no\n"), 0);
    assert_int_equal(config_job_problem(c, b, -1, "again"), 0);
    assert_true(b->invalid);
    assert_string_equal(strrchr(b->invalid_why, '/'), "/rotad.conf:2: the plugin says no\\x0a");
    why = config_problem_text(&c->problems.items[before]);
    assert_string_equal(strrchr(why, '/'), "/rotad.conf:2: job 'b': the plugin says no\\x0a");
    assert_int_equal(c->problems.errors, 3);
    assert_false(c->fatal);
    free(why);
    config_free(c);
    c = place_load_text(*state, SERVER "max_running = 0; jobs = { b = { " JOB " }; };");
    assert_true(c->fatal);
    assert_false(config_find_job(c, "b")->invalid);
    config_free(c);
}

static void test_param_problem_has_its_line(void **state)
{
    struct config *c = place_load_text(*state, SERVER "jobs = { a = { " JOB
                                                      " params = {\nb = 1;\na = 2; }; }; };");
    struct job_config *job = config_find_job(c, "a");

    assert_int_equal(config_job_problem(c, job, 0, "bad"), 0);
    place_expect(*state, c, "error /rotad.conf:4: job 'a': bad\n");
    config_free(c);
}

static struct config *print_and_load(const struct place *p, const struct config *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *again;

    assert_non_null(out);
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    /* For terminals: whatever the values hold. */
    for (size_t i = 0; i < size; i++)
        assert_true((unsigned char)text[i] >= 0x20 || text[i] == '\n');
    place_write_bytes(p, "again.conf", text, size);
    again = place_load(p, "again.conf");
    free(text);
    return again;
}

static void expect_round_trip(const struct place *p, const char *text)
{
    struct config *c = place_load_text(p, text), *again = print_and_load(p, c);

    assert_int_equal(c->problems.errors, 0);
    assert_int_equal(again->problems.errors, 0);
    assert_null(config_fixed_change(c, again));
    assert_int_equal(c->max_running, again->max_running);
    assert_int_equal(c->log_level, again->log_level);
    assert_int_equal(c->stop_timeout_ms, again->stop_timeout_ms);
    assert_int_equal(c->job_count, again->job_count);
    for (size_t i = 0; i < c->job_count; i++) {
        assert_true(config_job_equal(&c->jobs[i], &again->jobs[i]));
        assert_string_equal(c->jobs[i].spec.fingerprint, again->jobs[i].spec.fingerprint);
    }
    config_free(c);
    config_free(again);
}

static void test_print_parses_again(void **state)
{
    expect_round_trip(*state, "");
    expect_round_trip(*state, SERVER "jobs = { a = { " JOB " }; };");
    expect_round_trip(*state, "prefix = \"x.y:\"; device = \"50%%\\\"\\\\\"; max_running = 1; "
                              "log_level = \"err\"; stop_timeout = \"1h\";\n"
                              "redis = { address = [ \"[::1]:1\", \"unix:/a b\\\"\" ]; database = "
                              "3; backoff_max = \"90s\"; };\n"
                              "jobs = { a = { " JOB " first = \"now\"; attempts = 7; params = {\n"
                              "  hostile = \"q\\\" b\\\\ n\\n t\\t \\x01\\x1b[2J\\x7f \xc3\xa4 "
                              "\xff '; }; # // /* @include\";\n"
                              "  list = [ \"\\\"\", \"\", \"\\\\n\" ]; none = [];\n"
                              "  n = 1.50e-3; i = -9223372036854775808; yes = true; }; };\n"
                              "  b = { plugin = \"upload\"; every = \"1s\"; worst_case = \"31d\"; "
                              "lease = \"1h\"; retention = \"1d\"; }; };");
}

static void test_tls_is_the_default_beyond_this_machine(void **state)
{
    static const struct {
        const char *redis;
        bool tls;
    } cases[] = {
        { "address = \"unix:/r\";", false },
        { "address = [ \"127.0.0.1:1\", \"[::1]:2\", \"localhost:3\" ];", false },
        { "address = \"127.0.0.1:1\"; tls = true;", true },
        { "address = \"192.0.2.1:1\";", true },
        { "address = [ \"unix:/r\", \"redis.example:1\" ];", true },
        { "address = \"redis.example:1\"; tls = false;", false },
    };
    char text[160];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config *c, *again;

        snprintf(text, sizeof(text), "prefix = \"a:\"; redis = { %s };", cases[i].redis);
        c = place_load_text(*state, text);
        again = print_and_load(*state, c);
        place_expect(*state, c, "");
        assert_int_equal(c->redis.tls, cases[i].tls);
        assert_int_equal(again->redis.tls, cases[i].tls);
        config_free(c);
        config_free(again);
    }
}

static void test_print_leaves_out_invalid_jobs(void **state)
{
    struct config *c =
        place_load_text(*state, SERVER "jobs = { a = { " JOB " x = 1; }; b = { " JOB " }; };");
    struct config *again = print_and_load(*state, c);

    assert_int_equal(again->problems.errors, 0);
    assert_null(config_find_job(again, "a"));
    assert_non_null(config_find_job(again, "b"));
    config_free(c);
    config_free(again);
}

static void test_fixed_change(void **state)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; };", NULL },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; }; max_running = 5; "
          "stop_timeout = \"1s\"; log_level = \"err\";",
          NULL },
        { "prefix = \"b:\"; redis = { address = \"127.0.0.1:6379\"; };", "prefix" },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; }; device = \"x\";", "device" },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; }; plugin_dir = [ \"/x\" ];",
          "plugin_dir" },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6380\"; };", "redis.address" },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; database = 1; };",
          "redis.database" },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; backoff_max = \"2s\"; };",
          "redis.backoff_max" },
        { "prefix = \"a:\";", "redis.address" },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; }; store = \"local\";",
          "store" },
        { "prefix = \"a:\"; redis = { address = \"127.0.0.1:6379\"; }; requires = \"0.0\";", NULL },
    };
    struct config *c = place_load_text(*state, SERVER);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config *other = place_load_text(*state, cases[i].text);
        const char *name = config_fixed_change(c, other);

        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
        else
            assert_null(name);
        config_free(other);
    }
    config_free(c);
}

static void set_device(struct config *c, const char *name)
{
    free(c->device);
    c->device = strdup(name);
    assert_non_null(c->device);
}

/* The host got another name while rotad ran: nobody has edited anything. */
static void test_a_new_host_name_is_no_change(void **state)
{
    static const char *const texts[] = { SERVER, SERVER "device = \"%H\";" };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct config *before = place_load_text(*state, texts[i]);
        struct config *after = place_load_text(*state, texts[i]);

        set_device(after, "renamed");
        assert_null(config_fixed_change(before, after));
        config_free(after);
        after = place_load_text(*state, SERVER "device = \"x\";");
        assert_string_equal(config_fixed_change(before, after), "device");
        config_free(after);
        config_free(before);
    }
}

static void test_more_problems_than_are_kept(void **state)
{
    enum { KEPT = 1000, JOBS = KEPT + 50 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *c;

    assert_non_null(out);
    /* With a name of its own: a machine without machine-id adds no warning then. */
    fputs(SERVER "device = \"gate-1\";\n"
                 "jobs = { slow = { plugin = \"exec\"; every = \"1m\"; worst_case = \"2m\"; };\n",
          out);
    for (int i = 0; i < JOBS; i++)
        fprintf(out, "x%d = { " JOB " x = 1; };\n", i);
    fputs("};\n", out);
    assert_int_equal(fclose(out), 0);
    c = place_load_text(*state, text);
    assert_int_equal(c->problems.count, KEPT);
    assert_int_equal(c->problems.errors, JOBS);
    assert_int_equal(c->problems.warnings, 1);
    config_free(c);
    free(text);
}

static struct config *load_job(const struct place *p, const char *keys)
{
    char text[1024];

    snprintf(text, sizeof(text), SERVER "jobs = { a = { %s }; };", keys);
    return place_load_text(p, text);
}

/* Final: devices of all versions compare these. Computed apart from this code, by
 * core/fingerprint.h's rules. */
static void test_fingerprint_is_final(void **state)
{
    struct config *c =
        load_job(*state, JOB " params = { b = 1.5; a = [ \"x\", \"y\" ]; c = true; };");

    assert_string_equal(config_find_job(c, "a")->spec.schedule_print, "dd33282e");
    assert_string_equal(config_find_job(c, "a")->spec.fingerprint, "682de966");
    config_free(c);
}

static void test_fingerprint_follows_meaning(void **state)
{
    static const struct {
        const char *keys;
        bool same_job, same_schedule;
    } cases[] = {
        { "worst_case = \"60s\"; every = \"300s\"; plugin = \"exec\"; params = { b = \"y\"; a = "
          "\"x\"; };",
          true, true },
        { JOB
          " params = { a = \"x\"; b = \"y\"; }; offset = \"0s\"; lease = \"60s\"; attempts = 3;",
          true, true },
        { JOB " params = { a = \"x\"; b = \"y\"; }; splay = \"2s\"; output_lines = 1;", true,
          true },
        { JOB " params = { a = \"x\"; b = \"z\"; };", false, true },
        { JOB " params = { a = \"xb\"; b = \"y\"; };", false, true },
        { JOB " params = { a = \"x\"; };", false, true },
        { JOB " params = { a = [ \"x\" ]; b = \"y\"; };", false, true },
        { JOB " params = { a = \"x\"; b = \"y\"; }; attempts = 2;", false, true },
        { JOB " params = { a = \"x\"; b = \"y\"; }; lease = \"61s\";", false, true },
        { JOB " params = { a = \"x\"; b = \"y\"; }; offset = \"1s\";", false, false },
        { "plugin = \"exec\"; every = \"6m\"; worst_case = \"1m\"; params = { a = \"x\"; b = "
          "\"y\"; };",
          false, false },
        { "plugin = \"exec\"; every = \"5m\"; worst_case = \"2m\"; params = { a = \"x\"; b = "
          "\"y\"; };",
          false, true },
        { "plugin = \"upload\"; every = \"5m\"; worst_case = \"1m\"; params = { a = \"x\"; b = "
          "\"y\"; };",
          false, true },
    };
    struct config *c = load_job(*state, JOB " params = { a = \"x\"; b = \"y\"; };");
    const struct job_spec *spec = &config_find_job(c, "a")->spec;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config *other = load_job(*state, cases[i].keys);
        const struct job_spec *theirs = &config_find_job(other, "a")->spec;

        assert_int_equal(other->problems.errors, 0);
        assert_int_equal(strcmp(spec->fingerprint, theirs->fingerprint) == 0, cases[i].same_job);
        assert_int_equal(strcmp(spec->schedule_print, theirs->schedule_print) == 0,
                         cases[i].same_schedule);
        config_free(other);
    }
    config_free(c);
}

static void test_job_equal(void **state)
{
    static const char *const different[] = {
        JOB " params = { a = \"x\"; }; splay = \"2s\";",
        JOB " params = { a = \"x\"; }; output_lines = 1;",
        JOB " params = { a = \"x\"; }; first = \"now\";",
        JOB " params = { a = \"y\"; };",
        JOB " params = { a = [ \"x\" ]; };",
        JOB,
        JOB " params = { a = \"x\"; b = 1; };",
        JOB " params = { a = \"x\"; }; nonsense = 1;",
    };
    struct config *c = load_job(*state, JOB " params = { a = \"x\"; };");
    struct config *same = load_job(*state, "\n\n" JOB " splay = \"1s\"; params = { a = \"x\"; };");

    assert_true(config_job_equal(&c->jobs[0], &same->jobs[0]));
    for (size_t i = 0; i < COUNT_OF(different); i++) {
        struct config *other = load_job(*state, different[i]);

        assert_false(config_job_equal(&c->jobs[0], &other->jobs[0]));
        config_free(other);
    }
    config_free(c);
    config_free(same);
}

static void test_kind_of_a_param_counts(void **state)
{
    struct config *number = load_job(*state, JOB " params = { a = 1; };");
    struct config *text = load_job(*state, JOB " params = { a = \"1\"; };");

    assert_false(config_job_equal(&number->jobs[0], &text->jobs[0]));
    config_free(number);
    config_free(text);
}

static void expect_device(const struct place *p, const char *template, const char *device)
{
    char text[256];
    struct config *c;

    snprintf(text, sizeof(text), "device = \"%s\";", template);
    c = place_load_text(p, text);
    place_expect(p, c, "");
    assert_string_equal(c->device, device);
    config_free(c);
}

static void test_device(void **state)
{
    struct utsname host;
    char boot[9], expected[200];
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    assert_non_null(f);
    assert_int_equal(fread(boot, 1, 8, f), 8);
    boot[8] = '\0';
    fclose(f);
    assert_int_equal(uname(&host), 0);
    snprintf(expected, sizeof(expected), "a-%s-%%-%s", boot, boot);
    expect_device(*state, "a-%b-%%-%b", expected);
    snprintf(expected, sizeof(expected), "%s", host.nodename);
    expect_device(*state, "%H", expected);
}

static void test_long_device(void **state)
{
    struct config *c = place_load_text(*state, "device = \"%b%b%b%b%b%b%b%b1\";");

    assert_true(c->fatal);
    assert_non_null(strstr(c->problems.items[0].text, "; a name has 1 to 64 bytes"));
    config_free(c);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults),
        TEST(test_defaults_that_follow_the_period),
        TEST(test_addresses),
        TEST(test_params),
        TEST(test_too_large_params),
        TEST(test_fatal_or_invalid),
        TEST(test_param_problem_has_its_line),
        TEST(test_print_parses_again),
        TEST(test_tls_is_the_default_beyond_this_machine),
        TEST(test_print_leaves_out_invalid_jobs),
        TEST(test_fixed_change),
        TEST(test_a_new_host_name_is_no_change),
        TEST(test_more_problems_than_are_kept),
        TEST(test_fingerprint_is_final),
        TEST(test_fingerprint_follows_meaning),
        TEST(test_job_equal),
        TEST(test_kind_of_a_param_counts),
        TEST(test_device),
        TEST(test_long_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
