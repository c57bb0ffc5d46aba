/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/units.h"
#include <errno.h>
#include <string.h>

struct parse_case {
    const char *text;
    int result;
    int64_t value;
};

static const struct parse_case duration_cases[] = {
    { "0s", 0, 0 },
    { "0ms", 0, 0 },
    { "250ms", 0, 250 },
    { "1s", 0, 1000 },
    { "10m", 0, 600000 },
    { "1h30m", 0, 5400000 },
    { "1d1h1m1s1ms", 0, 90061001 },
    { "31d", 0, 31 * DAY_MS },
    { "10.5s", 0, 10500 },
    { "1h0.5m", 0, 3630000 },
    { "0.001s", 0, 1 },
    { "1.5000000000000000000000s", 0, 1500 },
    { "0.25d", 0, 6 * HOUR_MS },
    { "007s", 0, 7000 },
    { "106751991167d7h12m55s807ms", 0, INT64_MAX },
    { "9223372036854775807ms", 0, INT64_MAX },
    { "9223372036854775808ms", -ERANGE, 0 },
    { "106751991167d7h12m55s808ms", -ERANGE, 0 },
    { "106751991168d", -ERANGE, 0 },
    { "99999999999999999999999999999999999999d", -ERANGE, 0 },
    { "99999999999999999999999999999999999999", -ENODATA, 0 },
    { "10", -ENODATA, 0 },
    { "0", -ENODATA, 0 },
    { "10.5", -ENODATA, 0 },
    { "1h30", -ENODATA, 0 },
    { "", -EINVAL, 0 },
    { "s", -EINVAL, 0 },
    { "-1s", -EINVAL, 0 },
    { "+1s", -EINVAL, 0 },
    { " 1s", -EINVAL, 0 },
    { "1 s", -EINVAL, 0 },
    { "1s ", -EINVAL, 0 },
    { "1S", -EINVAL, 0 },
    { "1min", -EINVAL, 0 },
    { "1w", -EINVAL, 0 },
    { "30m1h", -EINVAL, 0 },
    { "1m1m", -EINVAL, 0 },
    { "1.5h30m", -EINVAL, 0 },
    { "1.0h30m", -EINVAL, 0 },
    { "0.5ms", -EINVAL, 0 },
    { "1.0005s", -EINVAL, 0 },
    { "1.s", -EINVAL, 0 },
    { ".5s", -EINVAL, 0 },
    { "1.5.5s", -EINVAL, 0 },
    { "1,5s", -EINVAL, 0 },
    { "0x10s", -EINVAL, 0 },
    { "1e3s", -EINVAL, 0 },
    { "99999999999999999999999x", -EINVAL, 0 },
    { "1s\xc2\xa0", -EINVAL, 0 },
};

static const struct parse_case size_cases[] = {
    { "0B", 0, 0 },
    { "1B", 0, 1 },
    { "1KiB", 0, 1024 },
    { "64MiB", 0, INT64_C(64) << 20 },
    { "1.5GiB", 0, INT64_C(3) << 29 },
    { "1GiB512MiB", 0, INT64_C(3) << 29 },
    { "1TiB", 0, INT64_C(1) << 40 },
    { "0.999999TiB", -EINVAL, 0 },
    { "0.984375TiB", 0, INT64_C(63) << 34 },
    { "8388607TiB", 0, INT64_C(8388607) << 40 },
    { "8388608TiB", -ERANGE, 0 },
    { "64", -ENODATA, 0 },
    { "64M", -EINVAL, 0 },
    { "64MB", -EINVAL, 0 },
    { "1.5B", -EINVAL, 0 },
    { "-1B", -EINVAL, 0 },
    { "", -EINVAL, 0 },
};

typedef int parser(const char *text, int64_t *ret_value);

static void check_parse(parser *parse, const struct parse_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = -7;
        int r = parse(cases[i].text, &value);

        if (r != cases[i].result || value != (r < 0 ? -7 : cases[i].value))
            fail_msg("\"%s\" gives %d and %lld", cases[i].text, r, (long long)value);
    }
}

static void test_parse_duration(void **state)
{
    (void)state;
    check_parse(units_parse_duration, duration_cases, COUNT_OF(duration_cases));
}

static void test_parse_size(void **state)
{
    (void)state;
    check_parse(units_parse_size, size_cases, COUNT_OF(size_cases));
}

struct text_case {
    int64_t value;
    const char *text;
};

static void test_write(void **state)
{
    static const struct text_case durations[] = {
        { 0, "0s" },
        { -5, "0s" },
        { 1, "1ms" },
        { 250, "250ms" },
        { 1000, "1s" },
        { 10500, "10s500ms" },
        { 5400000, "1h30m" },
        { DAY_MS, "1d" },
        { 90061001, "1d1h1m1s1ms" },
        { INT64_MAX, "106751991167d7h12m55s807ms" },
    };
    static const struct text_case sizes[] = {
        { 0, "0B" },
        { -5, "0B" },
        { 1, "1B" },
        { 1024, "1KiB" },
        { 1536, "1536B" },
        { INT64_C(64) << 20, "64MiB" },
        { INT64_C(3) << 29, "1536MiB" },
        { INT64_C(1) << 42, "4TiB" },
        { INT64_MAX, "9223372036854775807B" },
    };
    char buf[UNITS_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(durations); i++)
        assert_string_equal(units_write_duration(durations[i].value, buf, sizeof(buf)),
                            durations[i].text);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_string_equal(units_write_size(sizes[i].value, buf, sizeof(buf)), sizes[i].text);
}

static void test_say(void **state)
{
    static const struct text_case cases[] = {
        { -1, "0 ms" },
        { 0, "0 ms" },
        { 40, "40 ms" },
        { 999, "999 ms" },
        { 1000, "1 s" },
        { 2400, "2.4 s" },
        { 2449, "2.4 s" },
        { 2450, "2.5 s" },
        { 5000, "5 s" },
        { 9949, "9.9 s" },
        { 9950, "10 s" },
        { 12000, "12 s" },
        { 12499, "12 s" },
        { 59499, "59 s" },
        { 59500, "1 min" },
        { 291000, "4 min 51 s" },
        { 300000, "5 min" },
        { HOUR_MS - 1, "1 h" },
        { 2 * HOUR_MS + 10 * MINUTE_MS, "2 h 10 min" },
        { DAY_MS - 1, "1 day" },
        { DAY_MS + 3 * HOUR_MS, "1 day 3 h" },
        { 2 * DAY_MS, "2 days" },
        { 3 * DAY_MS + 4 * HOUR_MS, "3 days 4 h" },
        { 12 * DAY_MS + 3 * HOUR_MS, "12 days" },
        { INT64_MAX, "106751991167 days" },
    };
    char buf[UNITS_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(units_say_duration(cases[i].value, buf, sizeof(buf)), cases[i].text);
}

static void test_cut(void **state)
{
    char buf[UNITS_SIZE];

    (void)state;
    for (size_t size = 1; size <= UNITS_SIZE; size++) {
        memset(buf, 'x', sizeof(buf));
        units_write_duration(INT64_MAX, buf, size);
        assert_in_range(strlen(buf), 0, size - 1);
        units_write_size(INT64_MAX, buf, size);
        assert_in_range(strlen(buf), 0, size - 1);
        units_say_duration(INT64_MAX - 1, buf, size);
        assert_in_range(strlen(buf), 0, size - 1);
    }
}

static void test_written_parses_back(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t value = (int64_t)(unit_random_next(&random) >> unit_random_in(&random, 1, 63));
        char buf[UNITS_SIZE];
        int64_t back = -1;

        assert_int_equal(units_parse_duration(units_write_duration(value, buf, sizeof(buf)), &back),
                         0);
        assert_true(back == value);
        assert_int_equal(units_parse_size(units_write_size(value, buf, sizeof(buf)), &back), 0);
        assert_true(back == value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_duration),
        cmocka_unit_test(test_parse_size),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_say),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_written_parses_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
