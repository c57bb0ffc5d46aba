/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "core/date.h"
#include "core/zone.h"
#include "support/tzif.h"
#include <errno.h>
#include <string.h>

#define H 3600

/* A UTC instant. */
static int64_t utc(int year, int month, int day, int hour)
{
    return (date_month(year, month) + day - 1) * DATE_DAY_S + hour * H;
}

static void expect(const struct zone *zone, int64_t at, int32_t offset, int64_t from, int64_t until)
{
    int64_t found_from = 1, found_until = 1;
    int32_t found = zone_offset(zone, at, &found_from, &found_until);

    if (found != offset || found_from != from || found_until != until)
        fail_msg("at %lld: %d from %lld until %lld, not %d from %lld until %lld", (long long)at,
                 found, (long long)found_from, (long long)found_until, offset, (long long)from,
                 (long long)until);
}

static void test_utc(void **state)
{
    uint8_t bytes[TZIF_SIZE];
    struct zone zone = tzif_rule("UTC0", bytes);

    (void)state;
    expect(NULL, 0, 0, INT64_MIN, ZONE_NEVER);
    expect(&zone, INT64_MIN, 0, INT64_MIN, ZONE_NEVER);
    expect(&zone, INT64_MAX, 0, INT64_MIN, ZONE_NEVER);
    zone = tzif_zone(&(struct tzif){ .offsets = { 5 * H } }, bytes);
    expect(&zone, 0, 5 * H, INT64_MIN, ZONE_NEVER);
}

static void test_table(void **state)
{
    const struct tzif t = {
        .offsets = { 1234, 1 * H, 2 * H, 1 * H },
        .types_count = 4,
        .times = { -(INT64_C(1) << 59), -1000, 1000, 2000, 3000, INT64_C(1) << 40 },
        .types = { 0, 1, 2, 1, 3, 0 },
        .count = 6,
    };
    uint8_t bytes[TZIF_SIZE];
    struct zone zone = tzif_zone(&t, bytes);

    (void)state;
    expect(&zone, INT64_MIN, 1234, INT64_MIN, -1000);
    expect(&zone, -1001, 1234, INT64_MIN, -1000);
    expect(&zone, -1000, H, -1000, 1000);
    expect(&zone, 999, H, -1000, 1000);
    expect(&zone, 1000, 2 * H, 1000, 2000);
    /* Two types of one offset are one stretch. */
    expect(&zone, 2000, H, 2000, INT64_C(1) << 40);
    expect(&zone, 3000, H, 2000, INT64_C(1) << 40);
    expect(&zone, INT64_MAX, 1234, INT64_C(1) << 40, ZONE_NEVER);
    assert_true(zone_repeats_from(&zone) == ZONE_NEVER);
}

/* Past the table the rule goes on; where both say the same there is no seam. */
static void test_rule_after_table(void **state)
{
    struct tzif t = {
        .offsets = { 1 * H, 2 * H },
        .types_count = 2,
        .times = { utc(1996, 3, 31, 1), utc(1996, 10, 27, 1) },
        .types = { 1, 0 },
        .count = 2,
        .rule = "CET-1CEST,M3.5.0,M10.5.0/3",
    };
    uint8_t bytes[TZIF_SIZE];
    struct zone zone = tzif_zone(&t, bytes);

    (void)state;
    expect(&zone, utc(1996, 3, 31, 1) - 1, H, INT64_MIN, utc(1996, 3, 31, 1));
    expect(&zone, utc(1996, 10, 27, 1), H, utc(1996, 10, 27, 1), utc(1997, 3, 30, 1));
    expect(&zone, utc(1997, 3, 30, 1), 2 * H, utc(1997, 3, 30, 1), utc(1997, 10, 26, 1));
    assert_true(zone_repeats_from(&zone) > utc(1997, 10, 26, 1));
    assert_true(zone_repeats_from(&zone) < utc(1999, 10, 26, 1));
    /* The table ends in the middle of what the rule calls winter. */
    t.times[1] = utc(1996, 12, 24, 0);
    t.types[1] = 0;
    zone = tzif_zone(&t, bytes);
    expect(&zone, utc(1996, 12, 24, 0), H, utc(1996, 12, 24, 0), utc(1997, 3, 30, 1));
    /* And has nothing new to say there. */
    t.types[0] = 0;
    zone = tzif_zone(&t, bytes);
    expect(&zone, utc(1997, 1, 1, 0), H, INT64_MIN, utc(1997, 3, 30, 1));
    expect(&zone, 0, H, INT64_MIN, utc(1997, 3, 30, 1));
}

static void test_rules(void **state)
{
    const struct {
        const char *rule;
        int64_t at;
        int32_t offset;
        int64_t from, until;
    } cases[] = {
        /* A change at 02:00 where nothing is said; the last Sunday, of four or of five. */
        { "EST5EDT,M3.2.0,M11.1.0", utc(2026, 7, 1, 0), -4 * H, utc(2026, 3, 8, 7),
          utc(2026, 11, 1, 6) },
        { "EST5EDT,M3.2.0,M11.1.0", utc(2099, 12, 31, 23), -5 * H, utc(2099, 11, 1, 6),
          utc(2100, 3, 14, 7) },
        { "CET-1CEST,M3.5.0,M10.5.0/3", utc(2038, 1, 19, 4), H, utc(2037, 10, 25, 1),
          utc(2038, 3, 28, 1) },
        /* Half an hour, to the south. */
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", utc(2027, 1, 1, 0), 11 * H,
          utc(2026, 10, 3, 15) + H / 2, utc(2027, 4, 3, 15) },
        /* Two hours; summer time below standard time. */
        { "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", utc(2026, 7, 1, 0), 2 * H, utc(2026, 3, 29, 1),
          utc(2026, 10, 25, 1) },
        { "IST-1GMT0,M10.5.0,M3.5.0/1", utc(2026, 12, 1, 0), 0, utc(2026, 10, 25, 1),
          utc(2027, 3, 28, 1) },
        /* Hours below 0 and past 24. */
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", utc(2026, 7, 1, 0), -1 * H, utc(2026, 3, 29, 1),
          utc(2026, 10, 25, 1) },
        { "EET-2EEST,M3.4.4/50,M10.4.4/50", utc(2026, 7, 1, 0), 3 * H, utc(2026, 3, 28, 0),
          utc(2026, 10, 23, 23) },
        { "AAA0BBB,M1.1.0/-167,M7.1.0/167", utc(2026, 1, 1, 0), H, utc(2025, 12, 28, 1),
          utc(2026, 7, 11, 22) },
        /* Days of the year, without and with February 29. */
        { "AAA0BBB,J60/0,J300/0", utc(2024, 7, 1, 0), H, utc(2024, 3, 1, 0),
          utc(2024, 10, 26, 23) },
        { "AAA0BBB,J60/0,J300/0", utc(2023, 7, 1, 0), H, utc(2023, 3, 1, 0),
          utc(2023, 10, 26, 23) },
        { "AAA0BBB,59/0,300/0", utc(2024, 7, 1, 0), H, utc(2024, 2, 29, 0), utc(2024, 10, 26, 23) },
        { "AAA0BBB,59/0,300/0", utc(2023, 7, 1, 0), H, utc(2023, 3, 1, 0), utc(2023, 10, 27, 23) },
        /* Minutes and seconds, and an offset to the west that is said with a sign. */
        { "AAA+0:30:15BBB-0:29:45,J60/0:00:15,J300/-0:00:15", utc(2023, 7, 1, 0), 1785,
          utc(2023, 3, 1, 0) + 30 + 1800, utc(2023, 10, 26, 23) + 1800 },
        { "AAA-24", 0, 24 * H, INT64_MIN, ZONE_NEVER },
        /* Summer time all year round, in the two ways of RFC 8536; and never. */
        { "EST5EDT,0/0,J365/25", utc(2026, 1, 1, 0), -4 * H, INT64_MIN, ZONE_NEVER },
        { "XXX3EDT4,0/0,J365/23", utc(2026, 1, 1, 3), -4 * H, INT64_MIN, ZONE_NEVER },
        { "AAA1AAA1,M3.2.0,M11.1.0", 0, -1 * H, INT64_MIN, ZONE_NEVER },
    };
    uint8_t bytes[TZIF_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct zone zone = tzif_rule(cases[i].rule, bytes);

        print_message("%s\n", cases[i].rule);
        expect(&zone, cases[i].at, cases[i].offset, cases[i].from, cases[i].until);
    }
}

static void test_far_away(void **state)
{
    uint8_t bytes[TZIF_SIZE];
    struct zone zone = tzif_rule("CET-1CEST,M3.5.0,M10.5.0/3", bytes);
    const int64_t cycle = DATE_CYCLE_DAYS * DATE_DAY_S;

    (void)state;
    expect(&zone, utc(2026, 7, 1, 0) + 500 * cycle, 2 * H, utc(2026, 3, 29, 1) + 500 * cycle,
           utc(2026, 10, 25, 1) + 500 * cycle);
    expect(&zone, utc(2026, 7, 1, 0) - 500 * cycle, 2 * H, utc(2026, 3, 29, 1) - 500 * cycle,
           utc(2026, 10, 25, 1) - 500 * cycle);
    for (int i = 0; i < 2; i++) {
        int64_t at = i ? INT64_MAX - 1 : INT64_MIN, from, until;

        zone_offset(&zone, at, &from, &until);
        assert_true(from <= at && at < until);
    }
}

static void test_bad_rules(void **state)
{
    static const char *const rules[] = {
        "CET",
        "CE-1",
        "CET-1:",
        "CET-1:60",
        "CET-1:00:60",
        "CET-25",
        "CET-1 ",
        "CET-1CEST",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,",
        "CET-1CEST,M3.5.0,M10.5.0/3,",
        "CET-1CEST,M13.5.0,M10.5.0/3",
        "CET-1CEST,M3.0.0,M10.5.0/3",
        "CET-1CEST,M3.6.0,M10.5.0/3",
        "CET-1CEST,M3.5.7,M10.5.0/3",
        "CET-1CEST,M3.5,M10.5.0/3",
        "CET-1CEST,J0,M10.5.0/3",
        "CET-1CEST,366,M10.5.0/3",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,M3.5.0/-168,M10.5.0",
        "CET-1CEST,M3.5.0/00001,M10.5.0",
        "<CET-1",
        "<C,T>-1",
        "C3T-1",
        ":CET-1",
        /* Both days on one day; changes that pass each other. */
        "AAA0BBB,M3.2.0/0,M3.2.0/1",
        "EST5EDT,0/0,J365/26",
        "AAA0BBB,M3.2.0,M3.1.1/160",
        /* Summer ends where it begins again, but in leap years a day before. */
        "AAA0BBB,0/0,364/25",
    };
    uint8_t bytes[TZIF_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct zone zone = { .count = 77 };
        size_t size = tzif_write(&(struct tzif){ .rule = rules[i] }, bytes);

        if (zone_parse(bytes, size, &zone) != -EBADMSG)
            fail_msg("%s is a rule", rules[i]);
        assert_int_equal(zone.count, 77);
    }
}

/* A zone with a table and a rule, of which a test breaks one byte or some. */
static size_t whole_file(uint8_t bytes[TZIF_SIZE])
{
    const struct tzif t = {
        .offsets = { 0, H },
        .types_count = 2,
        .times = { 1000, 2000 },
        .types = { 1, 0 },
        .count = 2,
        .rule = "CET-1",
    };

    return tzif_write(&t, bytes);
}

static void test_bad_files(void **state)
{
    /* The old block ends at 54. Then: header 44, times 16, types 2, infos 12, names 4, rule. */
    enum { NEW = 54, TIMES = NEW + 44, TYPES = TIMES + 16, INFOS = TYPES + 2, RULE = INFOS + 16 };
    const struct {
        size_t at;
        uint8_t value;
        const char *what;
    } cases[] = {
        { 0, 'X', "no TZif" },
        { 4, 0, "version 1" },
        { 4, '1', "version 1, wrongly said" },
        { 32, 1, "a count of the old block that is too great" },
        { NEW, 'X', "no second header" },
        { NEW + 20, 0xff, "more than there can be" },
        { NEW + 31, 1, "leap seconds" },
        { NEW + 35, 3, "more instants than there are" },
        { NEW + 39, 0, "no type" },
        { TIMES + 8, 0xff, "instants that go back" },
        { TIMES + 8, 0x7f, "an instant after the end of the world" },
        { TYPES, 2, "a type that is not there" },
        { INFOS, 0x40, "an offset of years" },
        { INFOS + 7, 2, "an offset of 26 hours and more" },
        { RULE, 'X', "no line" },
    };
    uint8_t bytes[TZIF_SIZE];
    struct zone zone;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t size = whole_file(bytes);

        assert_int_equal(zone_parse(bytes, size, &zone), 0);
        bytes[cases[i].at] = cases[i].value;
        if (zone_parse(bytes, size, &zone) != -EBADMSG)
            fail_msg("taken: %s", cases[i].what);
    }
}

/* Whole and sane, but for a clock that counts leap seconds. */
static void test_leap_seconds(void **state)
{
    enum { COUNT = 54 + 31, RECORDS = 54 + 44 + 16 + 2 + 12 + 4, RECORD_SIZE = 12 };
    uint8_t bytes[TZIF_SIZE];
    size_t size = whole_file(bytes);
    struct zone zone;

    (void)state;
    memmove(bytes + RECORDS + RECORD_SIZE, bytes + RECORDS, size - RECORDS);
    memset(bytes + RECORDS, 0, RECORD_SIZE);
    bytes[COUNT] = 1;
    assert_int_equal(zone_parse(bytes, size + RECORD_SIZE, &zone), -ENOTSUP);
}

static void test_real_zones(void **state)
{
    static const char *const names[] = {
        "Europe/Berlin", "America/New_York",    "Africa/Casablanca", "Asia/Gaza", "America/Nuuk",
        "Pacific/Apia",  "Australia/Lord_Howe", "Europe/Dublin",     "UTC",       "Etc/GMT+5"
    };
    struct unit_random random = unit_random_begin();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct zone zone;
        size_t size;
        uint8_t *bytes = tzif_read(names[i], &size);

        assert_int_equal(zone_parse(bytes, size, &zone), 0);
        for (int n = 0; n < 2000; n++) {
            int64_t at = unit_random_in(&random, utc(1850, 1, 1, 0), utc(2500, 1, 1, 0));
            int64_t from, until, other_from, other_until;
            int32_t offset = zone_offset(&zone, at, &from, &until);

            assert_true(from <= at && at < until);
            assert_true(zone_offset(&zone, from, &other_from, &other_until) == offset);
            assert_true(other_from == from && other_until == until);
            if (until == ZONE_NEVER)
                continue;
            assert_true(zone_offset(&zone, until, &other_from, &other_until) != offset);
            assert_true(other_from == until);
        }
        free(bytes);
    }
}

static void test_real_berlin(void **state)
{
    struct zone zone;
    size_t size;
    uint8_t *bytes = tzif_read("Europe/Berlin", &size);

    (void)state;
    assert_int_equal(zone_parse(bytes, size, &zone), 0);
    /* Local mean time; the summer time of 1916; the one before the rule; and beyond 2037. */
    expect(&zone, utc(1850, 1, 1, 0), 3208, INT64_MIN, utc(1893, 3, 31, 23) + 392);
    expect(&zone, utc(1916, 7, 1, 0), 2 * H, utc(1916, 4, 30, 22), utc(1916, 9, 30, 23));
    expect(&zone, utc(1990, 7, 1, 0), 2 * H, utc(1990, 3, 25, 1), utc(1990, 9, 30, 1));
    expect(&zone, utc(2026, 7, 1, 0), 2 * H, utc(2026, 3, 29, 1), utc(2026, 10, 25, 1));
    expect(&zone, utc(2100, 7, 1, 0), 2 * H, utc(2100, 3, 28, 1), utc(2100, 10, 31, 1));
    free(bytes);
}

/* Whatever a zone says that is taken, its answers hang together. */
static void ask_all_over(const struct zone *zone)
{
    for (int year = 1700; year < 2600; year += 7) {
        int64_t at = utc(year, 5, 5, 5), from, until;
        int32_t offset = zone_offset(zone, at, &from, &until);

        assert_true(from <= at && at < until);
        assert_true(offset > -ZONE_OFFSET_MAX && offset < ZONE_OFFSET_MAX);
    }
}

/* Nothing is read outside of the bytes, which the sanitizers see; and no half of a file is taken.
 */
static void test_damaged_files(void **state)
{
    static const char *const names[] = { "Europe/Berlin", "Africa/Casablanca", "UTC",
                                         "Pacific/Apia" };
    struct unit_random random = unit_random_begin();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct zone zone;
        size_t size;
        uint8_t *bytes = tzif_read(names[i], &size);

        for (size_t n = 0; n < size; n++) {
            uint8_t *part = malloc(n ? n : 1);

            assert_non_null(part);
            memcpy(part, bytes, n);
            assert_int_equal(zone_parse(part, n, &zone), -EBADMSG);
            free(part);
        }
        for (int n = 0; n < 3000; n++) {
            uint8_t *copy = malloc(size);

            assert_non_null(copy);
            memcpy(copy, bytes, size);
            for (int64_t flips = unit_random_in(&random, 1, 4); flips > 0; flips--)
                copy[unit_random_in(&random, 0, (int64_t)size - 1)] ^=
                    (uint8_t)(1 << unit_random_in(&random, 0, 7));
            if (zone_parse(copy, size, &zone) == 0)
                ask_all_over(&zone);
            free(copy);
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utc),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_rule_after_table),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_far_away),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_leap_seconds),
        cmocka_unit_test(test_real_zones),
        cmocka_unit_test(test_real_berlin),
        cmocka_unit_test(test_damaged_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
