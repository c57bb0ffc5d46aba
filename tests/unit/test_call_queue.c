/* SPDX-License-Identifier: MIT */
#include "core/call_queue.h"
#include "unit.h"

static void test_oldest_first(void **state)
{
    struct call_queue q = { 0 };
    struct store_call calls[3] = { 0 };

    (void)state;
    assert_null(call_queue_pop(&q));
    for (size_t i = 0; i < 3; i++)
        call_queue_push(&q, &calls[i]);
    assert_int_equal(call_queue_count(&q), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(calls[i].state, CALL_QUEUED);
        assert_ptr_equal(call_queue_pop(&q), &calls[i]);
        assert_int_equal(calls[i].state, CALL_IDLE);
    }
    assert_null(call_queue_pop(&q));
    assert_null(q.last);
}

/* Whichever is taken out, the others keep their order, and one more comes behind them. */
static void test_any_can_be_taken_out(void **state)
{
    (void)state;
    for (size_t out = 0; out < 3; out++) {
        struct call_queue q = { 0 };
        struct store_call calls[4] = { 0 };

        for (size_t i = 0; i < 3; i++)
            call_queue_push(&q, &calls[i]);
        call_queue_remove(&q, &calls[out]);
        assert_int_equal(calls[out].state, CALL_IDLE);
        call_queue_push(&q, &calls[3]);
        assert_int_equal(call_queue_count(&q), 3);
        for (size_t i = 0; i < 4; i++)
            if (i != out)
                assert_ptr_equal(call_queue_pop(&q), &calls[i]);
        assert_null(call_queue_pop(&q));
    }
}

static void test_clear(void **state)
{
    struct call_queue q = { 0 };
    struct store_call calls[2] = { 0 };

    (void)state;
    call_queue_clear(&q);
    for (size_t i = 0; i < 2; i++)
        call_queue_push(&q, &calls[i]);
    call_queue_clear(&q);
    assert_int_equal(call_queue_count(&q), 0);
    assert_int_equal(calls[0].state, CALL_IDLE);
    assert_int_equal(calls[1].state, CALL_IDLE);
    call_queue_push(&q, &calls[1]);
    assert_ptr_equal(call_queue_pop(&q), &calls[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oldest_first),
        cmocka_unit_test(test_any_can_be_taken_out),
        cmocka_unit_test(test_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
