/* SPDX-License-Identifier: MIT
 * The in-memory store of the fleet where no Redis can be asked, and names in a table. That it
 * answers as the scripts do is shown by integration/test_memory_store.py. */
#include "core/memory_fleet.h"
#include "unit.h"

#include "base/text.h"
#include "base/units.h"
#include <string.h>

#define T INT64_C(1700000000000)
#define DEVICES 10
#define JOBS 2
#define TEXT_SIZE 16

struct store {
    struct memory_fleet fleet;
    struct memory_greeter device_room[DEVICES];
    struct memory_settled job_room[JOBS];
    uint32_t devices_by_name[DEVICES], jobs_by_name[JOBS];
    char texts[MEMORY_CONFS_MAX][TEXT_SIZE];
    struct wall done[STORE_HELLO_JOBS_MAX];
};

static void begin(struct store *s)
{
    memset(s, 0, sizeof *s);
    s->fleet.room = (struct memory_fleet_room){ .devices = s->device_room,
                                                .jobs = s->job_room,
                                                .devices_by_name = s->devices_by_name,
                                                .jobs_by_name = s->jobs_by_name,
                                                .devices_max = DEVICES,
                                                .jobs_max = JOBS,
                                                .texts = s->texts[0],
                                                .text_size = TEXT_SIZE,
                                                .done = s->done };
}

static struct store_reply hello(struct store *s, int64_t now, unsigned device, int64_t weight_ms)
{
    char name[MEMORY_NAME_SIZE];
    struct store_request request = { .verb = STORE_HELLO,
                                     .device = name,
                                     .boot = "b",
                                     .hello = { .weight_ms = weight_ms,
                                                .retention_ms = DAY_MS,
                                                .version = "0.1.0",
                                                .digest = "d",
                                                .jobs = "backup report" } };
    struct store_reply reply = { 0 };

    text_format(name, sizeof name, "device-%u", device);
    memory_fleet_answer(&s->fleet, (struct wall){ now }, &request, &reply);
    return reply;
}

static struct store_reply put(struct store *s, const char *digest, const char *text)
{
    struct store_request request = {
        .verb = STORE_CONFIG_PUT,
        .config = { .digest = digest, .text = text, .retention_ms = DAY_MS },
    };
    struct store_reply reply = { 0 };

    memory_fleet_answer(&s->fleet, (struct wall){ T }, &request, &reply);
    return reply;
}

static const char *get(struct store *s, int64_t now, const char *digest)
{
    struct store_request request = { .verb = STORE_CONFIG_GET, .config = { .digest = digest } };
    struct store_reply reply = { 0 };

    memory_fleet_answer(&s->fleet, (struct wall){ now }, &request, &reply);
    return reply.config.text;
}

static struct store_reply index_job(struct store *s, const char *key, int64_t done)
{
    struct job_spec spec = { .name = key, .key = key, .retention_ms = DAY_MS };
    struct store_request request = { .verb = STORE_INDEX, .job = &spec, .turn = { done } };
    struct store_reply reply = { 0 };

    memory_fleet_answer(&s->fleet, (struct wall){ T }, &request, &reply);
    return reply;
}

static void test_the_fleet_is_as_large_as_its_hellos_weigh(void **state)
{
    struct store s;
    struct store_reply reply = { 0 };

    (void)state;
    begin(&s);
    for (int64_t round = 0; round < 6; round++)
        for (unsigned i = 0; i < DEVICES; i++)
            reply = hello(&s, T / HOUR_MS * HOUR_MS + round * 10 * MINUTE_MS, i, 10 * MINUTE_MS);
    assert_int_equal(reply.hello.fleet, DEVICES);
    assert_int_equal(reply.hello.hellos, 6 * DEVICES);
    assert_true(reply.hello.wanted);
    assert_int_equal(hello(&s, (T / HOUR_MS + 1) * HOUR_MS, 0, -1).hello.fleet, DEVICES);
    assert_int_equal(hello(&s, (T / HOUR_MS + 1) * HOUR_MS + 30 * MINUTE_MS, 0, -1).hello.fleet,
                     DEVICES / 2);
    assert_int_equal(hello(&s, (T / HOUR_MS + 3) * HOUR_MS, 0, -1).hello.fleet, 1);
}

static void test_what_has_no_room_is_refused(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    for (unsigned i = 0; i < DEVICES; i++)
        assert_int_equal(hello(&s, T, i, 0).status, STORE_ANSWERED);
    assert_int_equal(hello(&s, T, DEVICES, 0).status, STORE_ERROR);
    assert_int_equal(hello(&s, T, 0, 0).hello.boots, DEVICES);
    assert_int_equal(index_job(&s, "backup", T - 1).status, STORE_ANSWERED);
    assert_int_equal(index_job(&s, "report", T - 2).status, STORE_ANSWERED);
    assert_int_equal(index_job(&s, "third", T - 3).status, STORE_ERROR);
    assert_int_equal(put(&s, "d", "0123456789abcde").status, STORE_ANSWERED);
    assert_int_equal(put(&s, "e", "0123456789abcdef").status, STORE_ERROR);
    assert_int_equal(s.fleet.conf_count, 1);
}

static void test_hello_tells_what_was_done(void **state)
{
    struct store s;
    struct store_reply reply;

    (void)state;
    begin(&s);
    index_job(&s, "report", T - 2);
    index_job(&s, "report", T - 3);
    reply = hello(&s, T, 0, 0);
    assert_int_equal(reply.hello.jobs, 2);
    assert_int_equal(reply.hello.done[0].ms, 0);
    assert_int_equal(reply.hello.done[1].ms, T - 2);
}

/* By who is still there; with nobody at all the whole store ends. */
static void test_what_is_older_than_the_retention_is_forgotten(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    for (unsigned i = 0; i < DEVICES; i++)
        hello(&s, T, i, 0);
    index_job(&s, "backup", T - 1);
    index_job(&s, "report", T - 2);
    for (int64_t hours = 6; hours <= 48; hours += 6)
        for (unsigned i = 0; i < DEVICES / 2; i++)
            hello(&s, T + hours * HOUR_MS, i, 0);
    /* The places of those that are gone are taken by others. */
    for (unsigned i = 0; i < DEVICES / 2; i++)
        assert_int_equal(hello(&s, T + 2 * DAY_MS, DEVICES + i, 0).status, STORE_ANSWERED);
    assert_int_equal(hello(&s, T + 2 * DAY_MS, 0, 0).hello.done[0].ms, 0);
    assert_int_equal(s.fleet.jobs_end.ms, 0);
}

/* There is room for 64. All are of the same instant, whose order is by name: one more is kept where
 * the new one is the first of them. */
static void test_the_configuration_seen_longest_ago_gives_way(void **state)
{
    struct store s;
    char digest[MEMORY_DIGEST_SIZE];

    (void)state;
    begin(&s);
    for (int i = 0; i < 200; i++) {
        text_format(digest, sizeof digest, "d%d", i);
        assert_int_equal(put(&s, digest, "text").status, STORE_ANSWERED);
        assert_true(s.fleet.conf_count <= 65);
        assert_string_equal(get(&s, T, digest), "text");
    }
    assert_true(s.fleet.conf_count >= 64);
}

static void test_a_configuration_ends_with_those_who_had_it(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    put(&s, "former", "text");
    hello(&s, T, 0, 0);
    put(&s, "d", "text");
    for (int64_t hours = 6; hours <= 48; hours += 6)
        hello(&s, T + hours * HOUR_MS, 0, 0);
    assert_string_equal(get(&s, T + 48 * HOUR_MS, "former"), "");
    assert_string_equal(get(&s, T + 48 * HOUR_MS, "d"), "text");
    assert_string_equal(get(&s, T + 73 * HOUR_MS, "d"), "");
}

static bool is_free(const void *entry)
{
    return ((const char *)entry)[MEMORY_NAME_SIZE - 1] != '\0';
}

/* Against a list, with names that come and go. */
static void test_a_table_finds_what_it_has(void **state)
{
    enum { ROOM = 16, NAMES = 40 };
    char entries[ROOM][MEMORY_NAME_SIZE];
    uint32_t order[ROOM], count = 0;
    struct memory_table table = { .entries = entries,
                                  .size = sizeof entries[0],
                                  .order = order,
                                  .capacity = ROOM,
                                  .count = &count,
                                  .is_free = is_free };
    struct unit_random random = unit_random_begin();
    bool there[NAMES] = { false };

    (void)state;
    for (int step = 0; step < 4000; step++) {
        unsigned number = (unsigned)(unit_random_next(&random) % NAMES);
        char name[MEMORY_NAME_SIZE], *entry;
        bool was_full = true;

        text_format(name, sizeof name, "n%u", number);
        entry = memory_table_find(&table, name);
        assert_int_equal(entry != NULL, there[number]);
        for (uint32_t i = 0; i < ROOM; i++)
            was_full = was_full && i < count && !is_free(entries[i]);
        entry = memory_table_have(&table, name);
        assert_int_equal(entry == NULL, was_full && !there[number]);
        if (entry)
            assert_string_equal(entry, name);
        memset(there, 0, sizeof there);
        for (uint32_t i = 0; i < count; i++)
            there[strtoul(entries[i] + 1, NULL, 10)] = true;
        /* some are not needed any more */
        if (count > 0 && unit_random_next(&random) % 3 == 0)
            entries[unit_random_next(&random) % count][MEMORY_NAME_SIZE - 1] = 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_fleet_is_as_large_as_its_hellos_weigh),
        cmocka_unit_test(test_what_has_no_room_is_refused),
        cmocka_unit_test(test_hello_tells_what_was_done),
        cmocka_unit_test(test_what_is_older_than_the_retention_is_forgotten),
        cmocka_unit_test(test_the_configuration_seen_longest_ago_gives_way),
        cmocka_unit_test(test_a_configuration_ends_with_those_who_had_it),
        cmocka_unit_test(test_a_table_finds_what_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
