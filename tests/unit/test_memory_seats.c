/* SPDX-License-Identifier: MIT
 * The in-memory store's seats where no Redis can be asked: the caller's arrays and their ends. That
 * it answers as the scripts do is shown by integration/test_memory_store.py. */
#include "core/memory_seats.h"
#include "unit.h"

#include "base/text.h"
#include "base/units.h"
#include <string.h>

#define T INT64_C(1700000000000)
#define PERIOD HOUR_MS
#define LEASE (10 * SECOND_MS)
#define TOKEN "a:00000000000000000000000000000001"
#define DEVICES 4
#define SEATS 2

static const struct job_spec one_seat = {
    .name = "update",
    .key = "update",
    .scope = SCOPE_DEVICE,
    .concurrency = 1,
    .attempts = 1,
    .timing = { .lease_ms = LEASE },
    .retry_delay_ms = SECOND_MS,
    .retention_ms = DAY_MS,
    .stop_after_failures = 2,
    .fingerprint = "ffffffff",
    .schedule_print = "aaaaaaaa",
};

struct store {
    struct memory_lock lock;
    struct memory_pause pause;
    struct memory_texts texts;
    struct memory_claim record;
    struct memory_seats seats;
    struct memory_seat seat_room[SEATS];
    struct memory_device device_room[DEVICES];
    uint32_t by_name[DEVICES], queue[DEVICES];
    struct job_spec spec;
    bool due; /* else by hand, so that no first sight is in the way */
};

static void begin(struct store *s)
{
    memset(s, 0, sizeof *s);
    s->spec = one_seat;
    s->record = (struct memory_claim){
        .lock = &s->lock, .pause = &s->pause, .seats = &s->seats, .texts = &s->texts
    };
    s->seats.room = (struct memory_room){ .seats = s->seat_room,
                                          .seats_max = SEATS,
                                          .devices = s->device_room,
                                          .by_name = s->by_name,
                                          .queue = s->queue,
                                          .devices_max = DEVICES };
}

/* By the schedule, for a turn that is none any more where it fell due more than a period ago. */
static struct store_reply ask_for(struct store *s, int64_t now, int64_t turn)
{
    struct store_request request = { .verb = STORE_ACQUIRE,
                                     .job = &s->spec,
                                     .token = "gate-1:a",
                                     .device = "gate-1",
                                     .boot = "b",
                                     .turn = { turn },
                                     .next = { turn + PERIOD },
                                     .ttl_ms = LEASE,
                                     .fresh_ms = PERIOD };
    struct store_reply reply = { 0 };

    memory_answer(&s->record, (struct wall){ now }, &request, &reply);
    return reply;
}

static struct store_reply ask(struct store *s, int64_t now, const char *device, const char *token)
{
    struct store_request request = { .verb = STORE_ACQUIRE,
                                     .job = &s->spec,
                                     .token = token,
                                     .device = device,
                                     .boot = "b",
                                     .ttl_ms = LEASE,
                                     .fresh_ms = DAY_MS };
    struct store_reply reply = { 0 };

    if (s->due) {
        request.turn.ms = T;
        request.next.ms = T + PERIOD;
    }
    memory_answer(&s->record, (struct wall){ now }, &request, &reply);
    return reply;
}

static struct store_reply finish(struct store *s, int64_t now, const char *device,
                                 const char *token, enum outcome outcome)
{
    struct store_request request = { .verb = STORE_FINISH,
                                     .job = &s->spec,
                                     .token = token,
                                     .device = device,
                                     .boot = "b",
                                     .turn = { T },
                                     .attempt = 1,
                                     .outcome = outcome,
                                     .detail = "",
                                     .clean = true };
    struct store_reply reply = { 0 };

    memory_answer(&s->record, (struct wall){ now }, &request, &reply);
    assert_int_equal(reply.status, STORE_ANSWERED);
    return reply;
}

static void assert_no_room(const struct store_reply *reply)
{
    assert_int_equal(reply->status, STORE_ERROR);
    assert_int_equal(reply->fault, FAULT_STORAGE);
    assert_non_null(reply->error);
}

/* A question that was sent long ago comes first: the turn behind it is old as well. */
static void test_after_a_late_first_sight_newer_turns_wait(void **state)
{
    int64_t now = T + PERIOD + MINUTE_MS;
    struct store s;

    (void)state;
    begin(&s);
    assert_string_equal(ask_for(&s, now, T).acquire.why, "assumed");
    assert_int_equal(ask_for(&s, now + 1, T + PERIOD).acquire.answer, ACQUIRE_WAIT);
    assert_int_equal(ask_for(&s, now + LEASE, T + PERIOD).acquire.answer, ACQUIRE_GRANTED);
}

/* The record is gone, and so may be those of others who still run. */
static void test_after_an_end_that_was_told_to_lost_data_turns_wait(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    finish(&s, T + 1, "gate-1", "gate-1:old", OUTCOME_SUCCEEDED);
    assert_string_equal(ask_for(&s, T + 2, T + 2).acquire.why, "blank");
    assert_int_equal(ask_for(&s, T + LEASE, T + 2).acquire.answer, ACQUIRE_WAIT);
    assert_int_equal(ask_for(&s, T + LEASE + 1, T + 2).acquire.answer, ACQUIRE_GRANTED);
}

static void test_the_queue_is_in_order(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    assert_int_equal(ask(&s, T, "d", "d:1").acquire.answer, ACQUIRE_GRANTED);
    assert_int_equal(ask(&s, T + 1, "b", "b:1").acquire.answer, ACQUIRE_FULL);
    assert_int_equal(ask(&s, T + 2, "a", "a:1").acquire.watch, 2);
    assert_int_equal(ask(&s, T + 3, "c", "c:1").acquire.watch, 3);
    assert_int_equal(ask(&s, T + 4, "b", "b:2").acquire.watch, 1);
    finish(&s, T + 5, "d", "d:1", OUTCOME_SUCCEEDED);
    assert_int_equal(ask(&s, T + 6, "c", "c:2").acquire.answer, ACQUIRE_FULL);
    /* overtaken by one, where there is one seat */
    assert_int_equal(ask(&s, T + 7, "a", "a:2").acquire.answer, ACQUIRE_GRANTED);
    assert_int_equal(ask(&s, T + 8, "c", "c:3").acquire.watch, 2);
}

static void test_a_device_that_is_one_too_many_is_refused(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    struct store s;
    struct store_reply reply;

    (void)state;
    begin(&s);
    for (size_t i = 0; i < DEVICES; i++)
        assert_int_equal(ask(&s, T + (int64_t)i, names[i], names[i]).status, STORE_ANSWERED);
    reply = ask(&s, T + DEVICES, "e", "e:1");
    assert_no_room(&reply);
    assert_int_equal(s.seats.queued, DEVICES - 1);

    /* until another was not heard of for the retention */
    reply = ask(&s, T + DAY_MS + MINUTE_MS, "e", "e:2");
    assert_int_equal(reply.acquire.answer, ACQUIRE_GRANTED);
    assert_int_equal(ask(&s, T + DAY_MS + MINUTE_MS, "a", "a").acquire.answer, ACQUIRE_FULL);
}

static void test_a_seat_that_is_one_too_many_is_refused(void **state)
{
    struct store s;
    struct memory_seats before;
    struct store_reply reply;

    (void)state;
    begin(&s);
    s.spec.concurrency = DEVICES;
    ask(&s, T, "a", "a:1");
    ask(&s, T, "b", "b:1");
    before = s.seats;
    reply = ask(&s, T, "c", "c:1");
    assert_no_room(&reply);
    assert_int_equal(s.seats.seats, SEATS);
    assert_string_equal(s.seats.by, before.by);
    assert_int_equal(s.device_room[2].state, MEMORY_NONE);
    finish(&s, T + 1, "a", "a:1", OUTCOME_SUCCEEDED);
    assert_int_equal(ask(&s, T + 2, "c", "c:1").acquire.answer, ACQUIRE_GRANTED);
}

static void test_the_brake_pauses_and_resume_counts_anew(void **state)
{
    struct store_request resume = { .verb = STORE_RESUME };
    struct store s;
    struct store_reply reply;

    (void)state;
    begin(&s);
    resume.job = &s.spec;
    s.due = true;
    s.spec.stop_after_failures = 1;
    assert_int_equal(ask(&s, T, "a", "a:1").acquire.answer, ACQUIRE_WAIT);
    assert_int_equal(ask(&s, T + LEASE, "a", "a:1").acquire.answer, ACQUIRE_GRANTED);
    assert_true(finish(&s, T + LEASE + 1, "a", "a:1", OUTCOME_FAILED).finish.stopped);
    reply = ask(&s, T + LEASE + 2, "b", "b:1");
    assert_int_equal(reply.acquire.answer, ACQUIRE_PAUSED);
    assert_int_equal(reply.acquire.left_ms, -1);
    assert_string_equal(reply.acquire.why, "rota: stopped after 1 failure; last: a, failed");
    memory_answer(&s.record, (struct wall){ T + LEASE + 3 }, &resume, &reply);
    assert_string_equal(reply.pause.before, "rota: stopped after 1 failure; last: a, failed");
    assert_int_equal(s.seats.fails, 0);
    assert_string_equal(ask(&s, T + LEASE + 4, "b", "b:1").acquire.why, "paused");
    resume.resume.catch_up = true;
    memory_answer(&s.record, (struct wall){ T + LEASE + 5 }, &resume, &reply);
    assert_string_equal(ask(&s, T + LEASE + 6, "b", "b:1").acquire.why, "blank");
}

static void test_a_seat_keeps_the_other_scope_away(void **state)
{
    struct store s;
    struct store_reply reply;

    (void)state;
    begin(&s);
    ask(&s, T, "a", "a:1");
    s.spec.scope = SCOPE_FLEET;
    reply = ask(&s, T + 1, "b", "b:1");
    assert_int_equal(reply.acquire.answer, ACQUIRE_MISMATCH);
    assert_string_equal(reply.acquire.holder, "a:1");
    assert_string_equal(ask(&s, T + LEASE, "b", "b:1").acquire.why, "");
    assert_string_equal(memory_holder(&s.lock, (struct wall){ T + LEASE }), "b:1");
}

/* Who has it may still run: for one lease more, and no longer. */
static void test_a_clock_set_back_lets_no_scope_beside_the_other(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    ask(&s, T + DAY_MS, "a", "a:1");
    s.spec.scope = SCOPE_FLEET;
    assert_int_equal(ask(&s, T, "b", "b:1").acquire.answer, ACQUIRE_MISMATCH);
    assert_int_equal(ask(&s, T + LEASE, "b", "b:1").acquire.answer, ACQUIRE_GRANTED);

    begin(&s);
    s.spec.scope = SCOPE_FLEET;
    ask(&s, T + DAY_MS, "a", TOKEN);
    s.spec.scope = SCOPE_DEVICE;
    assert_int_equal(ask(&s, T, "b", "b:1").acquire.answer, ACQUIRE_MISMATCH);
    assert_int_equal(ask(&s, T + LEASE + 1, "b", "b:1").acquire.answer, ACQUIRE_GRANTED);
}

/* The claim has had no turn of fleet scope, only that of a seat, which lies ahead. */
static void test_what_is_no_record_is_void_and_still_seen_for_the_first_time(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    s.record.done.ms = T + DAY_MS;
    s.record.expires.ms = T + 2 * DAY_MS;
    s.spec.scope = SCOPE_FLEET;
    assert_int_equal(ask_for(&s, T - 1, T).acquire.answer, ACQUIRE_EARLY);
    assert_string_equal(ask_for(&s, T + 1, T).acquire.why, "blank");
    assert_int_equal(s.record.done.ms, 0);
}

static void test_whose_the_claim_was_is_told_after_it_was_taken(void **state)
{
    struct store s;
    struct store_reply reply;

    (void)state;
    begin(&s);
    s.spec.scope = SCOPE_FLEET;
    ask(&s, T, "a", "a:1");
    finish(&s, T + 1, "a", "a:1", OUTCOME_SUCCEEDED);
    text_copy(s.spec.fingerprint, sizeof s.spec.fingerprint, "eeeeeeee");
    reply = ask(&s, T + 2, "b", "b:1");
    assert_int_equal(reply.acquire.answer, ACQUIRE_GRANTED);
    assert_string_equal(reply.acquire.print, "ffffffff");
    assert_string_equal(reply.acquire.printer, "a:1");

    s.record.texts = NULL;
    text_copy(s.spec.fingerprint, sizeof s.spec.fingerprint, "dddddddd");
    assert_string_equal(ask(&s, T + 3, "c", "c:1").acquire.print, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after_a_late_first_sight_newer_turns_wait),
        cmocka_unit_test(test_after_an_end_that_was_told_to_lost_data_turns_wait),
        cmocka_unit_test(test_the_queue_is_in_order),
        cmocka_unit_test(test_a_device_that_is_one_too_many_is_refused),
        cmocka_unit_test(test_a_seat_that_is_one_too_many_is_refused),
        cmocka_unit_test(test_the_brake_pauses_and_resume_counts_anew),
        cmocka_unit_test(test_a_seat_keeps_the_other_scope_away),
        cmocka_unit_test(test_a_clock_set_back_lets_no_scope_beside_the_other),
        cmocka_unit_test(test_what_is_no_record_is_void_and_still_seen_for_the_first_time),
        cmocka_unit_test(test_whose_the_claim_was_is_told_after_it_was_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
