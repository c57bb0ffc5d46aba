/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include "supervisor/past.h"

#include <string.h>

#define NOW ((struct boot){ 1000 })

struct bench {
    struct job_spec spec;
    struct job job;
    struct past *past;
    struct advice advice;
};

static void begin(struct bench *b)
{
    *b = (struct bench){ .spec.timing = { .worst_case_ms = 10 * MINUTE_MS,
                                          .stop_grace_ms = 5 * SECOND_MS,
                                          .command_timeout_ms = 3 * SECOND_MS,
                                          .connect_timeout_ms = 10 * SECOND_MS,
                                          .lease_cap_ms = MINUTE_MS },
                         .past = past_new() };
    assert_non_null(b->past);
    b->job.spec = &b->spec;
    b->job.lease.attempt = 1;
}

static bool take(struct bench *b, struct report r)
{
    assert_true(past_wants(r.kind));
    return past_take(b->past, &b->job, &r, NOW, &b->advice);
}

static bool end(struct bench *b, enum outcome outcome, int64_t ran_ms, const char *text)
{
    b->job.turn.ms += MINUTE_MS;
    return take(b, (struct report){
                       .kind = REPORT_ENDED, .outcome = outcome, .ran_ms = ran_ms, .text = text });
}

static void test_last_runs(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    for (int i = 1; i <= 6; i++) {
        b.job.lease.attempt = (uint32_t)i;
        end(&b, i == 5 ? OUTCOME_SUCCEEDED : OUTCOME_FAILED, i * SECOND_MS,
            i == 4 ? "" : "no space");
    }
    for (int i = 0; i < PAST_RUNS; i++) {
        const struct past_run *run = &b.past->runs[i];

        assert_int_equal(run->turn.ms, (6 - i) * MINUTE_MS);
        assert_int_equal(run->ran_ms, (6 - i) * SECOND_MS);
        assert_int_equal(run->attempt, 6 - i);
    }
    assert_string_equal(b.past->runs[0].why, "no space");
    assert_int_equal(b.past->runs[1].outcome, OUTCOME_SUCCEEDED);
    assert_null(b.past->runs[1].why);
    assert_null(b.past->runs[2].why);
    past_free(b.past);
}

static void test_fewer_runs_than_places(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    end(&b, OUTCOME_CRASHED, 40, "killed by signal 11 (Segmentation fault)");
    assert_int_equal(b.past->runs[0].attempt, 1);
    assert_int_equal(b.past->runs[1].attempt, 0);
    past_free(b.past);
    past_free(NULL);
}

static void test_renewals_and_takeovers(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    take(&b, (struct report){ .kind = REPORT_TAKEOVER });
    take(&b, (struct report){ .kind = REPORT_RENEWED, .left_ms = 30000 });
    assert_int_equal(b.past->least_left_ms, 30000);
    take(&b, (struct report){ .kind = REPORT_REGAINED, .left_ms = -20 });
    take(&b, (struct report){ .kind = REPORT_RENEWED, .left_ms = 34000 });
    assert_int_equal(b.past->renewals, 3);
    assert_int_equal(b.past->least_left_ms, -20);
    assert_int_equal(b.past->takeovers, 1);
    assert_int_equal(b.past->runs[0].attempt, 0);
    past_free(b.past);
}

/* Only success says how long a healthy run takes. */
static void test_advice(void **state)
{
    struct bench b;

    (void)state;
    begin(&b);
    for (enum outcome o = 0; o < OUTCOME_COUNT; o++)
        if (o != OUTCOME_SUCCEEDED)
            assert_false(end(&b, o, 9 * MINUTE_MS, ""));
    assert_int_equal(digest_runs(&b.past->times), 0);
    assert_true(end(&b, OUTCOME_SUCCEEDED, 9 * MINUTE_MS, ""));
    assert_int_equal(b.advice.kind, ADVICE_SHORT);
    assert_int_equal(b.advice.value_ms, 15 * MINUTE_MS);
    assert_int_equal(b.past->advice.kind, ADVICE_SHORT);
    assert_false(end(&b, OUTCOME_SUCCEEDED, 9 * MINUTE_MS, ""));
    past_free(b.past);
}

/* A run that had nothing to do counts; one that was stopped does not. */
static void test_the_newest_success(void **state)
{
    struct bench b;

    (void)state;
    for (enum outcome o = 0; o < OUTCOME_COUNT; o++) {
        begin(&b);
        end(&b, o, SECOND_MS, "");
        assert_int_equal(b.past->done.ms,
                         o == OUTCOME_SUCCEEDED || o == OUTCOME_NOTHING ? NOW.ms : 0);
        past_free(b.past);
    }
}

/* The newest words, in so many bytes at most; a new run has said nothing yet. */
static void test_progress(void **state)
{
    char words[1000];
    struct bench b;

    (void)state;
    begin(&b);
    past_progress(b.past, 714, "part 5 of 7");
    assert_int_equal(b.past->permille, 714);
    assert_string_equal(b.past->progress, "part 5 of 7");
    memset(words, 'x', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    past_progress(b.past, -1, words);
    assert_int_equal(b.past->permille, -1);
    assert_int_equal(strlen(b.past->progress), 255);
    past_progress(b.past, -1, "");
    assert_null(b.past->progress);
    past_free(b.past);
}

static void test_what_else_is_reported_is_not_wanted(void **state)
{
    (void)state;
    assert_false(past_wants(REPORT_STATE));
    assert_false(past_wants(REPORT_PASSED));
    assert_false(past_wants(REPORT_STARTED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_runs),
        cmocka_unit_test(test_fewer_runs_than_places),
        cmocka_unit_test(test_renewals_and_takeovers),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_the_newest_success),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_what_else_is_reported_is_not_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
