/* SPDX-License-Identifier: MIT
 * The in-memory store where no Redis can be asked. That it answers as the scripts do is shown by
 * integration/test_memory_store.py. */
#include "core/memory.h"
#include "unit.h"

#include "base/units.h"
#include <string.h>

#define T INT64_C(1700000000000)
#define PERIOD MINUTE_MS
#define LEASE (10 * SECOND_MS)

static const struct job_spec spec = {
    .name = "backup",
    .key = "backup",
    .schedule = { .every_ms = PERIOD },
    .timing = { .lease_ms = LEASE },
    .attempts = 3,
    .retry_delay_ms = SECOND_MS,
    .retention_ms = DAY_MS,
    .schedule_print = "aaaaaaaa",
};

struct store {
    struct memory_lock lock;
    struct memory_claim record;
};

static void begin(struct store *s)
{
    *s = (struct store){ .record = { .lock = &s->lock } };
}

static struct store_reply ask_as(struct memory_claim *r, const struct job_spec *job, int64_t now,
                                 int64_t turn, const char *token)
{
    struct store_request request = { .verb = STORE_ACQUIRE,
                                     .job = job,
                                     .token = token,
                                     .turn = { turn },
                                     .next = { turn + PERIOD },
                                     .ttl_ms = LEASE,
                                     .fresh_ms = LEASE,
                                     .first_ask = true };
    struct store_reply reply;

    memory_answer(r, (struct wall){ now }, &request, &reply);
    assert_int_equal(reply.status, STORE_ANSWERED);
    assert_int_equal(reply.server.ms, now);
    return reply;
}

static struct store_reply ask(struct memory_claim *r, int64_t now, int64_t turn, const char *token)
{
    return ask_as(r, &spec, now, turn, token);
}

static void test_assumed_is_as_asked_for_too_late(void **state)
{
    struct store assumed, asked;

    (void)state;
    begin(&assumed);
    begin(&asked);
    memory_assume(&assumed.record, (struct wall){ T + LEASE + 1 }, &spec, (struct wall){ T });
    assert_string_equal(ask(&asked.record, T + LEASE + 1, T, "a").acquire.why, "assumed");
    assert_int_equal(assumed.record.state, asked.record.state);
    assert_int_equal(assumed.record.turn.ms, asked.record.turn.ms);
    assert_int_equal(assumed.record.done.ms, asked.record.done.ms);
    assert_int_equal(assumed.record.expires.ms, asked.record.expires.ms);
    assert_memory_equal(assumed.record.schedules, asked.record.schedules,
                        sizeof asked.record.schedules);

    assert_int_equal(ask(&assumed.record, T + LEASE + 1, T, "a").acquire.answer, ACQUIRE_DONE);
    assert_int_equal(ask(&assumed.record, T + PERIOD, T + PERIOD, "a").acquire.answer,
                     ACQUIRE_GRANTED);
}

static void test_nothing_is_assumed_of_what_is_known(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    memory_assume(&s.record, (struct wall){ T }, &spec, (struct wall){ T });
    assert_int_equal(ask(&s.record, T + PERIOD, T + PERIOD, "a").acquire.answer, ACQUIRE_GRANTED);
    memory_assume(&s.record, (struct wall){ T + PERIOD }, &spec, (struct wall){ T + PERIOD });
    assert_string_equal(s.record.token, "a");
    assert_int_equal(s.record.done.ms, T);

    /* unless it was known too long ago */
    memory_assume(&s.record, (struct wall){ T + PERIOD + DAY_MS + 1 }, &spec,
                  (struct wall){ T + DAY_MS });
    assert_int_equal(s.record.state, MEMORY_ASSUMED);
    assert_int_equal(s.record.done.ms, T + DAY_MS);
}

static void test_lives_to_the_last_millisecond(void **state)
{
    struct store s;
    struct wall end = { T + PERIOD + LEASE };

    (void)state;
    begin(&s);
    memory_assume(&s.record, (struct wall){ T }, &spec, (struct wall){ T });
    ask(&s.record, T + PERIOD, T + PERIOD, "a");
    assert_string_equal(memory_holder(&s.lock, end), "a");
    assert_int_equal(ask(&s.record, end.ms, T + PERIOD, "b").acquire.left_ms, 0);
    end.ms++;
    assert_string_equal(memory_holder(&s.lock, end), "");
    assert_int_equal(ask(&s.record, end.ms, T + PERIOD, "b").acquire.attempt, 2);
}

static void test_what_was_seen_to_expire_is_gone_for_good(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    memory_assume(&s.record, (struct wall){ T }, &spec, (struct wall){ T });
    ask(&s.record, T + PERIOD, T + PERIOD, "a");
    ask(&s.record, T + PERIOD + LEASE + 1, T, "b");
    assert_string_equal(memory_holder(&s.lock, (struct wall){ T + PERIOD }), "");
}

static void test_two_jobs_share_a_lock_and_no_claim(void **state)
{
    struct store s;
    struct memory_claim other = { .lock = &s.lock };
    struct store_reply reply;

    (void)state;
    begin(&s);
    memory_assume(&s.record, (struct wall){ T }, &spec, (struct wall){ T });
    memory_assume(&other, (struct wall){ T }, &spec, (struct wall){ T });
    ask(&s.record, T + PERIOD, T + PERIOD, "a");
    reply = ask(&other, T + PERIOD + 1, T + PERIOD, "b");
    assert_int_equal(reply.acquire.answer, ACQUIRE_HELD);
    assert_string_equal(reply.acquire.holder, "a");
    assert_int_equal(reply.acquire.holder_turn.ms, 0);
    assert_int_equal(reply.acquire.left_ms, LEASE - 1);
}

/* Its last try vanishes after an earlier one has told its success: the next has all tries. */
static void test_a_turn_with_a_late_success_was_not_given_up(void **state)
{
    struct job_spec twice = spec;
    struct store_request end = { .verb = STORE_FINISH,
                                 .job = &twice,
                                 .token = "a",
                                 .turn = { T + PERIOD },
                                 .attempt = 1,
                                 .outcome = OUTCOME_SUCCEEDED,
                                 .clean = true };
    struct store_reply reply;
    struct store s;

    (void)state;
    begin(&s);
    twice.attempts = 2;
    memory_assume(&s.record, (struct wall){ T }, &twice, (struct wall){ T });
    ask_as(&s.record, &twice, T + PERIOD, T + PERIOD, "a");
    ask_as(&s.record, &twice, T + PERIOD + LEASE + 1, T + PERIOD, "b");
    memory_answer(&s.record, (struct wall){ T + PERIOD + LEASE + 2 }, &end, &reply);
    assert_int_equal(s.record.attempt, 2);
    reply = ask_as(&s.record, &twice, T + 2 * PERIOD, T + 2 * PERIOD, "c");
    assert_int_equal(reply.acquire.answer, ACQUIRE_GRANTED);
    assert_int_equal(s.record.streak, 0);
}

static void test_the_clock_needs_no_record(void **state)
{
    struct store_request request = { .verb = STORE_CLOCK };
    struct store_reply reply = { .sent = { 5 }, .received = { 6 } };

    (void)state;
    memory_answer(NULL, (struct wall){ T }, &request, &reply);
    assert_int_equal(reply.status, STORE_ANSWERED);
    assert_int_equal(reply.server.ms, T);
    assert_int_equal(reply.fault, FAULT_NONE);
    assert_int_equal(reply.sent.ms, 5);
    assert_int_equal(reply.received.ms, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assumed_is_as_asked_for_too_late),
        cmocka_unit_test(test_nothing_is_assumed_of_what_is_known),
        cmocka_unit_test(test_lives_to_the_last_millisecond),
        cmocka_unit_test(test_what_was_seen_to_expire_is_gone_for_good),
        cmocka_unit_test(test_two_jobs_share_a_lock_and_no_claim),
        cmocka_unit_test(test_a_turn_with_a_late_success_was_not_given_up),
        cmocka_unit_test(test_the_clock_needs_no_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
