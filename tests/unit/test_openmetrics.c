/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/openmetrics.h"
#include <stdlib.h>
#include <string.h>

static const struct openmetrics_family runs = { .name = "rota_job_runs",
                                                .help = "Runs here.",
                                                .counts = true };
static const struct openmetrics_family margin = {
    .name = "rota_margin_seconds", .unit = "seconds", .help = "What was left.", .in_ms = true
};

struct bench {
    struct openmetrics o;
    char *text;
    size_t size;
};

static void begin(struct bench *b, bool strict)
{
    b->o = (struct openmetrics){ open_memstream(&b->text, &b->size), strict };
    assert_non_null(b->o.out);
}

static void expect(struct bench *b, const char *text)
{
    assert_int_equal(fclose(b->o.out), 0);
    assert_string_equal(b->text, text);
    free(b->text);
}

static void test_a_counter_in_both_ways(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, false);
    openmetrics_alone(&b.o, &runs, 3);
    expect(&b, "# HELP rota_job_runs_total Runs here.\n"
               "# TYPE rota_job_runs_total counter\n"
               "rota_job_runs_total 3\n");
    begin(&b, true);
    openmetrics_alone(&b.o, &runs, 3);
    expect(&b, "# HELP rota_job_runs Runs here.\n"
               "# TYPE rota_job_runs counter\n"
               "rota_job_runs_total 3\n");
}

static void test_seconds(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        { 0, "0.000" },
        { 7, "0.007" },
        { -20, "-0.020" },
        { 1500, "1.500" },
        { -61001, "-61.001" },
        { 1796005800123, "1796005800.123" },
        { INT64_MAX, "9223372036854775.807" },
        { INT64_MIN, "-9223372036854775.808" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench b;
        char line[80];

        begin(&b, true);
        openmetrics_sample(&b.o, &margin, &(struct openmetrics_sample){ .value = rows[i].ms });
        snprintf(line, sizeof line, "rota_margin_seconds %s\n", rows[i].text);
        expect(&b, line);
    }
}

static void test_a_gauge_with_its_unit(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, false);
    openmetrics_head(&b.o, &margin);
    openmetrics_end(&b.o);
    expect(&b, "# HELP rota_margin_seconds What was left.\n"
               "# TYPE rota_margin_seconds gauge\n"
               "# UNIT rota_margin_seconds seconds\n"
               "# EOF\n");
}

/* Whoever chooses a name or a reason cannot end the label, or the line. */
static void test_hostile_labels(void **state)
{
    struct bench b;

    (void)state;
    begin(&b, false);
    openmetrics_sample(
        &b.o, &runs,
        &(struct openmetrics_sample){ .labels = { { "job", "a\"} 1\nrota_up 0" },
                                                  { "gone", NULL },
                                                  { "why", "c:\\x \x1b[31m \xff \xc3\xa4" } },
                                      .value = 1 });
    expect(&b, "rota_job_runs_total{job=\"a\\\"} 1\\\\x0arota_up 0\","
               "why=\"c:\\\\x \\\\x1b[31m \\\\xff \xc3\xa4\"} 1\n");
}

static void test_a_label_is_cut(void **state)
{
    struct bench b;
    char value[2000];

    (void)state;
    memset(value, '"', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    begin(&b, false);
    openmetrics_sample(&b.o, &runs,
                       &(struct openmetrics_sample){ .labels = { { "job", value } }, .value = 1 });
    assert_int_equal(fclose(b.o.out), 0);
    assert_true(b.size < 1200);
    assert_string_equal(b.text + b.size - strlen("...\"} 1\n"), "...\"} 1\n");
    free(b.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_counter_in_both_ways), cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_a_gauge_with_its_unit),  cmocka_unit_test(test_hostile_labels),
        cmocka_unit_test(test_a_label_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
