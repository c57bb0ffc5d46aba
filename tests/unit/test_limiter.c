/* SPDX-License-Identifier: MIT
 * Which of many like lines are said, by the clock of the test. */
#include "base/limiter.h"
#include "unit.h"

#define SECOND INT64_C(1000)
#define WINDOW LIMITER_WINDOW_MS

static const struct boot start = { 5000 };

static struct boot at(int64_t ms)
{
    return boot_add(start, ms);
}

static bool says(struct limiter *l, uint64_t kind, int64_t ms)
{
    int64_t silence_ms;

    return limiter_ask(l, kind, false, at(ms), &silence_ms) == NULL;
}

static bool says_end(struct limiter *l, uint64_t kind, int64_t ms)
{
    int64_t silence_ms;

    return limiter_ask(l, kind, true, at(ms), &silence_ms) == NULL;
}

/* Uses up what is said at once. */
static void fill(struct limiter *l, uint64_t kind, int64_t ms)
{
    for (int i = 0; i < LIMITER_BURST; i++)
        assert_true(says(l, kind, ms));
}

static struct limiter_account *due(struct limiter *l, int64_t ms)
{
    return limiter_next(l, 0, 0, at(ms));
}

static void test_a_burst_then_a_count(void **state)
{
    struct limiter l = { 0 };
    struct limiter_account *a;

    (void)state;
    fill(&l, 7, 0);
    assert_int_equal(limiter_due(&l).ms, BOOT_NEVER.ms);
    for (int i = 1; i <= 25; i++)
        assert_false(says(&l, 7, i * SECOND));
    assert_int_equal(limiter_due(&l).ms, at(WINDOW).ms);
    assert_null(due(&l, WINDOW - 1));
    /* Whoever should tell it is late, and no number is lost. */
    assert_false(says(&l, 7, WINDOW + 1));
    a = due(&l, WINDOW + 1);
    assert_non_null(a);
    assert_int_equal(a->held, 26);
    assert_int_equal(a->since.ms, start.ms);
    limiter_told(a, at(WINDOW + 1));
    assert_int_equal(limiter_due(&l).ms, BOOT_NEVER.ms);
    assert_null(due(&l, WINDOW + 1));
}

/* The last line before a silence is known as that, in each window; an end never is. */
static void test_the_last_before_a_silence(void **state)
{
    struct limiter l = { 0 };
    int64_t silence_ms = 0;

    (void)state;
    for (int i = 1; i < LIMITER_BURST; i++)
        assert_null(limiter_ask(&l, 7, false, at(0), &silence_ms));
    assert_null(limiter_ask(&l, 7, true, at(0), &silence_ms));
    assert_int_equal(silence_ms, 0);
    assert_null(limiter_ask(&l, 7, false, at(0), &silence_ms));
    assert_int_equal(silence_ms, WINDOW);
    silence_ms = 0;
    assert_null(limiter_ask(&l, 7, true, at(0), &silence_ms));
    assert_non_null(limiter_ask(&l, 7, false, at(0), &silence_ms));
    assert_int_equal(silence_ms, 0);
    limiter_told(due(&l, WINDOW), at(WINDOW));
    assert_null(limiter_ask(&l, 7, false, at(WINDOW), &silence_ms));
    assert_int_equal(silence_ms, 2 * WINDOW);
}

/* Ten in ten minutes, for ever: nothing is lost of what is not fast. */
static void test_what_is_slow_is_always_said(void **state)
{
    struct limiter l = { 0 };

    (void)state;
    for (int64_t i = 0; i < 500; i++)
        assert_true(says(&l, 7, i * WINDOW / LIMITER_BURST));
}

static void test_another_kind_has_its_own_account(void **state)
{
    struct limiter l = { 0 };

    (void)state;
    fill(&l, 7, 0);
    assert_false(says(&l, 7, 1));
    assert_true(says(&l, 8, 1));
    assert_null(limiter_next(&l, UINT64_MAX, 8, BOOT_NEVER));
    assert_non_null(limiter_next(&l, UINT64_MAX, 7, BOOT_NEVER));
    assert_non_null(limiter_next(&l, ~UINT64_C(7), 0, BOOT_NEVER));
}

/* A line each second for two days. */
static void test_windows_grow_and_have_one_line_each(void **state)
{
    struct limiter l = { 0 };
    int said = 0, told = 0;
    int64_t last = 0, widest = 0;

    (void)state;
    for (int64_t ms = 0; ms < 48 * LIMITER_WINDOW_MAX_MS; ms += SECOND) {
        struct limiter_account *a = due(&l, ms);

        if (a) {
            widest = ms - last > widest ? ms - last : widest;
            last = ms;
            told++;
            limiter_told(a, at(ms));
        }
        said += says(&l, 1, ms);
    }
    assert_int_equal(widest, LIMITER_WINDOW_MAX_MS);
    assert_int_equal(said, LIMITER_BURST + told);
    assert_in_range(told, 45, 52);
}

static void test_quiet_makes_it_new(void **state)
{
    struct limiter l = { 0 };

    (void)state;
    fill(&l, 7, 0);
    assert_false(says(&l, 7, 1));
    limiter_told(due(&l, WINDOW), at(WINDOW));
    assert_true(says(&l, 7, WINDOW + 1));
    assert_false(says(&l, 7, 2 * WINDOW));
    limiter_told(due(&l, 3 * WINDOW), at(3 * WINDOW));
    /* This window is four times the first. */
    fill(&l, 7, 7 * WINDOW);
    assert_false(says(&l, 7, 7 * WINDOW));
}

/* An end is never hidden where its beginning was said, and never told where that was hidden. */
static void test_ends_go_with_their_beginnings(void **state)
{
    struct limiter l = { 0 };
    struct limiter_account *a;

    (void)state;
    assert_true(says_end(&l, 7, 0));
    for (int i = 0; i < LIMITER_BURST; i++) {
        assert_true(says(&l, 7, i));
        assert_true(says_end(&l, 7, i));
    }
    for (int i = 0; i < 5; i++) {
        assert_false(says(&l, 7, SECOND));
        assert_false(says_end(&l, 7, SECOND));
    }
    a = due(&l, WINDOW);
    assert_int_equal(a->held, 10);
    assert_true(a->held_over);
    limiter_told(a, at(WINDOW));
    assert_true(says(&l, 7, WINDOW + 1));
    assert_true(says_end(&l, 7, WINDOW + 2));
}

/* What was told last of it is that it began, so its end is news, however late. */
static void test_the_end_of_what_was_told_late(void **state)
{
    struct limiter l = { 0 };

    (void)state;
    fill(&l, 7, 0);
    assert_true(says_end(&l, 7, 1));
    assert_false(says(&l, 7, 2));
    limiter_told(due(&l, WINDOW), at(WINDOW));
    assert_true(says_end(&l, 7, WINDOW + 1));
    assert_false(says_end(&l, 7, WINDOW + 2));
    assert_true(says_end(&l, 7, 100 * WINDOW) || due(&l, 100 * WINDOW));
}

/* Where all accounts are taken, more is said, not less; a quiet one is taken anew. */
static void test_more_kinds_than_accounts(void **state)
{
    struct limiter l = { 0 };

    (void)state;
    for (uint64_t kind = 0; kind < LIMITER_ACCOUNTS; kind++)
        fill(&l, kind, 0);
    for (int i = 0; i < 3 * LIMITER_BURST; i++)
        assert_true(says(&l, LIMITER_ACCOUNTS, SECOND));
    assert_false(says(&l, 3, SECOND));
    fill(&l, LIMITER_ACCOUNTS, WINDOW);
    assert_false(says(&l, LIMITER_ACCOUNTS, WINDOW));
    assert_int_equal(due(&l, WINDOW)->kind, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_burst_then_a_count),
        cmocka_unit_test(test_the_last_before_a_silence),
        cmocka_unit_test(test_what_is_slow_is_always_said),
        cmocka_unit_test(test_another_kind_has_its_own_account),
        cmocka_unit_test(test_windows_grow_and_have_one_line_each),
        cmocka_unit_test(test_quiet_makes_it_new),
        cmocka_unit_test(test_ends_go_with_their_beginnings),
        cmocka_unit_test(test_the_end_of_what_was_told_late),
        cmocka_unit_test(test_more_kinds_than_accounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
