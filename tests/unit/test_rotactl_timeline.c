/* SPDX-License-Identifier: MIT
 * What a picture shows: which due instants nobody ran, who took over from whom, which runs are the
 * same one, which lanes are left out, which runs are one bar. */
#include "rotactl/timeline/timeline_bars.h"
#include "rotactl/timeline/timeline_look.h"
#include "rotactl/timeline/timeline_view.h"
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <string.h>

#define M INT64_C(60000)

static const struct timeline_query all = { NULL, RUNS_NO_TIME, RUNS_NO_TIME, 1000 * M };

/* A run of job "a": times are minutes. */
static void add(struct runs *runs, const char *device, int64_t turn, int64_t attempt,
                const char *word, int64_t started, int64_t ended)
{
    struct run run = { .job = "a",
                       .device = device,
                       .word = word,
                       .detail = "",
                       .attempt = attempt,
                       .turn = turn * M,
                       .started = started < 0 ? RUNS_NO_TIME : started * M,
                       .ended = ended < 0 ? RUNS_NO_TIME : ended * M };

    assert_int_equal(runs_add(runs, &run), 0);
}

static void add_due(struct runs *runs, const char *job, int64_t minute)
{
    assert_int_equal(runs_add_due(runs, job, minute * M), 0);
}

static struct timeline view_of(const struct runs *runs, const struct timeline_query *query)
{
    struct timeline view;

    assert_int_equal(timeline_view_init(runs, query, &view), 0);
    return view;
}

static const struct timeline_run *find(const struct timeline_job *job, const char *device,
                                       int64_t minute)
{
    for (size_t i = 0; i < job->run_count; i++)
        if (strcmp(job->run[i].run->device, device) == 0 && job->run[i].from == minute * M)
            return &job->run[i];
    fail_msg("no run of %s from %" PRId64, device, minute);
    return NULL;
}

/* --- due instants --- */

/* A letter each: ran, missed, coming. */
static void assert_dues(const struct timeline_job *job, const char *states)
{
    assert_int_equal(job->due_count, strlen(states));
    for (size_t i = 0; i < job->due_count; i++)
        if ("rmc"[job->due[i].state] != states[i])
            fail_msg("due %zu at %" PRId64, i, job->due[i].at / M);
}

static void test_due_instants(void **state)
{
    struct timeline_query query = all;
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    query.now = 70 * M + 30000;
    for (int64_t minute = 0; minute <= 80; minute += 10)
        add_due(&runs, "a", minute);
    add_due(&runs, "a", 20); /* named twice */
    add(&runs, "d", 0, 1, "succeeded", 0, 5);
    add(&runs, "d", 10, 1, "failed", 10, 25); /* covers nothing */
    add(&runs, "d", 30, 1, "declined", 30, 31);
    add(&runs, "e", 30, 1, "unstarted", 31, 31);
    add(&runs, "e", 40, 1, "succeeded", 40, 55); /* covers 50 */
    view = view_of(&runs, &query);
    assert_int_equal(view.job_count, 1);
    /*                         0  10 20 30 40 50 60 70 80 */
    assert_dues(&view.job[0], "rrmmrrmcc");
    assert_int_equal(view.missed, 3);
    timeline_view_done(&view);
    runs_done(&runs);
}

static void test_a_run_that_goes_on_covers(void **state)
{
    struct timeline_query query = all;
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    query.now = 35 * M;
    for (int64_t minute = 0; minute <= 30; minute += 10)
        add_due(&runs, "a", minute);
    add(&runs, "d", 10, 1, "running", 10, -1);
    view = view_of(&runs, &query);
    assert_dues(&view.job[0], "mrrr");
    assert_int_equal(find(&view.job[0], "d", 10)->to, 35 * M);
    timeline_view_done(&view);
    runs_done(&runs);
}

static void test_without_a_schedule_turns_are_due_instants(void **state)
{
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    add(&runs, "d", 0, 1, "succeeded", 0, 5);
    add(&runs, "e", 30, 1, "failed", 30, 31);
    add(&runs, "e", 30, 2, "succeeded", 32, 33);
    add_due(&runs, "b", 3); /* another job's schedule is none of a's */
    view = view_of(&runs, &all);
    assert_int_equal(view.job_count, 2);
    assert_dues(&view.job[0], "rr");
    assert_dues(&view.job[1], "m");
    assert_int_equal(view.job[1].lane_count, 0);
    timeline_view_done(&view);
    runs_done(&runs);
}

/* --- takeovers --- */

static void test_takeover(void **state)
{
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    add(&runs, "d", 0, 1, "vanished", -1, 2);
    add(&runs, "e", 0, 2, "failed", 3, 4);
    add(&runs, "e", 0, 3, "succeeded", 5, 6); /* the same device again: none */
    add(&runs, "d", 10, 1, "declined", 10, 11);
    add(&runs, "e", 10, 1, "succeeded", 12, 13); /* with the attempt that was given back */
    view = view_of(&runs, &all);
    assert_int_equal(view.takeovers, 2);
    assert_ptr_equal(find(&view.job[0], "e", 3)->after, find(&view.job[0], "d", 2));
    assert_null(find(&view.job[0], "e", 5)->after);
    assert_ptr_equal(find(&view.job[0], "e", 12)->after, find(&view.job[0], "d", 10));
    assert_int_equal(find(&view.job[0], "e", 3)->lane, 1);
    timeline_view_done(&view);
    runs_done(&runs);
}

static void test_each_device_for_itself_is_no_takeover(void **state)
{
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    add(&runs, "d", 0, 1, "failed", 0, 1);
    add(&runs, "e", 0, 1, "succeeded", 0, 1);
    add(&runs, "d", 0, 2, "succeeded", 2, 3);
    add(&runs, "f", 0, 1, "succeeded", 5, 6);
    view = view_of(&runs, &all);
    assert_int_equal(view.takeovers, 0);
    timeline_view_done(&view);
    runs_done(&runs);
}

/* --- runs --- */

static void test_the_same_run_is_shown_once(void **state)
{
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    add(&runs, "d", 0, 1, "succeeded", 0, 5);
    add(&runs, "d", 0, 1, "running", 0, -1);
    add(&runs, "d", 0, 1, "vanished", -1, 3);
    add(&runs, "d", 0, 2, "succeeded", 6, 7);
    view = view_of(&runs, &all);
    assert_int_equal(view.job[0].run_count, 2);
    assert_int_equal(find(&view.job[0], "d", 0)->run->outcome, RUN_SUCCEEDED);
    assert_int_equal(view.outcomes[RUN_SUCCEEDED], 2);
    assert_int_equal(view.outcomes[RUN_VANISHED], 0);
    timeline_view_done(&view);
    runs_done(&runs);
}

static void test_clocks_that_are_off(void **state)
{
    struct timeline_query query = all;
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    query.now = 5 * M;
    add(&runs, "d", 0, 1, "succeeded", 9, 3);
    add(&runs, "e", 0, 2, "running", 8, -1); /* began later than now */
    view = view_of(&runs, &query);
    assert_int_equal(find(&view.job[0], "d", 3)->to, 3 * M);
    assert_int_equal(find(&view.job[0], "e", 8)->to, 8 * M);
    assert_true(view.since < view.until);
    timeline_view_done(&view);
    runs_done(&runs);
}

static void test_span_and_jobs(void **state)
{
    static const char *const jobs[] = { "a", NULL }, *const none[] = { "x", NULL };
    struct timeline_query query = { jobs, 20 * M, 40 * M, 1000 * M };
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    add_due(&runs, "b", 30);
    add(&runs, "d", 10, 1, "succeeded", 10, 21); /* reaches into it */
    add(&runs, "d", 5, 1, "succeeded", 5, 19);
    add(&runs, "d", 41, 1, "succeeded", 41, 42);
    view = view_of(&runs, &query);
    assert_int_equal(view.job_count, 1);
    assert_int_equal(view.job[0].run_count, 1);
    assert_int_equal(view.since, 20 * M);
    assert_int_equal(view.until, 40 * M);
    timeline_view_done(&view);
    query.jobs = none;
    assert_int_equal(timeline_view_init(&runs, &query, &view), -ENODATA);
    query = (struct timeline_query){ NULL, 100 * M, 200 * M, 1000 * M };
    assert_int_equal(timeline_view_init(&runs, &query, &view), -ENODATA);
    runs_done(&runs);
    assert_int_equal(timeline_view_init(&runs, &all, &view), -ENODATA);
}

static void test_lanes_are_in_the_order_of_people(void **state)
{
    static const char *const order[] = { "",         "gate",
                                         "gate-1",   "gate-01",
                                         "gate-2",   "gate-10",
                                         "gate-10a", "gate-18446744073709551616",
                                         "gatea" };
    struct runs runs = { 0 };
    struct timeline view;

    (void)state;
    for (size_t i = COUNT_OF(order); i-- > 0;)
        add(&runs, order[i], (int64_t)i, 1, "succeeded", 1, 2);
    view = view_of(&runs, &all);
    assert_int_equal(view.job[0].lane_count, COUNT_OF(order));
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        const char *device = view.job[0].lane[i].device;

        /* gate-1 and gate-01 are the same number, and yet two devices. */
        if (i == 2 || i == 3)
            assert_true(strcmp(device, i == 2 ? "gate-01" : "gate-1") == 0);
        else
            assert_string_equal(device, order[i]);
    }
    timeline_view_done(&view);
    runs_done(&runs);
}

static void test_the_worst_lanes_are_shown(void **state)
{
    struct runs runs = { 0 };
    struct timeline view;
    char name[32];

    (void)state;
    for (int i = 0; i < TIMELINE_LANES_MAX + 100; i++) {
        snprintf(name, sizeof name, "gate-%d", i);
        add(&runs, name, i, 1, i % 5 == 4 ? "failed" : "succeeded", i, i + 1);
    }
    view = view_of(&runs, &all);
    assert_int_equal(view.job[0].lane_count, TIMELINE_LANES_MAX);
    assert_int_equal(view.job[0].hidden_lanes, 100);
    assert_int_equal(view.job[0].hidden_runs, 100);
    for (size_t i = 0; i < view.job[0].run_count; i++) {
        const struct timeline_run *r = &view.job[0].run[i];

        if (r->lane == TIMELINE_HIDDEN)
            assert_int_equal(r->run->outcome, RUN_SUCCEEDED);
        else
            assert_string_equal(view.job[0].lane[r->lane].device, r->run->device);
    }
    timeline_view_done(&view);
    runs_done(&runs);
}

/* --- bars --- */

static void test_narrow_runs_are_joined(void **state)
{
    /* 1,000 units of a minute. */
    struct timeline_query query = { NULL, 0, 1000 * M, 1000 * M };
    struct timeline_axis axis = { 0, 1000 * M, 1000 };
    struct runs runs = { 0 };
    struct timeline_bars bars;
    struct timeline_bar bar;
    struct timeline view;

    (void)state;
    for (int i = 0; i < 10; i++) /* in 100 ... 109 */
        add(&runs, "d", 100 + i, 1, i == 3 ? "crashed" : "succeeded", 100 + i, 101 + i);
    add(&runs, "d", 120, 1, "succeeded", 120, 121); /* too far from them */
    add(&runs, "d", 200, 1, "failed", 200, 300);
    add(&runs, "d", 201, 1, "succeeded", 201, 202); /* hidden by it, and yet no part of it */
    view = view_of(&runs, &query);
    bars = (struct timeline_bars){ .axis = &axis,
                                   .run = view.job[0].lane[0].run,
                                   .end = view.job[0].lane[0].run + view.job[0].lane[0].count,
                                   .narrow = 5,
                                   .least = 15 };
    assert_true(timeline_bars_next(&bars, &bar));
    assert_int_equal(bar.count, 10);
    assert_int_equal(bar.from, 100);
    assert_int_equal(bar.to, 115);
    assert_int_equal(bar.commonest, RUN_SUCCEEDED);
    assert_int_equal(bar.worst, RUN_CRASHED);
    assert_int_equal(bar.until, 110 * M);
    assert_true(timeline_bars_next(&bars, &bar));
    assert_int_equal(bar.from, 120);
    assert_true(timeline_bars_next(&bars, &bar));
    assert_int_equal(bar.count, 1);
    assert_int_equal(bar.to, 300);
    assert_true(timeline_bars_next(&bars, &bar));
    assert_int_equal(bar.count, 1);
    assert_int_equal(bar.from, 201);
    assert_false(timeline_bars_next(&bars, &bar));
    timeline_view_done(&view);
    runs_done(&runs);
}

/* --- names --- */

static void check_name(const char *name, int columns, bool utf8, const char *expected)
{
    char shown[128];
    int width = timeline_look_name(shown, sizeof shown, name, columns, utf8);

    assert_string_equal(shown, expected);
    assert_true(width <= columns);
}

/* Its bytes are many more than its columns. */
static void test_a_name_of_many_bytes(void **state)
{
    char name[2 + 2 * 128 + 1] = "ab", shown[512], narrow[260] = "";

    (void)state;
    for (size_t i = 0; i < 128; i++)
        strcat(name, "\xcc\x81");
    assert_int_equal(timeline_look_name(shown, sizeof shown, name, 26, true), 2);
    assert_string_equal(shown, name);
    /* Where it is cut within a character, what stands behind its end is no part of it. */
    memset(narrow + 256, 'x', 3);
    assert_int_equal(timeline_look_name(narrow, 256, name, 26, true), 3);
}

static void test_names(void **state)
{
    (void)state;
    check_name("gate-0007", 10, true, "gate-0007");
    check_name("a-long-name-0007", 10, true, "a-lo..0007");
    check_name("gr\xc3\xbc\xc3\x9f", 10, true, "gr\xc3\xbc\xc3\x9f");
    check_name("gr\xc3\xbc\xc3\x9f", 10, false, "gr??");
    check_name("\x1b[2J", 10, true, "\\x1b[2J");
    /* Characters of two columns, and of none. */
    check_name("\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac", 8, true,
               "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac");
    check_name("\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac", 6, true,
               "\xe6\x97\xa5..\xe6\x9c\xac");
    check_name("e\xcc\x81", 1, true, "e\xcc\x81");
}

static void test_every_outcome_looks_different(void **state)
{
    (void)state;
    for (enum run_outcome a = 0; a < RUN_OUTCOMES; a++)
        for (enum run_outcome b = 0; b < a; b++) {
            const struct timeline_look *x = timeline_look(a), *y = timeline_look(b);

            assert_int_not_equal(x->letter, y->letter);
            assert_string_not_equal(x->block, y->block);
            /* Not by colour alone. */
            assert_true(strcmp(x->hatch, y->hatch) != 0 || strcmp(x->mark, y->mark) != 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_instants),
        cmocka_unit_test(test_a_run_that_goes_on_covers),
        cmocka_unit_test(test_without_a_schedule_turns_are_due_instants),
        cmocka_unit_test(test_takeover),
        cmocka_unit_test(test_each_device_for_itself_is_no_takeover),
        cmocka_unit_test(test_the_same_run_is_shown_once),
        cmocka_unit_test(test_clocks_that_are_off),
        cmocka_unit_test(test_span_and_jobs),
        cmocka_unit_test(test_lanes_are_in_the_order_of_people),
        cmocka_unit_test(test_the_worst_lanes_are_shown),
        cmocka_unit_test(test_narrow_runs_are_joined),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_name_of_many_bytes),
        cmocka_unit_test(test_every_outcome_looks_different),
    };

    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
