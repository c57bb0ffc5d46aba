/* SPDX-License-Identifier: MIT
 * Where a Redis Cluster has a key, and what its nodes say of where else to ask. */
#include "core/slot.h"
#include "redis/cluster_redirect.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- slots --- */

static void test_slots_of_the_specification(void **state)
{
    (void)state;
    assert_int_equal(slot_of_key("123456789"),
                     0x31c3 % SLOT_COUNT); /* the specification's vector */
    assert_int_equal(slot_of_key(""), 0);
    /* As redis-cli CLUSTER KEYSLOT says. */
    assert_int_equal(slot_of_key("foo"), 12182);
    assert_int_equal(slot_of_key("somekey"), 11058);
    assert_int_equal(slot_of_key("\xff\xfe\x80"), 11813);
}

static void test_only_the_tag_counts(void **state)
{
    (void)state;
    assert_int_equal(slot_of_key("{user1000}.following"), slot_of_key("user1000"));
    assert_int_equal(slot_of_key("foo{{bar}}zap"), slot_of_key("{bar"));
    assert_int_equal(slot_of_key("foo{bar}{zap}"), slot_of_key("bar"));
    /* An empty tag is none, nor is one that does not end. */
    assert_int_equal(slot_of_key("foo{}{bar}"), 8363);
    assert_int_equal(slot_of_key("foo{bar"), 15278);
}

static void test_all_keys_of_a_job_are_in_its_slot(void **state)
{
    struct job_spec plain = { .key = "backup" },
                    tagged = { .key = "backup", .lock_key = "a:{b}:c" },
                    whole = { .key = "backup", .lock_key = "batch:lock" };

    (void)state;
    assert_int_equal(slot_of_job(&plain), slot_of_key("test:{backup}:claim"));
    assert_int_equal(slot_of_job(&tagged), slot_of_key("test:{b}:backup:claim"));
    assert_int_equal(slot_of_job(&tagged), slot_of_key("a:{b}:c"));
    assert_int_equal(slot_of_job(&whole), slot_of_key("test:{batch:lock}:backup:claim"));
    assert_int_equal(slot_of_job(&whole), slot_of_key("batch:lock"));
}

/* --- redirects --- */

static void assert_read(const char *error, bool asks, const char *host, unsigned port)
{
    struct cluster_redirect to;

    assert_int_equal(cluster_redirect_read(error, &to), 0);
    assert_int_equal(to.asks, asks);
    assert_string_equal(to.host, host);
    assert_int_equal(to.port, port);
}

static void assert_refused(const char *error, int expected)
{
    struct cluster_redirect to;

    assert_int_equal(cluster_redirect_read(error, &to), expected);
}

static void test_redirects(void **state)
{
    (void)state;
    assert_read("MOVED 3999 127.0.0.1:6381", false, "127.0.0.1", 6381);
    assert_read("ASK 0 127.0.0.1:1", true, "127.0.0.1", 1);
    assert_read("MOVED 16383 ::1:65535", false, "::1", 65535);
    assert_read("MOVED 1 2001:db8::1:7001", false, "2001:db8::1", 7001);
    assert_read("MOVED 1 fe80::1%eth0:7001", false, "fe80::1%eth0", 7001);
    assert_read("ASK 1 redis-2.example.org:7001", true, "redis-2.example.org", 7001);
    assert_read("MOVED 1 :7001", false, "", 7001);
}

static void test_other_errors(void **state)
{
    (void)state;
    assert_refused("", -ENOENT);
    assert_refused("MOVED", -ENOENT);
    assert_refused("MOVEDX 1 a:1", -ENOENT);
    assert_refused("ERR MOVED 1 a:1", -ENOENT);
    assert_refused("TRYAGAIN Multiple keys request during rehashing of slot", -ENOENT);
    assert_refused("ASKING 1 a:1", -ENOENT);
}

static void test_a_node_without_a_name(void **state)
{
    (void)state;
    assert_refused("MOVED 1 ?:7001", -EDESTADDRREQ);
}

static void test_rubbish(void **state)
{
    static const char *const rubbish[] = {
        "MOVED ",          "MOVED 1",           "MOVED 1 ",      "MOVED 1 a",
        "MOVED 16384 a:1", "MOVED -1 a:1",      "MOVED 1x a:1",  "MOVED  a:1",
        "MOVED 1 a:0",     "MOVED 1 a:65536",   "MOVED 1 a:",    "MOVED 1 a:1 ",
        "MOVED 1 a:-1",    "MOVED 1 a:100000",  "MOVED 1 a:+1",  "MOVED 1 a b:1",
        "MOVED 1 a/b:1",   "MOVED 1 [::1]:1",   "MOVED 1 a\n:1", "ASK 1 ??:1",
        "ASK 000001 a:1",  "MOVED 1 \xc3\xa4:1"
    };
    char endless[400];

    (void)state;
    for (size_t i = 0; i < sizeof rubbish / sizeof rubbish[0]; i++)
        assert_refused(rubbish[i], -EBADMSG);
    snprintf(endless, sizeof endless, "MOVED 1 %0*d:1", REDIS_HOST_SIZE, 0);
    assert_refused(endless, -EBADMSG);
}

static void test_the_longest_name(void **state)
{
    char error[REDIS_HOST_SIZE + 20], name[REDIS_HOST_SIZE];

    (void)state;
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(error, sizeof error, "MOVED 1 %s:1", name);
    assert_read(error, false, name, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_of_the_specification),
        cmocka_unit_test(test_only_the_tag_counts),
        cmocka_unit_test(test_all_keys_of_a_job_are_in_its_slot),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_other_errors),
        cmocka_unit_test(test_a_node_without_a_name),
        cmocka_unit_test(test_rubbish),
        cmocka_unit_test(test_the_longest_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
