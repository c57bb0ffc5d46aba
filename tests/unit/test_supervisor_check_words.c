/* SPDX-License-Identifier: MIT
 * What --check says of lines and keys that are written as elsewhere. Random text is read without
 * harm, and never said past its room. */
#include "supervisor/check_syntax.h"
#include "supervisor/check_unknown.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const char *line, *why; /* NULL: nothing is known of it */
};

static const struct row rows[] = {
    { "plugin = exec;", "plugin is exec, without quotes; write plugin = \"exec\";" },
    { "  every=1h # often", "every is 1h, without quotes; write every = \"1h\";" },
    { "cron = 30 2 * * *;", "cron is 30 2 * * *, without quotes; write cron = \"30 2 * * *\";" },
    { "a = { plugin = \"exec\"; every = 5m; };",
      "every is 5m, without quotes; write every = \"5m\";" },
    { "command = [ /bin/true, \"x\" ];", "/bin/true stands without quotes; write \"/bin/true\"" },
    { "command = [ \"x\", 'y' ];", "text stands in double quotes; write \"y\"" },
    { "command = [ \"x\", ];", "the list ends with a comma; leave out the last one" },
    { "a = [ ]; every = 1h;", "every is 1h, without quotes; write every = \"1h\";" },
    { "enabled = Yes;", "enabled is Yes; write true or false" },
    { "enabled = off", "enabled is off; write true or false" },
    { "first = now;", "first is now, without quotes; write first = \"now\";" },
    { "every = ;", "the value of every is missing; write it behind the =" },
    { "every '1h';", NULL },
    { "every \"1h\"; # often", "there is no = behind every; write every = \"1h\"" },
    { "every = '1h';", "text stands in double quotes; write every = \"1h\"" },
    { "\"every\": \"1h\",", "a name stands without quotes; write every" },
    { "2nd = { };",
      "2nd is no name; a name begins with a letter, and has letters, digits, _ and - only" },
    { "a b = 1;",
      "a b is no name; a name begins with a letter, and has letters, digits, _ and - only" },
    { "daily.report = {",
      "daily.report is no name, since it has a dot; write such as daily_report" },
    { "a.daily.report = {",
      "a.daily.report is no name, since it has a dot; write such as a_daily_report" },
    { "limits.memory = \"1MiB\";", "memory stands in a group; write limits = { memory = ...; };" },
    { "= \"1h\";", "a name is missing before this =" },
    { "-- once an hour", "-- begins no comment; write # instead" },
    { "; once an hour", "; begins no comment; write # instead" },
    { "[redis]", "a group is not begun by [redis]; write redis = { before its first line and }; "
                 "after its last" },
    { "every = \u201c1h\u201d;",
      "the quote \u201c is not a plain one; write text in plain double quotes, \"\"" },
    { "every =\u00a0\"1h\";", "a character here looks like a space and is none, as web pages have "
                              "them; write the line anew, with plain spaces" },
    { "gr\u00f6\u00dfe = 1;",
      "\u00f6 cannot stand outside of a text; names have the letters a to z only" },
    /* Nothing is wrong with these, or it is another line that is. */
    { "every = \"1h\"; # \u201cthe hour\u201d", NULL },
    { "text = \"\u00f6 # \\\" ; '\"; more = 0x1F; less = -1.5e3; yes = true;", NULL },
    { "command = ( \"a\", [ \"b\" ] );", NULL },
    { "command = [", NULL },
    { "\"b\", \"c\" ];", NULL },
    { "every = \"1h", NULL },
    { "};;", NULL },
    { "", NULL },
};

#define UNKNOWN                                                                                    \
    "this cannot be understood; look here and on the line before for a missing ; = , or quote; a " \
    "name begins with a letter, and a text needs quotes"

static void test_lines(void **state)
{
    char why[CONFIG_WHY_SIZE], text[512];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        snprintf(text, sizeof(text), "first = yes;\n%s\nlast = yes;\n", rows[i].line);
        check_syntax_explain(text, 2, why);
        if (strcmp(why, rows[i].why ? rows[i].why : UNKNOWN) != 0)
            fail_msg("%s: %s", rows[i].line, why);
    }
}

static void test_lines_that_are_not_there(void **state)
{
    char why[CONFIG_WHY_SIZE], *text = malloc(5000);

    (void)state;
    assert_non_null(text);
    check_syntax_explain("a = yes;\n", 3, why);
    assert_string_equal(why, UNKNOWN);
    check_syntax_explain("a = yes;", 2, why);
    assert_string_equal(why, UNKNOWN);
    memset(text, 'a', 4999);
    text[4999] = '\0';
    check_syntax_explain(text, 1, why);
    assert_string_equal(why, UNKNOWN);
    free(text);
}

/* Long words are cut, not the memory behind `why`. */
static void test_random_lines(void **state)
{
    static const char bytes[] = "ab1=:;,{}[]()\"'#\\/.-* \t\x80\xe2\xc3\xff";
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[300], why[CONFIG_WHY_SIZE];
        size_t length = (size_t)unit_random_in(&random, 0, sizeof(text) - 1);

        for (size_t j = 0; j < length; j++)
            text[j] = bytes[unit_random_in(&random, 0, sizeof(bytes) - 2)];
        text[length] = '\0';
        check_syntax_explain(text, 1, why);
        assert_true(why[0] != '\0' && memchr(why, '\0', sizeof(why)));
    }
}

static const struct known {
    enum schema_group_id group;
    const char *name, *key;
} known[] = {
    { SCHEMA_TOP, "hostname", "device" },
    { SCHEMA_TOP, "namespace", "prefix" },
    { SCHEMA_TOP, "plugin_path", "plugin_dir" },
    { SCHEMA_TOP, "tasks", "jobs" },
    { SCHEMA_REDIS, "port", "address" },
    { SCHEMA_REDIS, "password", "password_file" },
    { SCHEMA_REDIS, "user", "username" },
    { SCHEMA_REDIS, "db", "database" },
    { SCHEMA_REDIS, "ssl", "tls" },
    { SCHEMA_REDIS, "cacert", "tls_ca" },
    { SCHEMA_REDIS, "cert", "tls_cert" },
    { SCHEMA_REDIS, "key", "tls_key" },
    { SCHEMA_REDIS, "sentinel", "sentinels" },
    { SCHEMA_REDIS, "master_name", "master" },
    { SCHEMA_REDIS, "sentinel_password", "sentinel_password_file" },
    { SCHEMA_REDIS, "startup_nodes", "cluster" },
    { SCHEMA_REDIS, "redlock", "quorum" },
    { SCHEMA_REDIS, "timeout", NULL },
    { SCHEMA_JOB, "interval", "every" },
    { SCHEMA_JOB, "schedule", "cron" },
    { SCHEMA_JOB, "timeout", "worst_case" },
    { SCHEMA_JOB, "retries", "attempts" },
    { SCHEMA_JOB, "command", "params" },
    { SCHEMA_JOB, "ttl", "lease" },
    { SCHEMA_JOB, "jitter", "splay" },
    { SCHEMA_JOB, "env", "environment" },
    { SCHEMA_JOB, "cwd", "working_dir" },
    { SCHEMA_JOB, "hosts", "devices" },
    { SCHEMA_JOB, "disabled", "enabled" },
    { SCHEMA_LIMITS, "ram", "memory" },
    { SCHEMA_LIMITS, "cpu", "cpu_time" },
    { SCHEMA_LIMITS, "nofile", "open_files" },
    { SCHEMA_LIMITS, "nproc", "processes" },
};

static void test_words_of_other_tools(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const struct schema_group *g = schema_group(known[i].group);
        const char *key, *words = check_unknown_advise(g, known[i].name, false, &key);

        if (!words)
            fail_msg("%s", known[i].name);
        assert_null(schema_find(g, known[i].name));
        if (!known[i].key) {
            assert_null(key);
            continue;
        }
        assert_string_equal(key, known[i].key);
        assert_non_null(schema_find(g, key));
        if (!strstr(words, key))
            fail_msg("%s: %s", key, words);
    }
}

static void test_words_of_nobody(void **state)
{
    const struct schema_group *job = schema_group(SCHEMA_JOB), *top = schema_group(SCHEMA_TOP);
    const char *key;

    (void)state;
    assert_null(check_unknown_advise(job, "interva", false, &key));
    assert_null(check_unknown_advise(job, "val", false, &key));
    assert_null(check_unknown_advise(job, "", false, &key));
    assert_null(check_unknown_advise(top, "interval", false, &key));
    assert_string_equal(check_unknown_advise(top, "tls", true, &key),
                        "write it in redis = { ... }");
    assert_null(key);
    assert_string_equal(check_unknown_advise(top, "cluster", false, &key),
                        "write it in redis = { ... }");
    assert_string_equal(check_unknown_advise(job, "memory", false, &key),
                        "write it in limits = { ... } of a job");
    assert_string_equal(check_unknown_advise(job, "prefix", false, &key),
                        "write it outside of redis and jobs");
    assert_string_equal(check_unknown_advise(top, "every", false, &key), "write it in a job");
    assert_string_equal(check_unknown_advise(top, "backup", true, &key),
                        "a job stands within jobs = { ... };");
    assert_null(key);
    assert_non_null(strstr(check_unknown_advise(job, "backup", true, &key), "}; that is missing"));
    assert_null(check_unknown_advise(schema_group(SCHEMA_LIMITS), "backup", true, &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),           cmocka_unit_test(test_lines_that_are_not_there),
        cmocka_unit_test(test_random_lines),    cmocka_unit_test(test_words_of_other_tools),
        cmocka_unit_test(test_words_of_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
