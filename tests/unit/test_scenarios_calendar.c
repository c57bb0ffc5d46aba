/* SPDX-License-Identifier: MIT
 * S28: jobs by local time and by UTC across the days on which the clocks of Berlin change, and the
 * days beside them, played by three devices. All tables are written by hand, in UTC. */
#include "support/play.h"

#include "base/units.h"
#include "support/tzif.h"

#define DEVICES 3
#define RUN_MS SECOND_MS
#define HOURS 72

/* The turns of 02:30 in Berlin, in minutes of UTC, on the day before a change, its day, and the day
 * after. Forward, there is no 02:30, and its turn comes at the end of the gap, 03:00 of summer
 * time. Back, there are two, and the first is taken, that of summer time. */
static const int forward[3] = { 90, 60, 30 }, back[3] = { 30, 30, 90 };

/* Each at 01:00 UTC, by law. */
static const struct change {
    int year, month, day;
    const int *minutes;
} changes[] = {
    { 2026, 3, 29, forward }, { 2026, 10, 25, back },   { 2027, 3, 28, forward },
    { 2027, 10, 31, back },   { 2038, 3, 28, forward }, { 2038, 10, 31, back },
    { 2040, 3, 25, forward }, { 2040, 10, 28, back },
};

static struct play play;

static void expect_days(const struct change *c, unsigned job, const int minutes[3])
{
    int64_t midnight = play_utc(c->year, c->month, c->day, 0, 0), turns[3];

    for (int day = 0; day < 3; day++)
        turns[day] = midnight + (day - 1) * DAY_MS + minutes[day] * MINUTE_MS;
    play_expect(&play, job, turns, 3);
}

static void expect_hours(int64_t first_ms, unsigned job)
{
    int64_t turns[HOURS];

    for (int i = 0; i < HOURS; i++)
        turns[i] = first_ms + i * HOUR_MS;
    play_expect(&play, job, turns, HOURS);
}

/* One line a run, and no other word of any level that is kept. */
static void expect_quiet(size_t runs)
{
    unsigned said = 0;

    for (unsigned d = 0; d < DEVICES; d++)
        for (int kind = 0; kind <= REPORT_ILLEGAL; kind++)
            if (kind != REPORT_STATE && kind != REPORT_STARTED && kind != REPORT_PASSED)
                said += play.devices[d].fake.reports[kind];
    assert_int_equal(said, runs);
}

static void play_change(struct unit_random random, const struct change *c, const struct zone *zone)
{
    static const int always_0230[3] = { 150, 150, 150 };
    int64_t begin = play_utc(c->year, c->month, c->day, 0, 0) - DAY_MS;
    struct job_spec daily = play_cron_spec("daily", "30 2 * * *", zone);
    struct job_spec hourly = play_cron_spec("hourly", "0 * * * *", zone);
    struct job_spec half = play_cron_spec("half", "30 * * * *", zone);
    struct job_spec utc = play_cron_spec("utc", "30 2 * * *", NULL);

    play_init(&play, random, begin - 1, DEVICES);
    play_add_known(&play, &daily, RUN_MS);
    play_add_known(&play, &hourly, RUN_MS);
    play_add_known(&play, &half, RUN_MS);
    play_add_known(&play, &utc, RUN_MS);
    play_switch_all(&play, true);
    play_until(&play, begin + 3 * DAY_MS - 1);
    expect_days(c, 0, c->minutes);
    expect_hours(begin, 1);
    expect_hours(begin + 30 * MINUTE_MS, 2);
    expect_days(c, 3, always_0230);
    expect_quiet(3 + HOURS + HOURS + 3);
    play_done(&play);
}

static void test_s28_once_a_day_and_every_hour(void **state)
{
    struct unit_random random = unit_random_begin();
    uint8_t bytes[TZIF_SIZE];
    struct zone zone = tzif_rule("CET-1CEST,M3.5.0,M10.5.0/3", bytes); /* since 1996 */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        play_change((struct unit_random){ unit_random_next(&random) }, &changes[i], &zone);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_s28_once_a_day_and_every_hour) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
