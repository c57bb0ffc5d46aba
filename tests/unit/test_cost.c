/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "core/cost.h"

#define KB 1000
#define LARGE 5000

static struct cost_terms terms_of(uint32_t fleet)
{
    return (struct cost_terms){ .fleet = fleet,
                                .idle_timeout_ms = 15 * MINUTE_MS,
                                .keepalive_ms = 2 * MINUTE_MS };
}

static struct job_spec job_of(int64_t worst_case_ms)
{
    struct job_spec spec = {
        .timing = { .worst_case_ms = worst_case_ms,
                    .stop_grace_ms = 5 * SECOND_MS,
                    .command_timeout_ms = 3 * SECOND_MS,
                    .connect_timeout_ms = 10 * SECOND_MS,
                    .lease_cap_ms = MINUTE_MS },
        .concurrency = 1,
    };
    int64_t smallest;

    assert_int_equal(timing_derive(&spec.timing, &smallest), 0);
    return spec;
}

static struct cost cost_of_job(const struct cost_terms *terms, const struct job_spec *spec,
                               int64_t turns)
{
    struct cost cost = { 0 };

    cost_add_job(&cost, terms, spec, turns);
    return cost;
}

static struct cost cost_of_hello(const struct cost_terms *terms, int64_t jobs)
{
    struct cost cost = { 0 };

    cost_add_hello(&cost, terms, jobs);
    return cost;
}

/* PROTOCOL.md's table, and docs/turns.md's: commands a turn are the refused questions, the granted
 * one and the finish; of short runs, 2, 4, 7.9, 13 and at most 16.3 on average. */
static void test_commands_of_a_turn(void **state)
{
    static const struct {
        uint32_t fleet;
        int64_t commands;
    } rows[] = { { 1, 2 }, { 2, 4 }, { 5, 8 }, { 10, 13 }, { 100, 16 }, { 1000000, 16 } };
    struct job_spec spec = job_of(SECOND_MS);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct cost_terms terms = terms_of(rows[i].fleet);
        struct cost cost = cost_of_job(&terms, &spec, 1);

        assert_int_equal(cost.passes + 2 * cost.runs, rows[i].commands);
        assert_int_equal(cost.runs, 1);
        assert_int_equal(cost.renewals + cost.hellos + cost.told, 0);
    }
}

/* A lease of 1 min: two watchers ask at the end of each, the other ones after 2, 6 and 14, and all
 * of them once after the run's end. */
static void test_a_long_run_is_watched(void **state)
{
    struct cost_terms terms = terms_of(LARGE);
    struct job_spec spec = job_of(10 * MINUTE_MS);
    struct cost cost = cost_of_job(&terms, &spec, 1);

    (void)state;
    assert_int_equal(spec.timing.lease_ms, MINUTE_MS);
    assert_int_equal(cost.passes, 12 + 2 * 11 + 10 * 3);
    assert_int_equal(cost.renewals, 29);         /* none at its end */
    spec.timing.max_runtime_ms = 20 * MINUTE_MS; /* overrun = "extend" */
    assert_int_equal(cost_of_job(&terms, &spec, 1).renewals, 59);
    terms.fleet = 1;
    assert_int_equal(cost_of_job(&terms, &spec, 1).passes, 0);
}

static void test_all_devices_ask(void **state)
{
    struct cost_terms terms = terms_of(LARGE);
    struct job_spec spec = job_of(SECOND_MS);

    (void)state;
    terms.turns_all = true;
    assert_int_equal(cost_of_job(&terms, &spec, 3).passes, 3 * (LARGE - 1 + 2));
    assert_int_equal(cost_of_job(&terms, &spec, 3).runs, 3);
}

static void test_every_device_runs(void **state)
{
    struct cost_terms terms = terms_of(LARGE);
    struct job_spec spec = job_of(SECOND_MS);

    (void)state;
    spec.scope = SCOPE_DEVICE;
    spec.concurrency = 20;
    assert_int_equal(cost_of_job(&terms, &spec, 3).runs, 3 * LARGE);
    assert_int_equal(cost_of_job(&terms, &spec, 3).passes, 3 * LARGE);
    spec.concurrency = LARGE; /* a seat for each */
    assert_int_equal(cost_of_job(&terms, &spec, 3).passes, 0);
    spec.lock = LOCK_NONE;
    assert_int_equal(cost_of_job(&terms, &spec, 3).runs, 0);
}

/* A run that takes longer than the period covers the turns that fall due meanwhile. */
static void test_runs_fit_into_the_month(void **state)
{
    struct cost_terms terms = terms_of(1);
    struct job_spec spec = job_of(DAY_MS);

    (void)state;
    assert_int_equal(cost_of_job(&terms, &spec, 720).runs, 31);
    spec = job_of(31 * DAY_MS);
    assert_int_equal(cost_of_job(&terms, &spec, 720).runs, 1);
}

static void test_hellos(void **state)
{
    struct cost_terms terms = terms_of(1);

    (void)state;
    assert_int_equal(cost_of_hello(&terms, 3).hellos, 30 * 24 * 6);
    assert_int_equal(cost_of_hello(&terms, 3).told, 3 * 30 * 24 * 6);
    terms.fleet = 1000000;
    assert_int_equal(cost_of_hello(&terms, 0).hellos, INT64_C(30) * 4 * 1000000);
    terms.checkin_ms = DAY_MS;
    assert_int_equal(cost_of_hello(&terms, 0).hellos, INT64_C(30) * 1000000);
}

static struct cost device_month(const struct cost_terms *terms)
{
    struct job_spec spec = job_of(SECOND_MS);
    struct cost all = cost_of_job(terms, &spec, 30 * 24 * 12);

    cost_add_hello(&all, terms, 1);
    return all;
}

/* DESIGN section 12: one job every 5 minutes in a fleet of 5,000, over TLS, checkin = "1d". */
static void test_the_figure_of_the_design(void **state)
{
    struct cost_terms terms = terms_of(LARGE);
    struct cost all;

    (void)state;
    terms.checkin_ms = DAY_MS;
    all = device_month(&terms);
    assert_false(cost_keeps_connection(&terms, &all));
    assert_in_range(cost_bytes(&terms, &all), 50 * KB, 70 * KB);
    terms.tls = true;
    assert_in_range(cost_bytes(&terms, &all), 150 * KB, 500 * KB);
}

static void test_a_connection_is_kept_by_the_mean_gap(void **state)
{
    struct cost_terms terms = terms_of(1);
    struct cost all = { .runs = 30 * 24 * 4 - 1 }; /* every 15 minutes */

    (void)state;
    assert_true(cost_keeps_connection(&terms, &all));
    terms.idle_timeout_ms--;
    assert_false(cost_keeps_connection(&terms, &all));
    assert_false(cost_keeps_connection(&terms, &(struct cost){ 0 }));
}

/* 104 bytes each time, in what the device does as a whole. */
static void test_keepalive(void **state)
{
    struct cost_terms terms = terms_of(1);
    struct cost all = { .hellos = 30 * 24 * 4 - 1 }, job = { .runs = 30 * 24 * 4 - 1 };
    int64_t off, job_off;

    (void)state;
    terms.kept = true;
    terms.keepalive_ms = 0;
    off = cost_bytes(&terms, &all);
    job_off = cost_bytes(&terms, &job);
    terms.keepalive_ms = 2 * MINUTE_MS;
    assert_int_equal(cost_bytes(&terms, &all) - off, all.hellos * 7 * 104);
    assert_int_equal(cost_bytes(&terms, &job), job_off);
    terms.keepalive_ms = 15 * MINUTE_MS + 1; /* each question comes first */
    assert_int_equal(cost_bytes(&terms, &all), off);
    terms.kept = false;
    off = cost_bytes(&terms, &all);
    terms.keepalive_ms = 2 * MINUTE_MS;
    assert_int_equal(cost_bytes(&terms, &all), off);
}

/* A run is three exchanges: question, finish, index. */
static void test_tls(void **state)
{
    struct cost_terms terms = terms_of(1);
    struct cost all = { .passes = 1, .runs = 1, .renewals = 1 };
    int64_t plain;

    (void)state;
    terms.kept = true;
    plain = cost_bytes(&terms, &all);
    terms.tls = true;
    assert_int_equal(cost_bytes(&terms, &all) - plain, 5 * 44);
}

/* Each of its servers is asked everything. */
static void test_quorum(void **state)
{
    struct cost_terms terms = terms_of(1);
    struct cost all = { .passes = 1, .runs = 1, .renewals = 1, .hellos = 1, .told = 3 };
    int64_t one;

    (void)state;
    one = cost_bytes(&terms, &all);
    terms.servers = 5;
    assert_int_equal(cost_bytes(&terms, &all), 5 * one);
}

/* The most that a configuration can ask for overflows nothing. */
static void test_the_most(void **state)
{
    struct cost_terms terms = terms_of(1000000);
    struct job_spec spec = job_of(31 * DAY_MS);
    struct cost cost;

    (void)state;
    terms.turns_all = true;
    terms.tls = true;
    spec.timing.lease_ms = SECOND_MS;
    cost = cost_of_job(&terms, &spec, 30 * 86400);
    assert_true(cost.passes > 0 && cost_bytes(&terms, &cost) > 0);
    spec = job_of(SECOND_MS);
    cost = cost_of_job(&terms, &spec, 30 * 86400);
    assert_true(cost.passes >= INT64_C(30) * 86400 * 1000000);
    assert_in_range(cost_bytes(&terms, &cost) / (30 * 86400), 1000, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_of_a_turn),
        cmocka_unit_test(test_a_long_run_is_watched),
        cmocka_unit_test(test_all_devices_ask),
        cmocka_unit_test(test_every_device_runs),
        cmocka_unit_test(test_runs_fit_into_the_month),
        cmocka_unit_test(test_hellos),
        cmocka_unit_test(test_the_figure_of_the_design),
        cmocka_unit_test(test_a_connection_is_kept_by_the_mean_gap),
        cmocka_unit_test(test_keepalive),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_quorum),
        cmocka_unit_test(test_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
