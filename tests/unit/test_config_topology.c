/* SPDX-License-Identifier: MIT
 * Sentinels, a cluster and a quorum: what their keys become, with whose login and TLS, that they
 * are printed so that they are read again, and that a change of them is seen. The mistakes are in
 * the golden pairs. */
#include "test_config_support.h"

#include "base/units.h"
#include <string.h>
#include <sys/stat.h>

#define QUORUM(inside)                                                                             \
    "prefix = \"a:\";\nredis = { quorum = (\n{ address = \"127.0.0.1:1\"; },\n"                    \
    "{ address = \"unix:/r\"; " inside " },\n{ address = \"redis-3.example:3\"; }\n); };\n"
#define SENTINELS "sentinels = [ \"127.0.0.1:26379\", \"s-2.example:26380\" ]; master = \"m\";"
#define SENTINEL(inside) "prefix = \"a:\"; redis = { " SENTINELS inside " };\n"
#define CLUSTER                                                                                    \
    "prefix = \"a:\"; redis = { address = \"127.0.0.1:7000\"; tls = false; cluster = true; };\n"

static void test_sentinels(void **state)
{
    struct config *c = place_load_text(*state, SENTINEL(""));
    const struct redis_config *redis = &c->redis;

    place_expect(*state, c, "");
    assert_true(redis->configured);
    assert_int_equal(redis->addresses.count, 0);
    assert_int_equal(redis->sentinels.count, 2);
    assert_string_equal(redis->sentinels.items[0].host, "127.0.0.1");
    assert_string_equal(redis->sentinels.items[1].text, "s-2.example:26380");
    assert_int_equal(redis->sentinels.items[1].port, 26380);
    assert_string_equal(redis->master, "m");
    assert_null(redis->sentinel_password);
    assert_true(redis->tls);
    config_free(c);
}

/* Nobody knows where they are before the password goes there. */
static void test_servers_that_are_learned_have_tls(void **state)
{
    static const char *const texts[] = {
        "prefix = \"a:\"; redis = { sentinels = [ \"127.0.0.1:26379\" ]; master = \"m\"; };\n",
        "prefix = \"a:\"; redis = { address = \"127.0.0.1:7000\"; cluster = true; };\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct config *c = place_load_text(*state, texts[i]);

        place_expect(*state, c, "");
        assert_true(c->redis.tls);
        config_free(c);
    }
}

/* What a server's group leaves out it has from `redis`, but for TLS, which goes by its own address
 * where nobody wrote it. */
static void test_quorum(void **state)
{
    struct config *c =
        place_load_text(*state, QUORUM("database = 2; tls_name = \"two\";") "checkin = \"1d\";");
    const struct redis_config *s = c->redis.servers;

    assert_int_equal(c->redis.server_count, 3);
    assert_true(c->redis.configured);
    assert_string_equal(s[0].addresses.items[0].text, "127.0.0.1:1");
    assert_string_equal(s[1].addresses.items[0].host, "/r");
    assert_string_equal(s[2].addresses.items[0].host, "redis-3.example");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s[i].addresses.count, 1);
        assert_int_equal(s[i].command_timeout_ms, 3 * SECOND_MS);
        assert_int_equal(s[i].idle_timeout_ms, 15 * MINUTE_MS);
        assert_int_equal(s[i].database, i == 1 ? 2 : 0);
        assert_int_equal(s[i].tls, i == 2);
    }
    assert_true(c->redis.tls);
    config_free(c);
}

static void put_password(const struct place *p, const char *name, const char *password)
{
    place_write(p, name, password);
    assert_int_equal(chmod(place_path(p, name), 0600), 0);
}

static void test_whose_login(void **state)
{
    char text[2048];
    struct config *c;

    put_password(*state, "all", "for all\n");
    put_password(*state, "two", "for two\n");
    snprintf(text, sizeof(text),
             "redis = { username = \"rota\"; password_file = \"%s\"; database = 5; tls = true;\n"
             "command_timeout = \"1s\"; tls_name = \"x\"; quorum = (\n"
             "{ address = \"127.0.0.1:1\"; },\n"
             "{ address = \"127.0.0.1:2\"; username = \"two\"; password_file = \"%s\"; tls = "
             "false; },\n"
             "{ address = \"127.0.0.1:3\"; database = 0; tls_name = \"y\"; } ); };\n",
             place_path(*state, "all"), place_path(*state, "two"));
    c = place_load_text(*state, text);
    place_expect(*state, c, "");
    for (size_t i = 0; i < 3; i++) {
        const struct redis_config *s = &c->redis.servers[i];

        assert_string_equal(s->username, i == 1 ? "two" : "rota");
        assert_string_equal(s->password, i == 1 ? "for two" : "for all");
        assert_int_equal(s->database, i == 2 ? 0 : 5);
        assert_int_equal(s->tls, i != 1);
        assert_string_equal(s->tls_name, i == 2 ? "y" : "x");
        assert_int_equal(s->command_timeout_ms, SECOND_MS);
    }
    config_free(c);
}

static void test_login_at_the_sentinels(void **state)
{
    char text[1024], expected[256];
    struct config *c;

    put_password(*state, "sentinel", "told\n");
    snprintf(text, sizeof(text),
             "redis = { " SENTINELS
             "\nsentinel_username = \"s\"; sentinel_password_file = \"%s\"; };",
             place_path(*state, "sentinel"));
    c = place_load_text(*state, text);
    place_expect(*state, c, "");
    assert_string_equal(c->redis.sentinel_username, "s");
    assert_string_equal(c->redis.sentinel_password, "told");
    assert_null(c->redis.username);
    assert_null(c->redis.password);
    config_free(c);
    assert_int_equal(chmod(place_path(*state, "sentinel"), 0644), 0);
    c = place_load(*state, "rotad.conf");
    snprintf(
        expected, sizeof(expected),
        "error /rotad.conf:2: redis.sentinel_password_file '/sentinel' is not used: it holds a "
        "secret, but others than its owner may read it; chmod it 0600\n");
    place_expect(*state, c, expected);
    assert_true(c->fatal);
    config_free(c);
}

/* A line that counts for three servers is one mistake. */
static void test_a_mistake_for_all_is_told_once(void **state)
{
    struct config *c = place_load_text(
        *state,
        "redis = { password_file = \"/nowhere/p\";\nquorum = ( { address = \"127.0.0.1:1\"; "
        "}, { address = \"127.0.0.1:2\"; }, { address = \"127.0.0.1:3\"; } ); };");

    place_expect(*state, c,
                 "error /rotad.conf:1: redis.password_file '/nowhere/p' is not used: it cannot be "
                 "read: No such file or directory\n");
    assert_int_equal(c->problems.errors, 1);
    config_free(c);
}

static char *printed(const struct config *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_again(const struct place *p, struct config *c, const char *const wanted[])
{
    char *text = printed(c), *second;
    struct config *again;

    for (; *wanted; wanted++)
        if (!strstr(text, *wanted))
            fail_msg("'%s' is not in %s", *wanted, text);
    place_write(p, "again.conf", text);
    again = place_load(p, "again.conf");
    place_expect(p, again, "");
    assert_null(config_fixed_change(c, again));
    second = printed(again);
    assert_string_equal(text, second);
    free(text);
    free(second);
    config_free(again);
    config_free(c);
}

static void test_print_parses_again(void **state)
{
    char text[512];

    put_password(*state, "sentinel", "told\n");
    snprintf(text, sizeof(text),
             SENTINEL("sentinel_username = \"s\"; sentinel_password_file = \"%s\";"),
             place_path(*state, "sentinel"));
    expect_again(
        *state, place_load_text(*state, text),
        (const char *const[]){ "sentinels = [ \"127.0.0.1:26379\", \"s-2.example:26380\" ];",
                               "master = \"m\";", "sentinel_username = \"s\";",
                               "sentinel_password_file = \"/", "cluster = false;", NULL });
    expect_again(*state, place_load_text(*state, CLUSTER),
                 (const char *const[]){ "cluster = true;", NULL });
    expect_again(*state, place_load_text(*state, QUORUM("database = 2;")),
                 (const char *const[]){ "quorum = (\n    {\n      address = [ \"127.0.0.1:1\" ];\n"
                                        "      database = 0;\n      tls = false;\n    },\n",
                                        "database = 2;", "}\n  );", NULL });
}

static void expect_change(const struct place *p, const char *before, const char *after,
                          const char *key)
{
    struct config *a = place_load_text(p, before), *b = place_load_text(p, after);

    assert_string_equal(config_fixed_change(a, b), key);
    assert_string_equal(config_fixed_change(b, a), key);
    config_free(a);
    config_free(b);
}

static void test_changes(void **state)
{
    expect_change(*state, QUORUM(""), QUORUM("database = 1;"), "redis.quorum");
    expect_change(*state, QUORUM(""), QUORUM("username = \"u\";"), "redis.quorum");
    expect_change(
        *state,
        "redis = { quorum = ( { address = \"a:1\"; }, { address = \"b:1\"; }, { address "
        "= \"c:1\"; } ); };",
        "redis = { quorum = ( { address = \"a:1\"; }, { address = \"b:1\"; }, { address = \"c:1\"; "
        "}, { address = \"d:1\"; }, { address = \"e:1\"; } ); };",
        "redis.quorum");
    expect_change(*state, QUORUM(""),
                  "prefix = \"a:\"; redis = { address = \"redis-3.example:3\"; };",
                  "redis.address");
    expect_change(
        *state, SENTINEL(""),
        "prefix = \"a:\"; redis = { sentinels = \"s-2.example:26380\"; master = \"m\"; };",
        "redis.sentinels");
    expect_change(*state, CLUSTER, "prefix = \"a:\"; redis = { address = \"127.0.0.1:7000\"; };",
                  "redis.cluster");
    expect_change(*state, SENTINEL("sentinel_username = \"a\";"),
                  SENTINEL("sentinel_username = \"b\";"), "redis.sentinel_username");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sentinels),
        TEST(test_servers_that_are_learned_have_tls),
        TEST(test_quorum),
        TEST(test_whose_login),
        TEST(test_login_at_the_sentinels),
        TEST(test_a_mistake_for_all_is_told_once),
        TEST(test_print_parses_again),
        TEST(test_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
