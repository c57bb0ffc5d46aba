/* SPDX-License-Identifier: MIT
 * A quorum's round, answer by answer: what a grant is made of, what is given back, the other verbs,
 * time; and what a job makes of answers that only a quorum gives. */
#include "core/quorum.h"
#include "support/bench.h"
#include <string.h>

#define ALPHA "alpha:00000000000000000000000000000001"
#define BRAVO "bravo:00000000000000000000000000000002"
#define SENT ((struct boot){ 1000 })

static const struct store_request question = { .verb = STORE_ACQUIRE,
                                               .token = ALPHA,
                                               .turn = { 500 } };

/* --- single answers --- */

struct table {
    struct quorum_clock clock;
    struct quorum_round round;
    struct store_reply merged;
};

static void begin(struct table *t, unsigned servers, const struct store_request *request)
{
    quorum_init(&t->round, &t->clock, &(struct quorum_asked){ servers, (1U << servers) - 1, SENT },
                request);
}

static bool take(struct table *t, unsigned i, struct store_reply reply)
{
    if (reply.received.ms == 0)
        reply.received = boot_add(SENT, 20);
    if (reply.sent.ms == 0)
        reply.sent = SENT;
    if (reply.server.ms == 0)
        reply.server.ms = 1700000000000;
    return quorum_take(&t->round, i, &reply, &t->merged);
}

static struct store_reply granted(int64_t turn_ms, uint32_t attempt)
{
    return (struct store_reply){ .acquire = { .answer = ACQUIRE_GRANTED,
                                              .turn = { turn_ms },
                                              .attempt = attempt,
                                              .fence = 9,
                                              .holder = "",
                                              .why = "",
                                              .print = "",
                                              .printer = "" } };
}

/* By hand each server's now is the turn, and one may be a day ahead; the tries are the most that
 * any has counted. */
static void test_turns_and_tries_of_a_grant(void **state)
{
    struct table t = { 0 };

    (void)state;
    begin(&t, 3, &question);
    assert_false(take(&t, 0, granted(86401000, 1)));
    assert_true(take(&t, 2, granted(1000, 3)));
    assert_int_equal(t.merged.acquire.turn.ms, 1000);
    assert_int_equal(t.merged.acquire.attempt, 3);
    begin(&t, 5, &question);
    assert_false(take(&t, 0, granted(3000, 2)));
    assert_false(take(&t, 1, granted(1000, 1)));
    assert_true(take(&t, 2, granted(2000, 1)));
    assert_int_equal(t.merged.acquire.turn.ms, 2000);
    assert_int_equal(t.merged.acquire.attempt, 2);
}

/* A grant that comes after the decision is given back, with the attempt that that server counts. */
static void test_late_grant(void **state)
{
    struct store_reply held = {
        .acquire = { .answer = ACQUIRE_HELD, .holder = BRAVO, .left_ms = 10, .why = "" }
    };
    struct table t = { 0 };
    struct wall turn;
    uint32_t attempt;

    (void)state;
    begin(&t, 3, &question);
    assert_false(take(&t, 0, held));
    assert_true(take(&t, 1, held));
    assert_int_equal(t.merged.acquire.answer, ACQUIRE_HELD);
    assert_true(t.merged.spent); /* the third may grant it yet */
    assert_false(quorum_gives_back(&t.round, 2, &attempt, &turn));
    assert_true(quorum_is_out(&t.round, 2));
    assert_false(take(&t, 2, granted(500, 4)));
    assert_true(quorum_gives_back(&t.round, 2, &attempt, &turn));
    assert_int_equal(attempt, 4);
    assert_false(quorum_gives_back(&t.round, 0, &attempt, &turn));
}

/* Nobody was granted anything, and nobody may be: the token stays, and its place is kept. */
static void test_a_token_that_nobody_took(void **state)
{
    struct store_reply held = {
        .acquire = { .answer = ACQUIRE_HELD, .holder = BRAVO, .left_ms = 10, .why = "", .watch = 4 }
    };
    struct table t = { 0 };

    (void)state;
    quorum_init(&t.round, &t.clock, &(struct quorum_asked){ 3, 3, SENT }, &question);
    assert_false(take(&t, 0, held));
    held.acquire.watch = 2;
    assert_true(take(&t, 1, held));
    assert_false(t.merged.spent);
    assert_int_equal(t.merged.acquire.watch, 2);
    assert_string_equal(t.merged.acquire.holder, BRAVO);
}

/* The earliest of what is called done, and no reason of a single server's. */
static void test_done_without_a_token(void **state)
{
    struct store_reply done = {
        .acquire = { .answer = ACQUIRE_DONE, .turn = { 900 }, .holder = "", .why = "assumed" }
    };
    struct table t = { 0 };

    (void)state;
    begin(&t, 3, &question);
    assert_false(take(&t, 0, done));
    done.acquire.turn.ms = 500;
    done.acquire.why = "";
    assert_true(take(&t, 1, done));
    assert_int_equal(t.merged.acquire.turn.ms, 500);
    assert_string_equal(t.merged.acquire.why, "");
}

/* --- the other verbs --- */

enum say { SAY_YES, SAY_OTHERWISE, SAY_NO, SAY_LOST, SAY_ERROR, SAY_ABSENT, SAY_COUNT };

static struct store_reply renewal(enum say say)
{
    struct store_reply reply = { .sent = SENT, .received = { 1010 }, .server = { 1700000000000 } };

    reply.renew.answer = say == SAY_YES         ? RENEW_RENEWED
                         : say == SAY_OTHERWISE ? RENEW_REGAINED
                                                : RENEW_LOST;
    reply.renew.left_ms = say == SAY_YES ? 700 : 0;
    reply.renew.why = say == SAY_NO ? BRAVO : "";
    if (say == SAY_LOST || say == SAY_ERROR)
        reply = (struct store_reply){ .status = say == SAY_LOST ? STORE_NO_ANSWER : STORE_ERROR,
                                      .fault = FAULT_BUSY,
                                      .received = { 1010 },
                                      .error = "busy" };
    return reply;
}

/* What the counts so far say: 'r'enewed, re'g'ained, 'l'ost, 'u'nknown, 'e'rror, or '?'. */
static char renewal_account(const unsigned *count, unsigned out, unsigned majority, bool can_lose)
{
    unsigned good = count[SAY_YES] + count[SAY_OTHERWISE];

    if (can_lose && count[SAY_NO] >= majority)
        return 'l';
    if (good >= majority)
        return count[SAY_YES] > 0 ? 'r' : 'g';
    if (good + out >= majority || (can_lose && count[SAY_NO] + out >= majority))
        return '?';
    return count[SAY_LOST] > 0 ? 'u' : 'e';
}

static char renewal_said(const struct store_reply *r)
{
    if (r->status == STORE_NO_ANSWER)
        return 'u';
    if (r->status == STORE_ERROR)
        return 'e';
    return r->renew.answer == RENEW_LOST ? 'l' : r->renew.answer == RENEW_RENEWED ? 'r' : 'g';
}

static void renew_all(unsigned servers, const unsigned *say)
{
    const struct store_request request = { .verb = STORE_RENEW, .token = ALPHA };
    unsigned count[SAY_COUNT] = { 0 }, out = 0, asked = 0, majority = servers / 2 + 1;
    struct table t = { 0 };
    char decided = '?';

    for (unsigned i = 0; i < servers; i++)
        if (say[i] != SAY_ABSENT) {
            asked |= 1U << i;
            out++;
        }
    if (out < majority)
        return;
    quorum_init(&t.round, &t.clock, &(struct quorum_asked){ servers, asked, SENT }, &request);
    for (unsigned i = 0; i < servers; i++) {
        char due;

        if (say[i] == SAY_ABSENT)
            continue;
        count[say[i]]++;
        due = renewal_account(count, --out, majority, true);
        if (!take(&t, i, renewal((enum say)say[i])))
            assert_true(decided != '?' || due == '?');
        else {
            assert_int_equal(decided, '?');
            decided = renewal_said(&t.merged);
            assert_int_equal(decided, due);
            assert_int_equal(t.merged.sent.ms, SENT.ms);
            assert_false(t.merged.spent);
        }
    }
    assert_int_not_equal(decided, '?');
}

static void test_renew(void **state)
{
    (void)state;
    for (unsigned servers = 3; servers <= 7; servers += 2) {
        unsigned say[QUORUM_SERVERS_MAX] = { 0 }, place = 0;

        while (place < servers) {
            renew_all(servers, say);
            for (place = 0; place < servers && ++say[place] == SAY_COUNT; place++)
                say[place] = 0;
        }
    }
}

static void test_finish(void **state)
{
    const struct store_request request = { .verb = STORE_FINISH, .token = ALPHA };
    struct store_reply held = { .finish = { .held = true, .gave_up = true } };
    struct store_reply not_held = { .finish = { .stopped = true } };
    struct store_reply error = { .status = STORE_ERROR, .fault = FAULT_STORAGE, .error = "full" };
    struct store_reply lost = { .status = STORE_NO_ANSWER, .fault = FAULT_LINK, .error = "gone" };
    struct table t = { 0 };

    (void)state;
    begin(&t, 3, &request);
    assert_false(take(&t, 0, held));
    assert_true(take(&t, 1, held));
    assert_true(t.merged.finish.held && t.merged.finish.gave_up);
    begin(&t, 3, &request);
    assert_false(take(&t, 0, held));
    assert_true(take(&t, 1, not_held));
    assert_true(!t.merged.finish.held && !t.merged.finish.gave_up && t.merged.finish.stopped);
    begin(&t, 5, &request);
    assert_false(take(&t, 0, held));
    assert_false(take(&t, 1, error));
    assert_false(take(&t, 2, not_held));
    assert_true(take(&t, 3, held));
    assert_true(t.merged.finish.held && t.merged.finish.gave_up);
    assert_false(take(&t, 4, lost));
    /* A minority that has recorded it is not enough; of two failures the graver is told. */
    begin(&t, 3, &request);
    assert_false(take(&t, 0, error));
    assert_false(take(&t, 1, held));
    assert_true(take(&t, 2, lost));
    assert_int_equal(t.merged.status, STORE_NO_ANSWER);
    assert_string_equal(t.merged.error, "gone");
    begin(&t, 3, &request);
    assert_false(take(&t, 0, error));
    assert_true(take(&t, 1, error));
    assert_int_equal(t.merged.status, STORE_ERROR);
    assert_int_equal(t.merged.fault, FAULT_STORAGE);
}

static void test_pause_and_texts(void **state)
{
    const struct store_request pause = { .verb = STORE_PAUSE }, get = { .verb = STORE_CONFIG_GET };
    const struct store_request hello = { .verb = STORE_HELLO };
    struct table t = { 0 };

    (void)state;
    begin(&t, 3, &pause);
    assert_false(take(&t, 0, (struct store_reply){ .pause.before = "anna: wait" }));
    assert_true(take(&t, 1, (struct store_reply){ .pause.before = "" }));
    assert_string_equal(t.merged.pause.before, "anna: wait");
    begin(&t, 3, &get);
    assert_true(take(&t, 2, (struct store_reply){ .config.text = "a text" }));
    assert_string_equal(t.merged.config.text, "a text");
    begin(&t, 3, &get);
    assert_false(take(&t, 0, (struct store_reply){ .config.text = "" }));
    assert_true(take(&t, 2, (struct store_reply){ .config.text = "" }));
    assert_string_equal(t.merged.config.text, "");
    begin(&t, 3, &hello);
    assert_false(take(&t, 0, (struct store_reply){ .hello = { .fleet = 4, .wanted = true } }));
    assert_true(take(&t, 1, (struct store_reply){ .hello = { .fleet = 5 } }));
    assert_true(t.merged.hello.wanted);
    assert_int_equal(t.merged.hello.fleet, 5);
}

/* --- time --- */

/* A server that is a day ahead leads nobody, nor one that is a day behind, once all were heard. */
static void test_time(void **state)
{
    const struct store_request clock = { .verb = STORE_CLOCK };
    const int64_t now = 1700000000000, day = 86400000;
    struct table t = { 0 };

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        int64_t off = turn == 0 ? day : -day;

        t = (struct table){ 0 };
        begin(&t, 3, &clock);
        assert_false(take(&t, 0, (struct store_reply){ .server = { now + off } }));
        assert_true(take(&t, 1, (struct store_reply){ .server = { now } }));
        assert_int_equal(t.merged.server.ms, turn == 0 ? now : now - day);
        assert_false(take(&t, 2, (struct store_reply){ .server = { now + 3 } }));
        begin(&t, 3, &clock);
        assert_false(take(&t, 0, (struct store_reply){ .server = { now + off } }));
        assert_true(take(&t, 2, (struct store_reply){ .server = { now + 3 } }));
        assert_int_equal(t.merged.server.ms, turn == 0 ? now + 3 : now);
    }
}

/* --- the job's side --- */

static void split(struct bench *b, int64_t left_ms)
{
    bench_refuse(b, ACQUIRE_SPLIT, left_ms, "");
}

/* Asked again later and later, by places and refusals that stay as they were. */
static void test_a_split_is_asked_again(void **state)
{
    static const int64_t waits[] = { 100, 200, 400, 800, 1600, 1600 };
    struct job_spec spec = bench_short_spec();
    struct bench b;
    struct boot at;

    (void)state;
    bench_begin(&b, &spec, true);
    bench_ask(&b);
    for (unsigned i = 0; i < COUNT_OF(waits); i++) {
        at = b.now;
        split(&b, 100);
        assert_int_equal(b.job.state, JOB_WATCHING);
        assert_int_equal(b.job.refusals, 0);
        assert_int_equal(b.job.counters.passed_held, 0);
        bench_to_tick(&b);
        assert_int_equal(boot_between(at, b.now), waits[i]);
        bench_send(&b, STORE_ACQUIRE);
    }
    bench_held(&b, 1000, BRAVO, 1);
    bench_to_tick(&b);
    bench_send(&b, STORE_ACQUIRE);
    at = b.now;
    split(&b, 100); /* the first in a row again */
    bench_to_tick(&b);
    assert_int_equal(boot_between(at, b.now), 100);
    bench_send(&b, STORE_ACQUIRE);
    bench_grant(&b, 1);
    assert_int_equal(b.job.state, JOB_STARTING);
    bench_done(&b);
}

static void reply_spent(struct bench *b, struct store_reply reply)
{
    reply.server = bench_server(b);
    reply.spent = true;
    fake_reply(&b->fake, reply, b->now);
}

/* What was given back is over: the next question has another token, whatever the answer was. */
static void test_a_spent_token_is_not_used_again(void **state)
{
    const struct store_reply held = { .acquire = { .answer = ACQUIRE_HELD,
                                                   .left_ms = 1000,
                                                   .holder = BRAVO,
                                                   .why = "",
                                                   .print = "",
                                                   .printer = "",
                                                   .watch = 1 } };
    const struct store_reply error = { .status = STORE_ERROR,
                                       .fault = FAULT_BUSY,
                                       .error = "busy" };
    struct job_spec spec = bench_short_spec();
    char token[TOKEN_SIZE];
    struct bench b;

    (void)state;
    bench_begin(&b, &spec, true);
    for (int way = 0; way < 3; way++) {
        bench_ask(&b);
        if (way == 2) /* unknown before */
            bench_no_answer(&b);
        if (way == 2)
            bench_send(&b, STORE_ACQUIRE);
        memcpy(token, b.fake.token, sizeof token);
        reply_spent(&b, way == 0 ? held : error);
        assert_int_equal(b.job.state, JOB_WATCHING);
        bench_to_tick(&b);
        bench_send(&b, STORE_ACQUIRE);
        assert_string_not_equal(b.fake.token, token);
        bench_refuse(&b, ACQUIRE_DONE, 0, "");
    }
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns_and_tries_of_a_grant),
        cmocka_unit_test(test_late_grant),
        cmocka_unit_test(test_a_token_that_nobody_took),
        cmocka_unit_test(test_done_without_a_token),
        cmocka_unit_test(test_renew),
        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_pause_and_texts),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_a_split_is_asked_again),
        cmocka_unit_test(test_a_spent_token_is_not_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
