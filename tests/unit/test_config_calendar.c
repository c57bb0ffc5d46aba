/* SPDX-License-Identifier: MIT
 * cron, its time zones, and what is said of both. */
#include "test_config_support.h"

#include "base/units.h"
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SERVER "prefix = \"a:\"; device = \"d\"; redis = { address = \"127.0.0.1:6379\"; };\n"
#define JOB "plugin = \"exec\"; worst_case = \"1m\";"
#define ZONES "usr/share/zoneinfo/"
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define CHANGES_MAX 64

struct change {
    int64_t at;
    bool summer;
};

static size_t put_number(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    return bytes;
}

static size_t put_header(uint8_t *out, uint32_t changes, uint32_t types)
{
    const uint32_t counts[] = { 0, 0, 0, changes, types, 1 };
    size_t n = 20;

    memset(out, 0, n);
    memcpy(out, "TZif2", 5);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        n += put_number(out + n, counts[i], 4);
    return n;
}

/* A zone at +1 h, in summer +2 h: the changes that are listed, and the rule after them. */
static void write_zone(const struct place *p, const char *name, const struct change *changes,
                       size_t count, const char *rule)
{
    uint8_t bytes[2048];
    size_t n = put_header(bytes, 0, 1);

    memset(bytes + n, 0, 7);
    n += 7;
    n += put_header(bytes + n, (uint32_t)count, 2);
    for (size_t i = 0; i < count; i++)
        n += put_number(bytes + n, (uint64_t)changes[i].at, 8);
    for (size_t i = 0; i < count; i++)
        bytes[n++] = changes[i].summer;
    for (int summer = 0; summer < 2; summer++) {
        n += put_number(bytes + n, summer ? 7200 : 3600, 4);
        bytes[n++] = (uint8_t)summer;
        bytes[n++] = 0;
    }
    bytes[n++] = '\0';
    n += (size_t)sprintf((char *)bytes + n, "\n%s\n", rule);
    place_write_bytes(p, name, bytes, n);
}

/* Whole and sane, but with a leap second. */
static void write_leap_zone(const struct place *p, const char *name)
{
    const size_t leaps_at = 20 + 2 * sizeof(uint32_t), data_size = 6 + 1 + 12;
    uint8_t bytes[256] = { 0 };
    size_t n = put_header(bytes, 0, 1) + 7, second = n;

    n += put_header(bytes + n, 0, 1);
    put_number(bytes + second + leaps_at, 1, 4);
    n += data_size;
    n += (size_t)sprintf((char *)bytes + n, "\nCET-1\n");
    place_write_bytes(p, name, bytes, n);
}

/* 01:00 UTC on the last Sunday of the month. */
static int64_t last_sunday(int year, int month)
{
    struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = 31, .tm_hour = 1 };
    int64_t end = timegm(&tm);

    return end - tm.tm_wday * INT64_C(86400);
}

/* As a tzdata lists them that has no rules: up to 2037 where a rule follows, else further. */
static size_t list_changes(struct change *changes, int until)
{
    size_t n = 0;

    for (int year = 2020; year < until; year++) {
        changes[n++] = (struct change){ last_sunday(year, 3), true };
        changes[n++] = (struct change){ last_sunday(year, 10), false };
    }
    return n;
}

static void write_zones(const struct place *p)
{
    write_zone(p, ZONES "Europe/Berlin", NULL, 0, BERLIN);
    write_zone(p, ZONES "America/Argentina/Buenos_Aires", NULL, 0, "<-03>3");
    write_zone(p, ZONES "posix/Antarctica/Atlantis", NULL, 0, BERLIN);
}

static struct config *load(const struct place *p, const char *jobs)
{
    char text[2048];

    snprintf(text, sizeof(text), SERVER "jobs = {\n%s };", jobs);
    place_write(p, "etc/rota/rotad.conf", text);
    return place_load_system(p);
}

static struct config *load_job(const struct place *p, const char *keys)
{
    char job[1024];

    snprintf(job, sizeof(job), "a = { " JOB " %s };", keys);
    return load(p, job);
}

static int64_t next_minute(const struct job_config *job, int64_t after_minute)
{
    return schedule_next(&job->spec.schedule, (struct wall){ after_minute * MINUTE_MS }).ms /
           MINUTE_MS;
}

static void test_a_zone_is_read_once(void **state)
{
    struct config *c;
    int64_t spring = last_sunday(2027, 3) / 60;

    write_zones(*state);
    c = load(*state, "a = { " JOB " cron = \"30 2 * * *\"; timezone = \"Europe/Berlin\"; };\n"
                     "b = { " JOB " cron = \"@daily\"; timezone = \"Europe/Berlin\"; };\n"
                     "c = { " JOB " cron = \"30 2 * * *\"; timezone = \"UTC\"; };\n"
                     "d = { " JOB " cron = \"30 2 * * *\"; };\n");
    place_expect(*state, c, "");
    assert_non_null(c->jobs[0].spec.schedule.zone);
    assert_ptr_equal(c->jobs[0].spec.schedule.zone, c->jobs[1].spec.schedule.zone);
    assert_null(c->jobs[2].spec.schedule.zone);
    assert_null(c->jobs[3].spec.schedule.zone);
    assert_string_equal(c->jobs[3].timezone, "UTC");
    assert_int_equal(next_minute(&c->jobs[2], spring), spring + 90);
    /* Half past two is left out that night, at 01:00 UTC: due when it is left out. */
    assert_int_equal(next_minute(&c->jobs[0], spring - 60), spring);
    assert_int_equal(next_minute(&c->jobs[0], spring), spring + 24 * 60 - 30);
    config_free(c);
}

static void test_defaults_by_cron(void **state)
{
    struct config *c = load(*state, "a = { " JOB " cron = \"*/2 * * * *\"; };\n"
                                    "b = { " JOB " cron = \"@yearly\"; };\n");
    const struct job_spec *often = &c->jobs[0].spec, *seldom = &c->jobs[1].spec;

    place_expect(*state, c, "");
    assert_int_equal(often->schedule.every_ms, 0);
    assert_int_equal(often->catch_up_ms, 2 * MINUTE_MS);
    assert_int_equal(often->splay_ms, SECOND_MS);
    assert_int_equal(often->retention_ms, 30 * DAY_MS);
    assert_int_equal(seldom->catch_up_ms, DAY_MS);
    assert_int_equal(seldom->retention_ms, 731 * DAY_MS);
    config_free(c);
}

/* A claim that has gone when December comes makes its first turn a first sight. */
static void test_retention_outlives_the_longest_wait(void **state)
{
    struct config *c;

    write_zones(*state);
    c = load(*state, "a = { " JOB " cron = \"0 4 * 12 *\"; };\n"
                     "b = { " JOB " cron = \"0 4 * 12 *\"; timezone = \"Europe/Berlin\"; };\n"
                     "c = { " JOB " cron = \"0 9 * * 1-5\"; retention = \"4d\"; };\n"
                     "d = { " JOB " cron = \"0 9 * * 1-5\"; retention = \"95h\"; };\n"
                     "e = { " JOB " every = \"20d\"; };\n");
    place_expect(*state, c,
                 "error /etc/rota/rotad.conf:6: job 'd': retention is \"3d23h\", and from one turn "
                 "to the next it may be 3 days, so that a turn could be forgotten before the next; "
                 "write \"4d\" or more\n");
    assert_int_equal(c->jobs[0].spec.retention_ms, 337 * DAY_MS);
    assert_int_equal(c->jobs[1].spec.retention_ms, 338 * DAY_MS);
    assert_int_equal(c->jobs[2].spec.retention_ms, 4 * DAY_MS);
    assert_int_equal(c->jobs[4].spec.retention_ms, 40 * DAY_MS);
    config_free(c);
}

static void expect_mistake(const struct place *p, const char *zone, const char *said)
{
    char keys[256], expected[1024];
    struct config *c;

    snprintf(keys, sizeof(keys), "cron = \"@daily\"; timezone = \"%s\";", zone);
    snprintf(expected, sizeof(expected),
             "error /etc/rota/rotad.conf:3: job 'a': timezone is \"%s\", and %s\n", zone, said);
    c = load_job(p, keys);
    place_expect(p, c, expected);
    assert_false(c->fatal);
    config_free(c);
}

static void test_a_zone_that_is_not_there(void **state)
{
    static const char no_guess[] = "there is no such zone in /usr/share/zoneinfo; write such as "
                                   "\"Europe/Berlin\", or \"UTC\"";

    write_zones(*state);
    place_write(*state, ZONES "EST", "");
    place_write(*state, ZONES "UTC+1", "");
    expect_mistake(*state, "Europe/Berlim",
                   "there is no such zone in /usr/share/zoneinfo; did you mean \"Europe/Berlin\"?");
    expect_mistake(*state, "berlin",
                   "there is no such zone in /usr/share/zoneinfo; did you mean \"Europe/Berlin\"?");
    expect_mistake(*state, "atlantis", no_guess);
    expect_mistake(*state, "America/Buenos_Aires", no_guess);
    expect_mistake(*state, "buenos_aires",
                   "there is no such zone in /usr/share/zoneinfo; did you mean "
                   "\"America/Argentina/Buenos_Aires\"?");
    expect_mistake(*state, "Europe/Berlin/East", no_guess);
    expect_mistake(*state, "BERLIN",
                   "there is no such zone in /usr/share/zoneinfo; did you mean \"Europe/Berlin\"?");
    /* EST is a letter away from it, and another zone. */
    expect_mistake(*state, "CEST", no_guess);
    expect_mistake(*state, "UTC+2", no_guess);
}

static void test_no_tzdata(void **state)
{
    struct config *c =
        load(*state, "a = { " JOB " cron = \"@daily\"; timezone = \"Europe/Berlin\"; };\n"
                     "b = { " JOB " cron = \"@daily\"; timezone = \"UTC\"; };");

    place_expect(*state, c,
                 "error /etc/rota/rotad.conf:3: job 'a': timezone is \"Europe/Berlin\", but there "
                 "is no /usr/share/zoneinfo; install the package tzdata, or write timezone = "
                 "\"UTC\"\n");
    assert_true(c->jobs[0].invalid);
    assert_true(config_job_runs(&c->jobs[1]));
    config_free(c);
}

static void test_a_zone_that_is_no_good(void **state)
{
    static char large[70000];

    write_zones(*state);
    place_write(*state, ZONES "Text", "hello\n");
    place_write_bytes(*state, ZONES "Large", large, sizeof(large));
    write_zone(*state, ZONES "Open", NULL, 0, BERLIN);
    assert_int_equal(chmod(place_path(*state, ZONES "Open"), 0666), 0);
    expect_mistake(*state, "Text",
                   "/usr/share/zoneinfo/Text is not used: it is damaged, or no zone file of "
                   "version 2 or later; install the package tzdata anew, or write another zone");
    expect_mistake(*state, "Large",
                   "/usr/share/zoneinfo/Large is not used: it has 70000 bytes; at most 65536 are "
                   "read");
    expect_mistake(*state, "Open",
                   "/usr/share/zoneinfo/Open is not used: '/usr/share/zoneinfo/Open' can be "
                   "changed by everybody; chmod it go-w");
    write_leap_zone(*state, ZONES "right/Europe/Berlin");
    expect_mistake(*state, "right/Europe/Berlin",
                   "/usr/share/zoneinfo/right/Europe/Berlin is not used: it counts leap seconds, "
                   "which the system's clock does not; write the zone's name without \"right/\", "
                   "such as \"Europe/Berlin\"");
    expect_mistake(
        *state, "Europe",
        "/usr/share/zoneinfo/Europe is a folder of zones; write such as \"Europe/Berlin\", or "
        "\"UTC\"");
}

static void link_zone(const struct place *p, const char *name, const char *target)
{
    char path[128];

    snprintf(path, sizeof(path), ZONES "%s", name);
    assert_int_equal(symlink(target, place_path(p, path)), 0);
}

/* The zone is there, and is not what is suggested in its place. */
static void test_a_zone_that_is_a_link(void **state)
{
    struct config *c;

    write_zones(*state);
    link_zone(*state, "Here", "Europe/Berlin");
    link_zone(*state, "Gone", "Europe/Bonn");
    link_zone(*state, "Away", "/usr/share/zoneinfo/Europe/Bonn");
    link_zone(*state, "Round", "About");
    link_zone(*state, "About", "Round");
    c = load_job(*state, "cron = \"@daily\"; timezone = \"Here\";");
    place_expect(*state, c, "");
    config_free(c);
    expect_mistake(*state, "Gone",
                   "/usr/share/zoneinfo/Gone is a link to a file that is not there; install the "
                   "package tzdata anew, or write another zone");
    expect_mistake(*state, "Away",
                   "/usr/share/zoneinfo/Away is a link to a file that is not there; install the "
                   "package tzdata anew, or write another zone");
    expect_mistake(*state, "Round",
                   "/usr/share/zoneinfo/Round is a link that leads back to itself; install the "
                   "package tzdata anew, or write another zone");
}

/* As in crontab(5); and as a space from there on. */
static void test_tabs_in_cron(void **state)
{
    struct config *spaces = load_job(*state, "cron = \"30 2 * * 1-5\";");
    struct config *tabs = load_job(*state, "cron = \"30\t2\t*\t* 1-5\";");

    place_expect(*state, tabs, "");
    assert_string_equal(tabs->jobs[0].cron, "30 2 * * 1-5");
    assert_true(config_job_equal(&spaces->jobs[0], &tabs->jobs[0]));
    config_free(tabs);
    config_free(spaces);
}

/* What the same keys give with another file of the zone. */
static void compare_zones(const struct place *p, const struct config *c, bool same)
{
    struct config *other = load_job(p, "cron = \"30 2 * * *\"; timezone = \"Europe/Berlin\";");

    place_expect(p, other, "");
    assert_int_equal(
        strcmp(other->jobs[0].spec.schedule_print, c->jobs[0].spec.schedule_print) == 0, same);
    assert_int_equal(strcmp(other->jobs[0].spec.fingerprint, c->jobs[0].spec.fingerprint) == 0,
                     same);
    assert_int_equal(config_job_equal(&other->jobs[0], &c->jobs[0]), same);
    config_free(other);
}

/* tzdata comes with a rule after few changes, or with all changes; that is no other zone. New rules
 * are, on the next reload. */
static void test_rules_of_a_zone_are_in_the_prints(void **state)
{
    struct change changes[CHANGES_MAX];
    struct config *c;

    write_zones(*state);
    c = load_job(*state, "cron = \"30 2 * * *\"; timezone = \"Europe/Berlin\";");
    place_expect(*state, c, "");
    compare_zones(*state, c, true);
    write_zone(*state, ZONES "Europe/Berlin", changes, list_changes(changes, 2038), BERLIN);
    compare_zones(*state, c, true);
    write_zone(*state, ZONES "Europe/Berlin", changes, list_changes(changes, 2030), "CET-1");
    compare_zones(*state, c, false);
    write_zone(*state, ZONES "Europe/Berlin", NULL, 0, "CET-1CEST,M3.5.0,M10.4.0/3");
    compare_zones(*state, c, false);
    config_free(c);
}

static void test_prints_follow_meaning(void **state)
{
    static const struct {
        const char *keys;
        bool same;
    } cases[] = {
        { "cron = \"0 0 * * *\";", true },
        { "cron = \"@daily\";", true },
        { "cron = \" 0  00 1-31 jan-dec 0-6\"; timezone = \"UTC\";", false }, /* either day */
        { "cron = \"0 0 */1 1-12 *\";", true },
        { "cron = \"0 0 * * *\"; timezone = \"Europe/Berlin\";", false },
        { "cron = \"0 0 * * *\"; splay = \"2s\";", true },
        { "cron = \"1 0 * * *\";", false },
        { "cron = \"0 1 * * *\";", false },
        { "cron = \"0 0 1 * *\";", false },
        { "cron = \"0 0 * 1 *\";", false },
        { "cron = \"0 0 * * 1\";", false },
        { "every = \"1d\";", false },
    };
    struct config *c;

    write_zones(*state);
    c = load_job(*state, "cron = \"0 0 * * *\";");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct config *other = load_job(*state, cases[i].keys);
        const struct job_spec *spec = &other->jobs[0].spec, *first = &c->jobs[0].spec;

        assert_int_equal(other->problems.errors, 0);
        assert_int_equal(strcmp(spec->schedule_print, first->schedule_print) == 0, cases[i].same);
        assert_int_equal(strcmp(spec->fingerprint, first->fingerprint) == 0, cases[i].same);
        config_free(other);
    }
    config_free(c);
}

/* Final, and computed apart from this code. */
static void test_prints_are_final(void **state)
{
    struct config *c = load_job(*state, "cron = \"30 2 * * 1-5\";");

    assert_string_equal(c->jobs[0].spec.schedule_print, "8fc6cba9");
    assert_string_equal(c->jobs[0].spec.fingerprint, "b289ad6a");
    config_free(c);
    write_zones(*state);
    c = load_job(*state, "cron = \"30 2 * * 1-5\"; timezone = \"America/Argentina/Buenos_Aires\";");
    place_expect(*state, c, "");
    assert_string_equal(c->jobs[0].spec.fingerprint, "d2510d7b");
    config_free(c);
}

static void test_print_parses_again(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct config *c, *again;

    assert_non_null(out);
    write_zones(*state);
    c = load(*state,
             "a = { " JOB
             " cron = \"30 2 * * 1-5\"; timezone = \"Europe/Berlin\"; was = \"z\"; };\n"
             "b = { " JOB " cron = \"@daily\"; enabled = false; devices = [ \"x*\", \"?\" ]; };\n"
             "c = { " JOB " every = \"1h\"; offset = \"5m\"; devices = \"*\"; };\n"
             /* The rarest: what it needs is the longest retention. */
             "d = { " JOB " cron = \"0 0 29 2 */7\"; timezone = \"Europe/Berlin\"; };\n");
    place_expect(*state, c, "");
    assert_int_equal(config_print(c, out), 0);
    assert_int_equal(fclose(out), 0);
    place_write(*state, "etc/rota/rotad.conf", text);
    again = place_load_system(*state);
    place_expect(*state, again, "");
    assert_int_equal(again->job_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(config_job_equal(&c->jobs[i], &again->jobs[i]));
    assert_string_equal(again->jobs[0].spec.key, "z");
    assert_int_equal(again->jobs[3].spec.retention_ms, 24837 * DAY_MS);
    config_free(c);
    config_free(again);
    free(text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_zone_is_read_once),      TEST(test_defaults_by_cron),
        TEST(test_a_zone_that_is_not_there), TEST(test_no_tzdata),
        TEST(test_a_zone_that_is_no_good),   TEST(test_rules_of_a_zone_are_in_the_prints),
        TEST(test_prints_follow_meaning),    TEST(test_prints_are_final),
        TEST(test_a_zone_that_is_a_link),    TEST(test_tabs_in_cron),
        TEST(test_print_parses_again),       TEST(test_retention_outlives_the_longest_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
