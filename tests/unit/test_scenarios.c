/* SPDX-License-Identifier: MIT
 * Scenarios of the calendar (S31, S32, S48) and of max_running, in virtual time: those that take an
 * afternoon, 3 days, or 300 years. */
#include "support/play.h"

#include "base/units.h"
#include <time.h>

#define RUN_MS SECOND_MS
#define YEAR_MS (366 * DAY_MS)

static struct play play;

static int64_t tuesday(int hour, int minute)
{
    return play_utc(2026, 6, 16, hour, minute);
}

/* --- S31: the whole fleet was off --- */

/* What a start costs after `off_ms` without any device. */
struct start_cost {
    uint64_t ticks, commands;
    int64_t cpu_ns;
};

static int64_t cpu_ns(void)
{
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void add_minutely(struct job_spec spec)
{
    spec.retention_ms = 1000 * YEAR_MS;
    play_add_known(&play, &spec, RUN_MS);
}

static struct start_cost start_after(struct unit_random random, int64_t off_ms)
{
    struct schedule grid = { .every_ms = MINUTE_MS };
    struct start_cost cost;
    int64_t on_ms;

    play_init(&play, random, tuesday(14, 0), PLAY_DEVICES_MAX);
    add_minutely(play_cron_spec("by-cron", "* * * * *", NULL));
    add_minutely(play_spec("by-grid", &grid));
    play_switch_all(&play, true);
    play_until(&play, tuesday(14, 5) + 30 * SECOND_MS);
    assert_int_equal(play.run_count, 2 * 5);
    play_switch_all(&play, false);
    play.now_ms += off_ms;
    play.ticks = play.commands = 0;
    play.run_count = 0;

    cost.cpu_ns = cpu_ns();
    play_switch_all(&play, true);
    on_ms = play.now_ms;
    play_until(&play, on_ms + 25 * SECOND_MS);
    cost.cpu_ns = cpu_ns() - cost.cpu_ns;
    cost.ticks = play.ticks;
    cost.commands = play.commands;

    for (unsigned job = 0; job < play.job_count; job++) /* one run of the last turn that was due */
        assert_int_equal(play_count(&play, job, on_ms, play.now_ms), 1);
    for (size_t i = 0; i < play.run_count; i++)
        assert_true(on_ms - play.runs[i].turn_ms < MINUTE_MS);
    play_until(&play, on_ms + 10 * MINUTE_MS); /* and on with one a minute */
    for (unsigned job = 0; job < play.job_count; job++)
        assert_int_equal(play_count(&play, job, 0, INT64_MAX), 1 + 10);
    play_done(&play);
    return cost;
}

static void test_s31_one_catch_up_run_after_three_days(void **state)
{
    struct unit_random random = unit_random_begin();
    struct start_cost least = { .cpu_ns = INT64_MAX }, most = { .cpu_ns = INT64_MAX };

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct unit_random same = { unit_random_next(&random) };
        struct start_cost days = start_after(same, 3 * DAY_MS);
        struct start_cost centuries = start_after(same, 300 * YEAR_MS);

        assert_int_equal(days.ticks, centuries.ticks);
        assert_int_equal(days.commands, centuries.commands);
        least = days.cpu_ns < least.cpu_ns ? days : least;
        most = centuries.cpu_ns < most.cpu_ns ? centuries : most;
    }
    printf("start after 3 days: %lld us, after 300 years: %lld us, %llu commands\n",
           (long long)least.cpu_ns / 1000, (long long)most.cpu_ns / 1000,
           (unsigned long long)most.commands);
    /* Every device asks for each job once, the winners tell the end, and two watchers come again:
     * none of it by the turns that were missed, of which there are 36,000 times more. */
    assert_true(most.commands <= PLAY_DEVICES_MAX * (1 + 2 * 2));
    assert_true(most.cpu_ns < 20 * least.cpu_ns);
}

/* --- S32: a run that takes longer than the period --- */

static uint32_t passed_running(unsigned job)
{
    uint32_t passed = 0;

    for (unsigned i = 0; i < play.device_count; i++)
        passed += play.devices[i].jobs[job].counters.passed_running;
    return passed;
}

static void play_long_runs(struct unit_random random, const struct job_spec *spec)
{
    int64_t turns[15];

    play_init(&play, random, tuesday(14, 0), 3);
    play_add_known(&play, spec, 3 * MINUTE_MS + 30 * SECOND_MS);
    play_switch_all(&play, true);
    play_until(&play, tuesday(15, 0) + 59 * SECOND_MS);
    for (int i = 0; i < 15; i++)
        turns[i] = tuesday(14, 1 + 4 * i);
    play_expect(&play, 0, turns, 15);
    assert_int_equal(passed_running(0), 3 * 15);
    for (size_t i = 0; i < play.run_count; i++) /* the first turn that is due after its end */
        assert_true(i == 0 || play.runs[i].turn_ms > play.runs[i - 1].end_ms);
    play_done(&play);
}

static void test_s32_no_queue(void **state)
{
    struct unit_random random = unit_random_begin();
    struct schedule grid = { .every_ms = MINUTE_MS };
    struct job_spec by_cron = play_cron_spec("by-cron", "* * * * *", NULL);
    struct job_spec by_grid = play_spec("by-grid", &grid);

    (void)state;
    play_long_runs((struct unit_random){ unit_random_next(&random) }, &by_cron);
    play_long_runs((struct unit_random){ unit_random_next(&random) }, &by_grid);
}

/* After a failure the newest of them can still be run, and is: it is not counted. */
static void test_s32_after_a_failure_the_newest_is_open(void **state)
{
    struct unit_random random = unit_random_begin();
    struct job_spec spec = play_cron_spec("job", "* * * * *", NULL);

    (void)state;
    spec.retry_delay_ms = 0;
    play_init(&play, random, tuesday(14, 0), 1);
    play_add_known(&play, &spec, 3 * MINUTE_MS + 30 * SECOND_MS);
    play.jobs[0].result = 2;
    play_switch_all(&play, true);
    play_until(&play, tuesday(14, 4) + 50 * SECOND_MS);
    assert_int_equal(play.run_count, 2);
    assert_int_equal(play.runs[1].turn_ms, tuesday(14, 4));
    assert_int_equal(passed_running(0), 2);
    play_done(&play);
}

/* --- S48: nothing runs by surprise --- */

#define AFTERNOON_DEVICES 5

static struct job_spec daily(const char *cron, bool first_now)
{
    struct job_spec spec = play_cron_spec("daily", cron, NULL);

    spec.first_now = first_now;
    return spec;
}

/* From 14:00, with a device that is switched off and on, to 15:00 on the next day. */
static void play_afternoon(void)
{
    play_until(&play, tuesday(15, 0));
    play_switch_off(&play, 2);
    play_switch_on(&play, 2);
    play_until(&play, tuesday(15, 0) + DAY_MS);
}

/* The run of 03:00, and with `first` = "now" one of the afternoon before it. */
static void expect_afternoon(int64_t from_ms, bool first_now, int64_t first_turn_ms)
{
    int64_t three = tuesday(3, 0) + DAY_MS;
    size_t runs = play_count(&play, 0, from_ms, three);

    assert_int_equal(runs, first_now);
    assert_int_equal(play_count(&play, 0, from_ms, INT64_MAX), runs + 1);
    assert_int_equal(play.runs[play.run_count - 1].turn_ms, three);
    assert_true(play.runs[play.run_count - 1].begin_ms <
                three + play.jobs[0].spec.timing.lease_ms + 5 * SECOND_MS);
    if (first_now)
        assert_int_equal(play.runs[play.run_count - 2].turn_ms, first_turn_ms);
    play_done(&play);
}

static void begin_morning(struct unit_random *random)
{
    play_init(&play, (struct unit_random){ unit_random_next(random) }, tuesday(1, 0),
              AFTERNOON_DEVICES);
}

static void play_added(struct unit_random *random, bool first_now)
{
    struct job_spec spec = daily("0 3 * * *", first_now);

    begin_morning(random);
    play_switch_all(&play, true);
    play_until(&play, tuesday(14, 0));
    play_add(&play, &spec, RUN_MS);
    play_afternoon();
    expect_afternoon(0, first_now, tuesday(3, 0));
}

static void play_edited(struct unit_random *random, bool first_now)
{
    struct job_spec before = daily("0 2 * * *", first_now);
    struct job_spec after = daily("0 3 * * *", first_now);

    begin_morning(random);
    play_add_known(&play, &before, RUN_MS);
    play_switch_all(&play, true);
    play_until(&play, tuesday(14, 0));
    assert_int_equal(play_count(&play, 0, 0, INT64_MAX), 1);
    play_edit(&play, 0, &after);
    play_afternoon();
    expect_afternoon(tuesday(14, 0), first_now, tuesday(3, 0));
}

static void play_emptied(struct unit_random *random, bool first_now)
{
    struct job_spec spec = daily("0 3 * * *", first_now);

    begin_morning(random);
    play_add_known(&play, &spec, RUN_MS);
    play_switch_all(&play, true);
    play_until(&play, tuesday(14, 0));
    assert_int_equal(play_count(&play, 0, 0, INT64_MAX), 1);
    play_empty_store(&play);
    play_afternoon();
    expect_afternoon(tuesday(14, 0), first_now, tuesday(3, 0));
}

static void test_s48_waits_for_its_next_turn(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    play_added(&random, false);
    play_edited(&random, false);
    play_emptied(&random, false);
}

static void test_s48_first_now_runs_once(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    play_added(&random, true);
    play_edited(&random, true);
    play_emptied(&random, true);
}

/* --- max_running --- */

#define FULL_JOBS 5
#define FULL_HOURS 2
#define FULL_TURNS (FULL_HOURS * 12)

static bool overlap(const struct play_run *a, const struct play_run *b)
{
    return a->begin_ms < b->end_ms && b->begin_ms < a->end_ms;
}

/* Five jobs that are due at the same second, on devices that run one at a time. */
static void play_full(struct unit_random random, unsigned devices)
{
    static const char *const names[FULL_JOBS] = { "a", "b", "c", "d", "e" };
    bool side_by_side = false;

    play_init(&play, random, tuesday(14, 0), devices);
    play.slots = 1;
    for (unsigned i = 0; i < FULL_JOBS; i++) {
        struct job_spec spec = play_cron_spec(names[i], "*/5 * * * *", NULL);

        play_add_known(&play, &spec, 40 * SECOND_MS);
    }
    play_switch_all(&play, true);
    play_until(&play, tuesday(14 + FULL_HOURS, 5) - 1);
    for (size_t i = 0; i < play.run_count; i++) {
        const struct play_run *r = &play.runs[i];

        for (size_t k = 0; k < i; k++) {
            const struct play_run *other = &play.runs[k];

            if (other->job == r->job && other->turn_ms == r->turn_ms)
                fail_msg("%s runs twice", names[r->job]);
            if (overlap(r, other) && r->device == other->device)
                fail_msg("%s and %s run at once", names[r->job], names[other->job]);
            side_by_side = side_by_side || overlap(r, other);
        }
    }
    assert_int_equal(play.run_count, FULL_JOBS * FULL_TURNS);
    /* A device that is full leaves the turn to one that is not. */
    assert_int_equal(side_by_side, devices > 1);
    play_done(&play);
}

static void test_max_running_1_all_run_none_twice(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    play_full((struct unit_random){ unit_random_next(&random) }, 1);
    play_full((struct unit_random){ unit_random_next(&random) }, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s31_one_catch_up_run_after_three_days),
        cmocka_unit_test(test_s32_no_queue),
        cmocka_unit_test(test_s32_after_a_failure_the_newest_is_open),
        cmocka_unit_test(test_s48_waits_for_its_next_turn),
        cmocka_unit_test(test_s48_first_now_runs_once),
        cmocka_unit_test(test_max_running_1_all_run_none_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
