/* SPDX-License-Identifier: MIT
 * The screen of rotactl fleet: the whole of it, as it is meant to look; and each of its words. */
#include "base/text.h"
#include "base/units.h"
#include "rotactl/fleet_view.h"
#include "unit.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW INT64_C(1796047392000) /* Monday 2026-11-30 14:03:12 UTC */
#define MIDNIGHT (NOW - NOW % DAY_MS)
#define AT(hour, minute) (MIDNIGHT + (hour)*HOUR_MS + (minute)*MINUTE_MS)
#define SUNDAY (MIDNIGHT - DAY_MS)

#define TOKEN(device) device ":00112233445566778899aabbccddeeff"

/* What was not said of it, as it is where nothing is known. */
static void fill(struct fleet_job *job)
{
    const char **texts[] = { &job->token, &job->state, &job->detail, &job->holder, &job->pause };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!*texts[i])
            *texts[i] = "";
    if (job->left_ms == 0)
        job->left_ms = -2;
    if (job->pause_left_ms == 0)
        job->pause_left_ms = -2;
    if (job->took_ms == 0)
        job->took_ms = FACT_NONE;
    job->attempts = 3;
    job->known = true;
}

static const struct fleet_conf one[] = {
    { .key = "any", .fingerprint = "5c1d9e02", .kind = "fleet own", .devices = 4981 }
};
static const struct fleet_conf two[] = {
    { "purge_cache", "5c1d9e02", "*/15", "fleet own", 4969 },
    { "purge_cache", "77aa0102", "*/30", "fleet own", 12 },
};

static struct fleet_job model_jobs[] = {
    { .name = "nightly_report",
      .turn = AT(2, 30),
      .done = AT(2, 30),
      .state = "succeeded",
      .token = TOKEN("gate-0007"),
      .attempt = 1,
      .started = AT(2, 30),
      .ended = AT(2, 30) + 291000,
      .confs = one,
      .conf_count = 1 },
    { .name = "sync_prices",
      .turn = AT(14, 0),
      .done = AT(13, 55),
      .state = "running",
      .token = TOKEN("gate-3077"),
      .holder = TOKEN("gate-3077"),
      .attempt = 1,
      .started = AT(14, 0),
      .left_ms = 41500,
      .confs = one,
      .conf_count = 1 },
    { .name = "rotate_keys",
      .turn = SUNDAY + 4 * HOUR_MS,
      .done = SUNDAY - 6 * DAY_MS,
      .state = "gave_up",
      .token = TOKEN("gate-0012"),
      .attempt = 3,
      .started = SUNDAY + 4 * HOUR_MS,
      .ended = SUNDAY + 4 * HOUR_MS + 12000,
      .tried = 3,
      .detail = "vault: connection refused",
      .confs = one,
      .conf_count = 1 },
    { .name = "purge_cache",
      .turn = AT(13, 45),
      .done = AT(13, 45),
      .state = "succeeded",
      .token = TOKEN("gate-1200"),
      .attempt = 1,
      .started = AT(13, 45),
      .ended = AT(13, 45) + 8000,
      .confs = two,
      .conf_count = 2 },
    { .name = "firmware",
      .each = true,
      .done = SUNDAY + HOUR_MS,
      .devices = 4981,
      .has_done = 4902,
      .running = 20,
      .took_ms = 9 * MINUTE_MS,
      .confs = one,
      .conf_count = 1 },
    { .name = "backup",
      .turn = SUNDAY - DAY_MS + 3 * HOUR_MS,
      .done = SUNDAY - DAY_MS + 3 * HOUR_MS,
      .state = "succeeded",
      .token = TOKEN("gate-0007"),
      .attempt = 1,
      .pause = "kim: NAS full",
      .pause_left_ms = 9 * DAY_MS,
      .confs = one,
      .conf_count = 1 },
    { .name = "old_backup",
      .turn = AT(3, 0) - 90 * DAY_MS,
      .done = AT(3, 0) - 90 * DAY_MS,
      .state = "succeeded",
      .token = TOKEN("gate-0007"),
      .attempt = 1,
      .retired = true },
};
static const struct fleet_tally versions[] = { { "1.4.0", 4969 }, { "1.3.2", 12 } };

static struct fleet model(void)
{
    for (size_t i = 0; i < sizeof model_jobs / sizeof model_jobs[0]; i++)
        fill(&model_jobs[i]);
    return (struct fleet){ .prefix = "acme-gw:",
                           .address = "redis.example:6379",
                           .server = "redis 7.0.15",
                           .policy = "noeviction",
                           .now_ms = NOW,
                           .devices = 4981,
                           .silent = 19,
                           .versions = versions,
                           .version_count = 2,
                           .jobs = model_jobs,
                           .job_count = sizeof model_jobs / sizeof model_jobs[0] };
}

/* --- what is printed, in memory that the caller frees --- */

static char *text;
static size_t text_size;

static FILE *begin(void)
{
    FILE *out = open_memstream(&text, &text_size);

    assert_non_null(out);
    return out;
}

static void assert_printed(FILE *out, const char *wanted)
{
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, wanted);
    free(text);
}

static void print(FILE *out, const struct screen *screen, const struct fleet *f)
{
    fleet_print_head(out, screen, f);
    putc('\n', out);
    assert_int_equal(fleet_columns_print(out, screen, f, NULL), 0);
    fleet_print_reasons(out, screen, f);
}

static void test_the_model(void **state)
{
    static const char wanted[] =
        "acme-gw on redis.example:6379, redis 7.0.15, noeviction       14:03:12 UTC\n"
        "4,981 devices in the last day; 19 silent; rota 1.4.0 (4,969), 1.3.2 (12)\n"
        "\n"
        "  JOB             DUE          STATE     DEVICE     TRY  TOOK        LEASE  CONF\n"
        "  nightly_report  02:30        ok        gate-0007  1/3  4 min 51 s      -  1\n"
        "> sync_prices     14:00        running   gate-3077  1/3  3 min 12 s   41 s  1\n"
        "! rotate_keys     Sun 04:00    given up  3 devices  3/3  12 s            -  1\n"
        "~ purge_cache     13:45        ok        gate-1200  1/3  8 s             -  2 !\n"
        "> firmware        Sun 01:00    4902/4981 20 running      9 min           -  1\n"
        "p backup          Sat 03:00    paused    by kim: \"NAS full\", 9 days         1\n"
        "  old_backup      -            retired   last seen 2026-09-01; rotactl forget\n"
        "\n"
        "! rotate_keys: vault: connection refused. rotactl history rotate_keys\n"
        "~ purge_cache: 2 configurations: */15 on 4,969 devices, */30 on 12\n"
        "  rotactl fleet firmware --missing     lists the 59 to go and 20 running\n";
    struct screen screen = { .headings = true };
    struct fleet f = model();
    FILE *out = begin();

    (void)state;
    print(out, &screen, &f);
    assert_printed(out, wanted);
    /* On a terminal of 80 columns it is the same. */
    screen.width = 80;
    out = begin();
    print(out, &screen, &f);
    assert_printed(out, wanted);
}

/* Nor an empty line. */
static void test_nothing_stands_below_what_is_well(void **state)
{
    const struct screen screen = { .headings = true };
    struct fleet_job job = {
        .name = "a", .each = true, .devices = 2, .confs = one, .conf_count = 1
    };
    const struct fleet f = { .now_ms = NOW, .jobs = &job, .job_count = 1 };
    FILE *out = begin();

    (void)state;
    fill(&job);
    fleet_print_reasons(out, &screen, &f);
    assert_printed(out, "");
    /* As soon as a turn is done somewhere, the others are counted. */
    job.done = AT(3, 0);
    job.has_done = 1;
    out = begin();
    fleet_print_reasons(out, &screen, &f);
    assert_printed(out, "\n  rotactl fleet a --missing            lists the 1 to go\n");
}

static void test_colours_and_no_headings(void **state)
{
    const struct screen screen = { .colours = true, .width = 80 };
    struct fleet f = model();
    FILE *out = begin();

    (void)state;
    f.jobs += 3;
    f.job_count = 2;
    assert_int_equal(fleet_columns_print(out, &screen, &f, NULL), 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\x1b[33m~ purge_cache"));
    assert_non_null(strstr(text, "\n\x1b[32m> firmware     Sun 01:00    4902/4981 20 running"));
    assert_null(strstr(text, "JOB"));
    free(text);
}

/* What does not fit is cut, and above the table broken: no line is wider than the screen. */
static void test_a_narrow_screen(void **state)
{
    const struct screen screen = { .headings = true, .width = 60 };
    struct fleet f = model();
    FILE *out = begin();

    (void)state;
    fleet_print_head(out, &screen, &f);
    assert_int_equal(fleet_columns_print(out, &screen, &f, NULL), 0);
    assert_int_equal(fclose(out), 0);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 60);
    assert_non_null(strstr(text, "by kim: "));
    free(text);
}

/* A reason is told whole; what stands behind it moves on. */
static void test_a_long_reason(void **state)
{
    static struct fleet_job job = { .name = "a",
                                    .turn = AT(3, 0),
                                    .pause = "kim: the NAS is full again",
                                    .confs = one,
                                    .conf_count = 1 };
    const struct fleet f = { .now_ms = NOW, .jobs = &job, .job_count = 1 };
    const struct screen screen = { .headings = false };
    FILE *out = begin();

    (void)state;
    fill(&job);
    assert_int_equal(fleet_columns_print(out, &screen, &f, NULL), 0);
    assert_printed(out, "p a  03:00        paused  by kim: \"the NAS is full again\"  1\n");
}

static void test_chosen_columns(void **state)
{
    const struct screen screen = { .headings = true };
    struct fleet f = model();
    FILE *out = begin();

    (void)state;
    f.jobs += 4;
    f.job_count = 3;
    assert_int_equal(fleet_columns_check("job,state,device,mark,why"), 0);
    assert_int_equal(fleet_columns_print(out, &screen, &f, "job,state,device,mark,why"), 0);
    assert_printed(out, "JOB         STATE      DEVICE      MARK  WHY\n"
                        "firmware    4902/4981  20 running  >     -\n"
                        "backup      paused     gate-0007   p     by kim: \"NAS full\", 9 days\n"
                        "old_backup  retired    -                 last seen 2026-09-01; "
                        "rotactl forget\n");
    assert_int_equal(fleet_columns_check("job,satte"), 64);
    assert_int_equal(fleet_columns_check(""), 64);
    assert_int_equal(fleet_columns_check("job,"), 64);
}

static void test_one_line_for_a_monitor(void **state)
{
    struct fleet f = model();
    FILE *out = begin();

    (void)state;
    fleet_print_check(out, &f);
    assert_printed(out, "acme-gw: 7 jobs, 4,981 devices in the last day; 19 silent; rotate_keys "
                        "given up, purge_cache 2 configurations\n");
    assert_true(fleet_needs_look(&f));
    f.jobs += 4;
    f.job_count = 3;
    assert_false(fleet_needs_look(&f));
}

static char wrong[] = "WRONGTYPE";

static void test_words(void **state)
{
    static const struct fleet_conf kinds[] = { { "a", "1", "*/5", "fleet own", 1 },
                                               { "a", "2", NULL, "device own", 1 } };
    static struct {
        struct fleet_job job;
        char mark;
        const char *word, *device, *reason;
    } rows[] = {
        { { .name = "a" }, ' ', "new", "-", NULL },
        { { .name = "a", .turn = 5, .done = 5, .state = "assumed" }, ' ', "new", "-", NULL },
        { { .name = "a", .trouble = wrong }, '!', "unknown", "-", "WRONGTYPE" },
        { { .name = "a", .turn = 5, .state = "running", .token = TOKEN("b") },
          '!',
          "vanished",
          "b",
          "its device said nothing more, and its lock has ended; the next to ask takes it" },
        /* An earlier attempt's success has settled it. */
        { { .name = "a", .turn = 5, .done = 5, .state = "running", .token = TOKEN("b") },
          ' ',
          "ok",
          "b",
          NULL },
        { { .name = "a", .turn = 5, .state = "failed", .token = TOKEN("b\x1b[1m") },
          '!',
          "retrying",
          "b\\x1b[1m",
          "failed. rotactl history a" },
        { { .name = "a", .turn = 5, .state = "declined", .token = TOKEN("b") },
          ' ',
          "declined",
          "b",
          NULL },
        { { .name = "a", .turn = 5, .state = "gave_up", .token = TOKEN("b"), .tried = 1 },
          '!',
          "given up",
          "b",
          "it did not succeed, and did not say why. rotactl history a" },
        { { .name = "a", .turn = 5, .state = "odd\x1b", .token = TOKEN("b") },
          ' ',
          "odd\\x1b",
          "b",
          NULL },
        { { .name = "a",
            .turn = 5,
            .state = "running",
            .token = TOKEN("b"),
            .holder = TOKEN("b"),
            .pause = "kim: no" },
          '>',
          "running",
          "b",
          "paused from its next turn on, by kim: no" },
        { { .name = "a", .pause = "rota: stopped after 3 failures in a row" },
          '!',
          "paused",
          "-",
          "stopped after 3 failures in a row. Mend that, then rotactl resume --fleet a" },
        { { .name = "a", .unlocked = true }, ' ', "no lock", "-", NULL },
        { { .name = "a", .confs = kinds, .conf_count = 2 },
          '~',
          "new",
          "-",
          "2 configurations: 1 on 1 device, 2 on 1; they differ in scope or lock, so not all of "
          "these run it" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char cell[FLEET_CELL_SIZE], reason[FLEET_REASON_SIZE];

        fill(&rows[i].job);
        assert_int_equal(fleet_mark(&rows[i].job), rows[i].mark);
        fleet_state(&rows[i].job, cell);
        assert_string_equal(cell, rows[i].word);
        fleet_device(&rows[i].job, cell);
        assert_string_equal(cell, rows[i].device);
        assert_int_equal(fleet_reason(&rows[i].job, reason), rows[i].reason != NULL);
        if (rows[i].reason)
            assert_string_equal(reason, rows[i].reason);
    }
}

/* For the metrics: as the screen has it. */
static void test_who_runs_and_who_gave_up(void **state)
{
    static struct {
        struct fleet_job job;
        bool runs, gave_up;
    } rows[] = {
        { { .turn = 5, .state = "running", .token = TOKEN("b"), .holder = TOKEN("b") },
          true,
          false },
        { { .turn = 5, .state = "running", .token = TOKEN("b"), .holder = TOKEN("c") },
          false,
          false },
        { { .turn = 5, .state = "running", .token = TOKEN("b") }, false, false },
        { { .turn = 5, .state = "running", .holder = "" }, false, false },
        { { .turn = 5, .state = "failed", .token = TOKEN("b"), .holder = TOKEN("b") },
          false,
          false },
        { { .turn = 5, .state = "gave_up" }, false, true },
        { { .turn = 5, .done = 5, .state = "gave_up" }, false, false },
        { { .turn = 5, .state = "gave_up", .retired = true }, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fill(&rows[i].job);
        assert_int_equal(fleet_runs(&rows[i].job), rows[i].runs);
        assert_int_equal(fleet_gave_up(&rows[i].job), rows[i].gave_up);
    }
}

/* While it goes on, whole seconds. */
static void test_the_lease(void **state)
{
    struct fleet_job job = {
        .turn = 5, .state = "running", .token = TOKEN("b"), .holder = TOKEN("b"), .left_ms = 999
    };
    char cell[FLEET_CELL_SIZE];

    (void)state;
    fill(&job);
    fleet_lease(&job, cell);
    assert_string_equal(cell, "0 s");
    job.left_ms = 41500;
    fleet_lease(&job, cell);
    assert_string_equal(cell, "41 s");
}

/* The reason is cut within a character, which libsmartcols would go round for ever. */
static void test_a_reason_that_is_cut(void **state)
{
    static struct fleet_job job = { .name = "a", .turn = 5, .confs = one, .conf_count = 1 };
    const struct fleet f = { .now_ms = NOW, .jobs = &job, .job_count = 1 };
    const struct screen screen = { .width = 0 };
    char pause[400];

    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    for (size_t room = 0; room < 3; room++) {
        FILE *out = begin();

        assert_true(text_format(pause, sizeof pause, "kim: %.*s", (int)room, "xxx"));
        for (size_t i = 0; i < 90; i++)
            strcat(pause, "\xe5\xa4\x9c");
        job.pause = pause;
        fill(&job);
        alarm(20);
        assert_int_equal(fleet_columns_print(out, &screen, &f, "job,why"), 0);
        assert_int_equal(fleet_columns_print(out, &screen, &f, NULL), 0);
        alarm(0);
        assert_int_equal(fclose(out), 0);
        free(text);
    }
    assert_non_null(setlocale(LC_CTYPE, "C"));
}

/* Anybody with the right to write may have put anything there. */
static void test_rubbish_stays_on_its_side(void **state)
{
    static const struct fleet_tally odd[] = { { "\x1b]0;x\x07", 1 } };
    static struct fleet_job jobs[] = {
        { .name = "a",
          .turn = INT64_MAX / 2,
          .state = "gave_up",
          .token = "\x1b[2J",
          .attempt = -1,
          .started = INT64_MIN,
          .ended = INT64_MAX,
          .detail = "\x1b[31m\r\xc2\x9b" },
        { .name = "b", .turn = 1, .pause = "\x1b[31m", .pause_left_ms = INT64_MAX },
        { .name = "c", .each = true, .done = 1, .devices = 1, .has_done = 9, .running = 9 },
    };
    const struct fleet f = { .prefix = "\x1b",
                             .address = NULL,
                             .server = "\x1b[1m",
                             .policy = "\xc2\x9b",
                             .now_ms = NOW,
                             .devices = 1,
                             .versions = odd,
                             .version_count = 1,
                             .jobs = jobs,
                             .job_count = 3 };
    const struct screen screen = { .headings = true, .width = 80 };
    FILE *out = begin();

    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        fill(&jobs[i]);
    print(out, &screen, &f);
    fleet_print_check(out, &f);
    fleet_print_json(out, &f);
    assert_int_equal(fclose(out), 0);
    for (const char *at = text; *at; at++)
        assert_true(*at == '\n' || ((unsigned char)*at >= ' ' && (unsigned char)*at < 0x7f) ||
                    (unsigned char)*at >= 0xa0);
    free(text);
}

static void test_counts(void **state)
{
    static const struct {
        size_t number;
        const char *text;
    } rows[] = { { 0, "0" }, { 999, "999" }, { 1000, "1,000" }, { 1234567, "1,234,567" } };
    char buf[FLEET_COUNT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(fleet_count(rows[i].number, buf), rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_model),
        cmocka_unit_test(test_nothing_stands_below_what_is_well),
        cmocka_unit_test(test_colours_and_no_headings),
        cmocka_unit_test(test_a_narrow_screen),
        cmocka_unit_test(test_a_long_reason),
        cmocka_unit_test(test_chosen_columns),
        cmocka_unit_test(test_one_line_for_a_monitor),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_who_runs_and_who_gave_up),
        cmocka_unit_test(test_the_lease),
        cmocka_unit_test(test_a_reason_that_is_cut),
        cmocka_unit_test(test_rubbish_stays_on_its_side),
        cmocka_unit_test(test_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
