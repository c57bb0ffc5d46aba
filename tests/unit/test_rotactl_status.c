/* SPDX-License-Identifier: MIT
 * The words of rotactl status: a state, a mark, how the newest turn went, when the next one is. */
#include "base/units.h"
#include "rotactl/status_view.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1796034030500) /* 2026-11-30 10:20:30.5 UTC */
#define TURN (NOW - NOW % MINUTE_MS)
/* A job with all numbers but those that are often others. */
#define JOB(turn_is, ran_is, ...)                                                                  \
    {                                                                                              \
        .name = "job", .turn = turn_is, .ran_ms = ran_is, .attempts = 3,                           \
        .limit_ms = 10 * MINUTE_MS, .attempt = 1, .outcome_attempt = 2, .outcome_turn = TURN,      \
        .outcome_ms = 291000, __VA_ARGS__                                                          \
    }

static void test_words(void **state)
{
    static const struct {
        struct status_job job;
        char mark;
        const char *word, *result, *reason;
    } rows[] = {
        { JOB(FACT_NONE, FACT_NONE, .state = "INVALID", .why = "a.conf:7: no"), 'x', "invalid", "-",
          "a.conf:7: no" },
        { JOB(FACT_NONE, FACT_NONE, .state = "DISABLED"), ' ', "disabled", "-", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING"), ' ', "ready", "not run here", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .outcome = "succeeded"), ' ', "ready",
          "done here, 4 min 51 s", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .outcome = "nothing"), ' ', "ready",
          "nothing to do here", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .outcome = "declined"), ' ', "ready",
          "declined here, 2 of 3", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .outcome = "failed", .outcome_why = "no route"),
          '!', "ready", "failed here, 2 of 3", "no route" },
        { JOB(TURN, FACT_NONE, .state = "WATCHING", .outcome = "lost"), '!', "retrying",
          "lost here, 2 of 3", "lost" },
        /* An older turn's run says nothing of the newest. */
        { JOB(TURN + 1, FACT_NONE, .state = "WAITING", .outcome = "failed"), ' ', "ready",
          "not run here", NULL },
        { JOB(TURN, FACT_NONE, .state = "WATCHING", .holder = "b\x1b"), ' ', "watching",
          "held by b\\x1b", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .turn_went = "done", .turn_by = "b\x1b"), ' ',
          "ready", "done by b\\x1b", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .turn_went = "done", .turn_by = "here"), ' ',
          "ready", "done here", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .turn_went = "taken", .turn_by = "b"), ' ',
          "ready", "taken by b", NULL },
        /* It failed here, and another device did it after all. */
        { JOB(TURN, FACT_NONE, .state = "WAITING", .outcome = "failed", .turn_went = "done",
              .turn_by = "b"),
          ' ', "ready", "done by b", NULL },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .outcome = "failed", .outcome_why = "no route",
              .turn_went = "given up"),
          '!', "given up", "failed here, 2 of 3", "no route" },
        { JOB(TURN, FACT_NONE, .state = "WAITING", .turn_went = "given up"), '!', "given up",
          "not run here",
          "given up by the whole fleet until its next turn; rotactl history says why" },
        { JOB(TURN, FACT_NONE, .state = "STARTING"), '>', "starting", "attempt 1 of 3", NULL },
        { JOB(TURN, 252000, .state = "RUNNING"), '>', "running", "4 min 12 s of 10 min", NULL },
        { JOB(TURN, 252000, .state = "RUNNING", .outcome = "failed"), '>', "running",
          "4 min 12 s of 10 min", NULL },
        { JOB(TURN, 252000, .state = "RUNNING", .slow = true), '!', "running",
          "4 min 12 s of 10 min",
          "its runs come close to worst_case; rotactl show has the value to write" },
        { JOB(FACT_NONE, FACT_NONE, .state = "WAITING", .bar = "paused"), 'p', "paused", "-",
          "paused in the whole fleet; rotactl fleet says by whom" },
        { JOB(FACT_NONE, FACT_NONE, .state = "WAITING", .bar = "outdated"), '!', "outdated", "-",
          "not run here, since a higher version of it has succeeded" },
        { JOB(FACT_NONE, FACT_NONE, .state = "WAITING", .bar = "other"), '!', "other", "-",
          "other" },
        { JOB(FACT_NONE, FACT_NONE, .state = "WAITING", .mixed = true), '~', "ready", "-",
          "other devices run it by another configuration too" },
        { JOB(FACT_NONE, FACT_NONE, .state = "STUCK", .stuck = true), '!', "stuck", "-",
          "something of its run cannot be killed; nothing is started until it is gone" },
        { JOB(FACT_NONE, FACT_NONE, .state = "WAITING", .fault = "no right to write"), '!', "ready",
          "-", "no right to write" },
        { JOB(FACT_NONE, FACT_NONE, .state = "LATER"), ' ', "LATER", "-", NULL },
    };

    const struct status s = { .device = "here", .now_ms = NOW };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char result[STATUS_CELL_SIZE];
        const char *reason = status_reason(&rows[i].job);

        status_result(&s, &rows[i].job, result);
        assert_int_equal(status_mark(&rows[i].job), rows[i].mark);
        assert_string_equal(status_state(&rows[i].job), rows[i].word);
        assert_string_equal(result, rows[i].result);
        assert_int_equal(reason == NULL, rows[i].reason == NULL);
        if (reason)
            assert_string_equal(reason, rows[i].reason);
    }
}

static void test_times(void **state)
{
    static const struct {
        int64_t next, again;
        const char *words;
    } rows[] = {
        { FACT_NONE, FACT_NONE, "-" },
        { NOW + 47900, FACT_NONE, "10:21:18, in 47 s" },
        { TURN + 5 * MINUTE_MS, FACT_NONE, "10:25, in 4 min 29 s" },
        { TURN + 2 * HOUR_MS, FACT_NONE, "today 12:20" },
        { TURN + DAY_MS, FACT_NONE, "tomorrow 10:20" },
        { TURN + DAY_MS, NOW + 40000, "in 40 s" },
        { TURN + DAY_MS, NOW - 1, "in 0 s" },
    };
    const struct status s = { .now_ms = NOW };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct status_job job =
            JOB(TURN, FACT_NONE, .next = rows[i].next, .again = rows[i].again);
        char words[STATUS_CELL_SIZE];

        status_next(&s, &job, false, words);
        assert_string_equal(words, rows[i].words);
    }
}

static void test_who_needs_a_look(void **state)
{
    struct status_job job = JOB(FACT_NONE, FACT_NONE, .state = "WAITING", .bar = "paused");
    struct status s = { .jobs = &job, .job_count = 1, .rotad.redis = "not yet reached" };

    (void)state;
    assert_false(status_needs_look(&s));
    s.rotad.unread = "a.conf";
    assert_true(status_needs_look(&s));
    s.rotad.unread = NULL;
    s.rotad.redis = "unreachable";
    assert_true(status_needs_look(&s));
    s.rotad.redis = "ok";
    job.mixed = true;
    job.bar = NULL;
    assert_true(status_needs_look(&s));
}

/* What is printed, in memory that the caller frees. */
static char *head_of(const struct status *s)
{
    const struct screen screen = { .headings = true };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    status_print_head(out, &screen, s);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_the_lines_above(void **state)
{
    struct status_job jobs[] = { JOB(FACT_NONE, FACT_NONE, .state = "RUNNING"),
                                 JOB(FACT_NONE, FACT_NONE, .state = "WAITING"),
                                 JOB(FACT_NONE, FACT_NONE, .state = "INVALID") };
    struct status s = {
        .device = "gate-0007",
        .jobs = jobs,
        .job_count = 3,
        .rotad = { .version = "1.4.0",
                   .uptime_ms = 12 * DAY_MS,
                   .fleet = "acme-gw:",
                   .redis = "ok",
                   .trip_ms = 84,
                   .tls = true,
                   .now = NOW,
                   .ours_ms = 400 },
    };
    char *text = head_of(&s);

    (void)state;
    assert_string_equal(
        text, "gate-0007  rotad 1.4.0, up 12 days      fleet acme-gw      redis ok, 84 ms, TLS\n"
              "3 jobs, 1 running, 1 invalid            fleet clock 10:20:30 UTC, ours +0.4 s\n");
    free(text);
    /* What is too long for its place moves, or goes to the next line. */
    s.device = "a-device-whose-name-is-rather-long";
    s.rotad.ours_ms = -3 * HOUR_MS;
    text = head_of(&s);
    assert_string_equal(
        text, "a-device-whose-name-is-rather-long  rotad 1.4.0, up 12 days  fleet acme-gw\n"
              "redis ok, 84 ms, TLS\n"
              "3 jobs, 1 running, 1 invalid            fleet clock 10:20:30 UTC, ours -3 h\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_who_needs_a_look),
        cmocka_unit_test(test_the_lines_above),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
