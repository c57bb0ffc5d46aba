/* SPDX-License-Identifier: MIT
 * Golden screens: for each NAME of a scene here, NAME.txt in the folder GOLDEN is what it looks
 * like on a terminal of 80 columns, and NAME.narrow.txt on one of 40. status.txt and show.txt are
 * the models that the design has. With ROTA_GOLDEN_WRITE in the environment they are written
 * instead: look at them. */
#include "base/text.h"
#include "base/time.h"
#include "base/units.h"
#include "rotactl/columns.h"
#include "rotactl/show_view.h"
#include "support/golden.h"

#include <stdlib.h>
#include <string.h>

/* 2026-12-02 02:34:13 UTC, a Wednesday. */
#define MIDNIGHT INT64_C(1796169600000)
#define NOW (MIDNIGHT + 2 * HOUR_MS + 34 * MINUTE_MS + 13 * SECOND_MS)
#define AT(hour, minute) (MIDNIGHT + (hour)*HOUR_MS + (minute)*MINUTE_MS)
#define ROTAD(...)                                                                                 \
    {                                                                                              \
        .version = "1.4.0", .uptime_ms = 12 * DAY_MS, .fleet = "acme-gw:", .now = NOW,             \
        .ours_ms = 400, __VA_ARGS__                                                                \
    }
#define REDIS_OK .redis = "ok", .trip_ms = 84, .tls = true

/* In a scene a number that is 0 was not said. */
static void forget_zeros(const struct fact *facts, size_t count, void *of)
{
    for (size_t i = 0; i < count; i++) {
        int64_t *number = (int64_t *)((char *)of + facts[i].offset);

        if (facts[i].kind == FACT_NUMBER && *number == 0)
            *number = FACT_NONE;
    }
}

static void complete_job(struct status_job *job)
{
    job->limit_ms = 10 * MINUTE_MS;
    job->attempts = 3;
    forget_zeros(status_job_facts, status_job_facts_count, job);
}

/* --- what is compared --- */

static void check(const char *name, const char *end, const char *drawn)
{
    char path[512];

    assert_true(text_format(path, sizeof path, GOLDEN "/%s%s", name, end));
    golden_check(path, drawn);
}

/* A picture is of lines that fit, without anything that speaks to a terminal. */
static void check_lines(const char *text, size_t width)
{
    size_t columns = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        assert_true(c == '\n' || (c >= 0x20 && c != 0x7f));
        columns = c == '\n' ? 0 : columns + ((c & 0xc0) != 0x80);
        assert_in_range(columns, 0, width);
    }
}

typedef void draw_scene(FILE *out, const struct screen *screen, const void *scene);

static void check_scene(const char *name, draw_scene *draw, const void *scene)
{
    static const struct {
        size_t width;
        const char *end;
    } shapes[] = { { 80, ".txt" }, { 60, ".middle.txt" }, { 40, ".narrow.txt" } };

    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct screen screen = { .width = shapes[i].width, .headings = true };
        size_t size = 0;
        char *text = NULL;
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        draw(out, &screen, scene);
        assert_int_equal(fclose(out), 0);
        check(name, shapes[i].end, text);
        check_lines(text, shapes[i].width);
        free(text);
    }
}

static void draw_status(FILE *out, const struct screen *screen, const void *scene)
{
    assert_int_equal(status_print(out, screen, scene, NULL), 0);
}

static void check_status(const char *name, struct status *s)
{
    for (size_t i = 0; i < s->job_count; i++)
        complete_job(&s->jobs[i]);
    forget_zeros(status_facts, status_facts_count, &s->rotad);
    s->now_ms = NOW;
    check_scene(name, draw_status, s);
}

static void draw_show(FILE *out, const struct screen *screen, const void *scene)
{
    show_print(out, screen, scene);
}

/* --- status --- */

static void test_the_model_of_status(void **state)
{
    struct status_job jobs[] = {
        { .name = "nightly_report",
          .state = "RUNNING",
          .turn = AT(2, 30),
          .ran_ms = 252000,
          .next = AT(26, 30),
          .attempt = 1 },
        { .name = "sync_prices",
          .state = "WAITING",
          .turn = AT(2, 30),
          .turn_went = "done",
          .turn_by = "gate-3077",
          .next = AT(2, 35) },
        { .name = "rotate_keys",
          .state = "WATCHING",
          .turn = AT(2, 0),
          .outcome = "failed",
          .outcome_turn = AT(2, 0),
          .outcome_attempt = 2,
          .again = NOW + 40000,
          .next = AT(26, 0),
          .outcome_why = "vault: connection refused (10.2.0.9:8200)" },
        { .name = "upload_logs",
          .state = "INVALID",
          .why = "/etc/rota/jobs.d/upload.conf:7: plugin 'uplaod' is not in /usr/lib/rota; did "
                 "you mean 'upload'?" },
    };
    struct status s = { .device = "gate-0007",
                        .rotad = ROTAD(REDIS_OK, .busy = true),
                        .jobs = jobs,
                        .job_count = COUNT_OF(jobs) };

    (void)state;
    check_status("status", &s);
}

/* Each state that a job can be in. */
static void test_all_states(void **state)
{
    struct status_job jobs[] = {
        { .name = "done_here",
          .state = "WAITING",
          .turn = AT(-22, 0),
          .outcome = "succeeded",
          .outcome_turn = AT(-22, 0),
          .outcome_attempt = 1,
          .outcome_ms = 291000,
          .next = AT(24, 0) },
        { .name = "done_elsewhere",
          .state = "WAITING",
          .turn = AT(-72, 0),
          .turn_went = "done",
          .turn_by = "gate-3077",
          .next = AT(96, 0) },
        { .name = "done_after_all",
          .state = "WAITING",
          .turn = AT(2, 0),
          .outcome = "failed",
          .outcome_turn = AT(2, 0),
          .outcome_attempt = 1,
          .outcome_why = "no route",
          .turn_went = "done",
          .turn_by = "gate-3077",
          .next = AT(26, 0) },
        { .name = "done_before",
          .state = "WAITING",
          .turn = AT(2, 0),
          .turn_went = "done",
          .turn_by = "gate-0007",
          .next = AT(26, 0) },
        { .name = "given_up_here",
          .state = "WAITING",
          .turn = AT(2, 0),
          .outcome = "failed",
          .outcome_turn = AT(2, 0),
          .outcome_attempt = 3,
          .outcome_why = "no route",
          .turn_went = "given up",
          .next = AT(26, 0) },
        { .name = "given_up",
          .state = "WAITING",
          .turn = AT(2, 0),
          .turn_went = "given up",
          .next = AT(26, 0) },
        { .name = "held",
          .state = "WATCHING",
          .turn = AT(2, 34),
          .holder = "gate-0412",
          .next = AT(2, 35),
          .again = NOW + 21000 },
        { .name = "new", .state = "WAITING", .next = AT(24 * 30, 0) },
        { .name = "no_clock", .state = "NO_CLOCK" },
        { .name = "off", .state = "DISABLED" },
        { .name = "outdated",
          .state = "WAITING",
          .bar = "outdated",
          .turn = AT(2, 0),
          .next = AT(26, 0) },
        { .name = "paused",
          .state = "WAITING",
          .bar = "paused",
          .turn = AT(2, 0),
          .next = AT(26, 0) },
        { .name = "stuck",
          .state = "STUCK",
          .stuck = true,
          .turn = AT(2, 0),
          .next = AT(26, 0),
          .outcome = "overrun",
          .outcome_turn = AT(2, 0),
          .outcome_attempt = 1 },
        { .name = "taken",
          .state = "WAITING",
          .turn = AT(2, 30),
          .turn_went = "taken",
          .turn_by = "gate-0412",
          .next = AT(2, 35) },
        { .name = "elsewhere", .state = "ELSEWHERE" },
    };
    struct status s = { .device = "gate-0007",
                        .rotad = ROTAD(REDIS_OK, .draining = true, .busy = true),
                        .jobs = jobs,
                        .job_count = COUNT_OF(jobs) };

    (void)state;
    check_status("states", &s);
}

static void test_redis_away(void **state)
{
    struct status_job jobs[] = {
        { .name = "sync_prices", .state = "ASKING", .turn = AT(2, 30), .next = AT(2, 35) },
    };
    struct status s = {
        .device = "gate-0007",
        .rotad = ROTAD(.redis = "unreachable", .redis_down_ms = 14 * MINUTE_MS, .missed = 2,
                       .redis_why = "redis.example:6379 does not answer (no connection within "
                                    "10 s)"),
        .jobs = jobs,
        .job_count = COUNT_OF(jobs)
    };

    (void)state;
    check_status("redis_away", &s);
}

/* One of five servers is away: the head says so, and below it needs a look. */
static void test_quorum(void **state)
{
    struct status_job jobs[] = {
        { .name = "sync_prices", .state = "ASKING", .turn = AT(2, 30), .next = AT(2, 35) },
    };
    struct status s = { .device = "gate-0007",
                        .rotad = ROTAD(REDIS_OK, .servers = 5, .servers_ok = 4),
                        .jobs = jobs,
                        .job_count = COUNT_OF(jobs) };

    (void)state;
    check_status("quorum", &s);
}

/* The master that they have named. */
static void test_sentinels(void **state)
{
    struct status_job jobs[] = {
        { .name = "sync_prices", .state = "ASKING", .turn = AT(2, 30), .next = AT(2, 35) },
    };
    struct status s = { .device = "gate-0007",
                        .rotad = ROTAD(REDIS_OK, .master = "redis-2.example:6379"),
                        .jobs = jobs,
                        .job_count = COUNT_OF(jobs) };

    (void)state;
    check_status("sentinels", &s);
}

/* Names, reasons and words that would speak to the terminal, hide what follows, or push it away. */
#define HOSTILE "\x1b]0;owned\x07\xe2\x80\xaegnp.exe\xff\xc2\x9b\n\r"

static void test_hostile_texts(void **state)
{
    struct status_job jobs[] = {
        { .name = "a_job_whose_name_is_as_long_as_a_name_of_a_job_can_be_at_all_63",
          .state = "WATCHING",
          .turn = AT(2, 0),
          .holder = HOSTILE,
          .next = AT(26, 0),
          .again = NOW },
        { .name = HOSTILE,
          .state = HOSTILE,
          .turn = AT(2, 0),
          .turn_went = "done",
          .turn_by = HOSTILE,
          .next = AT(26, 0),
          .fault = HOSTILE },
        { .name = "x",
          .state = "WAITING",
          .turn = AT(2, 0),
          .outcome = HOSTILE,
          .outcome_turn = AT(2, 0),
          .outcome_attempt = 1,
          .outcome_why = HOSTILE,
          .next = AT(26, 0),
          .bar = HOSTILE },
    };
    struct status s = {
        .device = HOSTILE,
        .rotad = { .version = HOSTILE, .fleet = HOSTILE, .redis = HOSTILE, .unread = HOSTILE },
        .jobs = jobs,
        .job_count = COUNT_OF(jobs)
    };

    (void)state;
    check_status("hostile", &s);
}

/* --- show --- */

static struct show model_of_show(void)
{
    static struct show_line lines[] = { { NOW - 2000, "part 4 of 7 sent" },
                                        { NOW + 27000, "part 5 of 7" } };

    return (struct show){
        .job = { .name = "nightly_report",
                 .state = "RUNNING",
                 .turn = AT(2, 30),
                 .next = AT(26, 30),
                 .attempt = 1,
                 .ran_ms = 280000 },
        .facts = { .device = "gate-0007",
                   .description = "Sends the nightly report.",
                   .plugin = "exec",
                   .plugin_version = "1.4.0",
                   .file = "/etc/rota/jobs.d/report.conf",
                   .line = 1,
                   .version = 3,
                   .fingerprint = "5c1d9e02aa55aa55",
                   .cron = "30 2 * * *",
                   .timezone = "UTC",
                   .scope = "fleet",
                   .lock = "redis",
                   .catch_up_ms = DAY_MS,
                   .worst_case_ms = 10 * MINUTE_MS,
                   .lease_ms = MINUTE_MS,
                   .stop_grace_ms = 5000,
                   .retry_delay_ms = MINUTE_MS,
                   .fence = INT64_C(1795967470124),
                   .started = AT(2, 30) + SECOND_MS,
                   .lease_renewed_ms = 9400,
                   .lease_left_ms = 51300,
                   .permille = 714,
                   .progress = "uploading part 5 of 7",
                   .now = NOW + 28000,
                   .uptime_ms = 12 * DAY_MS },
        .next = { AT(26, 30), AT(50, 30), AT(74, 30), AT(98, 30), AT(122, 30) },
        .next_count = 5,
        .lines = lines,
        .line_count = COUNT_OF(lines),
        .has_past = true,
        .past = { .runs = { { AT(-24 + 2, 30), 291000, 1, "succeeded", "" },
                            { AT(-72 + 2, 30), 130000, 2, "lost", "redis unreachable" } },
                  .run_count = 2,
                  .median_ms = 280000,
                  .p95_ms = 302000,
                  .longest_ms = 309000,
                  .times = 11,
                  .advice_key = "",
                  .advice_value = "",
                  .advice_lease = "",
                  .counts = { { "succeeded", 2 },
                              { "passed_held", 0 },
                              { "passed_done", 11 },
                              { "passed_error", 1 },
                              { "passed_full", 0 } },
                  .count_count = 5 },
    };
}

static void complete_show(struct show *s)
{
    complete_job(&s->job);
    forget_zeros(show_facts, show_facts_count, &s->facts);
}

static void test_the_model_of_show(void **state)
{
    struct show s = model_of_show();

    (void)state;
    complete_show(&s);
    check_scene("show", draw_show, &s);
}

/* Each device runs it; it waits, and has not run here. */
static void test_show_of_device_scope(void **state)
{
    struct show s = model_of_show();

    (void)state;
    s.job = (struct status_job){ .name = "firmware",
                                 .state = "WAITING",
                                 .turn = AT(2, 30),
                                 .turn_went = "done",
                                 .turn_by = "gate-0007",
                                 .next = AT(26, 30) };
    s.facts = (struct show_facts){ .device = "gate-0007",
                                   .plugin = "exec",
                                   .file = "/etc/rota/rotad.conf",
                                   .line = 20,
                                   .every_ms = DAY_MS,
                                   .offset_ms = 150 * MINUTE_MS,
                                   .catch_up_ms = DAY_MS,
                                   .scope = "device",
                                   .lock = "redis",
                                   .concurrency = 20,
                                   .worst_case_ms = HOUR_MS,
                                   .lease_ms = MINUTE_MS,
                                   .stop_grace_ms = 5000,
                                   .now = NOW };
    s.past.run_count = 0;
    s.past.times = 0;
    s.line_count = 0;
    complete_show(&s);
    check_scene("show_device", draw_show, &s);
}

static void test_show_of_hostile_texts(void **state)
{
    struct show_line line = { NOW, HOSTILE };
    struct show s = model_of_show();

    (void)state;
    s.job.name = s.job.fault = s.facts.description = s.facts.plugin = s.facts.plugin_version =
        s.facts.file = s.facts.fingerprint = s.facts.cron = s.facts.timezone = s.facts.progress =
            HOSTILE;
    s.past.runs[0].outcome = s.past.runs[0].why = HOSTILE;
    s.past.advice_key = s.past.advice_value = s.past.advice_lease = HOSTILE;
    s.lines = &line;
    s.line_count = 1;
    complete_show(&s);
    check_scene("show_hostile", draw_show, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_model_of_status),
        cmocka_unit_test(test_all_states),
        cmocka_unit_test(test_redis_away),
        cmocka_unit_test(test_quorum),
        cmocka_unit_test(test_sentinels),
        cmocka_unit_test(test_hostile_texts),
        cmocka_unit_test(test_the_model_of_show),
        cmocka_unit_test(test_show_of_hostile_texts),
        cmocka_unit_test(test_show_of_device_scope),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
