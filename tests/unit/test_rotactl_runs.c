/* SPDX-License-Identifier: MIT
 * Runs as JSON Lines: what is written is read back; what is wrong is said, and is no crash. */
#include "core/outcome.h"
#include "rotactl/timeline/json_line.h"
#include "rotactl/timeline/runs_json.h"
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int read_line(struct runs *runs, const char *line, struct runs_json_fault *f)
{
    char copy[1024];

    assert_true(strlen(line) < sizeof copy);
    strcpy(copy, line);
    return runs_json_read_line(runs, copy, f);
}

static struct runs read_good(const char *line)
{
    struct runs runs = { 0 };
    struct runs_json_fault f = { 0 };

    if (read_line(&runs, line, &f) < 0)
        fail_msg("%s: %s", line, f.why);
    return runs;
}

static int read_text(const char *text, size_t size, struct runs *runs, struct runs_json_fault *f)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, size, "r");
    int rc;

    assert_non_null(in);
    rc = runs_json_read(runs, in, f);
    fclose(in);
    return rc;
}

/* --- what is read --- */

static void test_a_run(void **state)
{
    struct runs runs = read_good(
        "{\"job\": \"report\", \"device\":\"gate-1\",\"turn\" :1796005800000, \"attempt\": 2, "
        "\"fence\": 1796005800123, \"outcome\": \"failed\", \"started\": 1796005801000, "
        "\"ended\": 1796005806000, \"detail\": \"no route\", \"held\": true} \n");
    const struct run *run = runs.run;

    (void)state;
    assert_int_equal(runs.run_count, 1);
    assert_string_equal(run->job, "report");
    assert_string_equal(run->device, "gate-1");
    assert_string_equal(run->word, "failed");
    assert_string_equal(run->detail, "no route");
    assert_int_equal(run->outcome, RUN_FAILED);
    assert_int_equal(run->turn, INT64_C(1796005800000));
    assert_int_equal(run->attempt, 2);
    assert_int_equal(run->fence, INT64_C(1796005800123));
    assert_int_equal(run->started, INT64_C(1796005801000));
    assert_int_equal(run->ended, INT64_C(1796005806000));
    runs_done(&runs);
}

static void test_what_may_be_absent(void **state)
{
    struct runs runs =
        read_good("{\"job\":\"a\",\"device\":\"d\",\"turn\":0,\"outcome\":\"running\","
                  "\"started\":5,\"ended\":null}");

    (void)state;
    assert_int_equal(runs.run[0].outcome, RUN_RUNNING);
    assert_int_equal(runs.run[0].ended, RUNS_NO_TIME);
    assert_int_equal(runs.run[0].attempt, 1);
    assert_int_equal(runs.run[0].fence, 0);
    assert_string_equal(runs.run[0].detail, "");
    runs_done(&runs);

    runs = read_good(
        "{\"job\":\"a\",\"device\":\"d\",\"turn\":0,\"outcome\":\"vanished\",\"ended\":9}");
    assert_int_equal(runs.run[0].started, RUNS_NO_TIME);
    runs_done(&runs);

    runs = read_good(
        "{\"job\":\"a\",\"device\":\"d\",\"turn\":0,\"outcome\":\"exploded\",\"ended\":9}");
    assert_int_equal(runs.run[0].outcome, RUN_OTHER);
    assert_string_equal(runs.run[0].word, "exploded");
    runs_done(&runs);

    runs = read_good("{\"job\":\"a\",\"due\":17,\"new\":\"x\"}");
    assert_int_equal(runs.run_count, 0);
    assert_int_equal(runs.due_count, 1);
    assert_int_equal(runs.due[0].at, 17);
    runs_done(&runs);

    runs = read_good("{\"now\":9223372036854775807,\"new\":1}");
    assert_int_equal(runs.run_count + runs.due_count, 0);
    assert_int_equal(runs.now, RUNS_TIME_MAX);
    runs_done(&runs);

    runs = read_good(" \t\r\n");
    assert_int_equal(runs.run_count + runs.due_count, 0);
    runs_done(&runs);
}

static void test_times_are_held(void **state)
{
    struct runs runs = read_good("{\"job\":\"a\",\"device\":\"d\",\"turn\":9223372036854775807,"
                                 "\"outcome\":\"lost\",\"ended\":9223372036854775807}");

    (void)state;
    assert_int_equal(runs.run[0].turn, RUNS_TIME_MAX);
    assert_int_equal(runs.run[0].ended, RUNS_TIME_MAX);
    runs_done(&runs);
}

static void test_escapes(void **state)
{
    struct runs runs = read_good("{\"job\":\"\\u0041\\n\\\"\\\\\\/\",\"due\":1}");

    (void)state;
    assert_string_equal(runs.due[0].job, "A\n\"\\/");
    runs_done(&runs);
    runs = read_good("{\"job\":\"\\u00e4\\u20AC\\ud83d\\ude00\",\"due\":1}");
    assert_string_equal(runs.due[0].job, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    runs_done(&runs);
    /* A NUL does not cut a name short, nor does half a pair make half a character. */
    runs = read_good("{\"job\":\"a\\u0000\\ud83d\\u0062\\ude00\",\"due\":1}");
    assert_string_equal(runs.due[0].job, "a\xef\xbf\xbd\xef\xbf\xbd"
                                         "b\xef\xbf\xbd");
    runs_done(&runs);
}

/* --- what is refused --- */

static void test_faults(void **state)
{
    static const struct {
        const char *line, *why;
    } faults[] = {
        { "[1]", "it does not begin with {" },
        { "{\"job\":\"a\",\"due\":1", "neither by a comma" },
        { "{\"job\":\"a\",\"due\":1} x", "something follows" },
        { "{\"job\":\"a\",\"due\":1.5}", "not a whole one" },
        { "{\"job\":\"a\",\"due\":1e3}", "not a whole one" },
        { "{\"job\":\"a\",\"due\":-1}", "due is no whole number" },
        { "{\"now\":\"soon\"}", "now is no whole number" },
        { "{\"now\":null}", "job is missing" },
        { "{\"job\":\"a\",\"due\":99999999999999999999}", "more than 18 digits" },
        { "{\"job\":\"a\",\"due\":[1]}", "no text in quotes, no whole number" },
        { "{\"job\":\"a\",\"due\":\"1\"}", "due is no whole number" },
        { "{\"job\":1,\"due\":1}", "job is no text" },
        { "{\"job\":\"a,\"due\":1}", "neither by a comma" },
        { "{\"job\":\"a", "no closing quote" },
        { "{\"job\":\"\\x\"}", "a backslash" },
        { "{\"job\":\"\\u12\"}", "a backslash" },
        { "{\"job\":\"\\", "a backslash" },
        { "{job:\"a\"}", "a key should be" },
        { "{\"job\" \"a\"}", "no colon" },
        { "{}", "job is missing" },
        { "{\"due\":1}", "job is missing" },
        { "{\"job\":\"a\",\"outcome\":\"lost\",\"turn\":1,\"ended\":1}", "device is missing" },
        { "{\"job\":\"a\",\"device\":\"d\",\"turn\":1,\"ended\":1}", "outcome is missing" },
        { "{\"job\":\"a\",\"device\":\"d\",\"outcome\":\"lost\",\"ended\":1}", "turn is missing" },
        { "{\"job\":\"a\",\"device\":\"d\",\"outcome\":\"lost\",\"turn\":1,\"started\":1}",
          "ended is missing" },
        { "{\"job\":\"a\",\"device\":\"d\",\"outcome\":\"running\",\"turn\":1}",
          "started is missing" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        struct runs runs = { 0 };
        struct runs_json_fault f = { 0 };

        assert_int_equal(read_line(&runs, faults[i].line, &f), -EINVAL);
        if (!strstr(f.why, faults[i].why))
            fail_msg("%s: %s", faults[i].line, f.why);
        assert_int_equal(runs.run_count + runs.due_count, 0);
        runs_done(&runs);
    }
}

static void test_files(void **state)
{
    static const char good[] = "{\"job\":\"a\",\"due\":1}\n\n{\"job\":\"a\",\"due\":2}";
    static const char bad[] =
        "{\"job\":\"a\",\"due\":1}\n\n{\"job\":\"a\"}\n{\"job\":\"a\",\"due\":3}\n";
    static const char nul[] = "{\"job\":\"a\",\"due\":1}\n{\"job\":\"a\0b\",\"due\":2}\n";
    static char endless[40000];
    struct runs_json_fault f = { 0 };
    struct runs runs = { 0 };

    (void)state;
    assert_int_equal(read_text(good, sizeof good - 1, &runs, &f), 0);
    assert_int_equal(runs.due_count, 2);
    assert_int_equal(read_text(bad, sizeof bad - 1, &runs, &f), -EINVAL);
    assert_int_equal(f.line, 3);
    assert_string_equal(f.why, "device is missing");
    assert_int_equal(read_text(nul, sizeof nul - 1, &runs, &f), -EINVAL);
    assert_int_equal(f.line, 2);
    assert_non_null(strstr(f.why, "NUL"));
    memset(endless, ' ', sizeof endless);
    assert_int_equal(read_text(endless, sizeof endless, &runs, &f), -EINVAL);
    assert_int_equal(f.line, 1);
    assert_non_null(strstr(f.why, "longer"));
    runs_done(&runs);
}

static void test_too_many(void **state)
{
    struct runs runs = { 0 };

    (void)state;
    for (int i = 0; i < RUNS_MAX; i++)
        assert_int_equal(runs_add_due(&runs, "a", i), 0);
    assert_int_equal(runs_add_due(&runs, "a", 1), -E2BIG);
    assert_int_equal(runs.due_count, RUNS_MAX);
    runs_done(&runs);
}

/* --- what is written --- */

static void check_back(const struct run *run)
{
    char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    struct runs back;
    const struct run *b;

    assert_non_null(out);
    runs_json_write(out, run);
    assert_int_equal(fclose(out), 0);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    back = read_good(text);
    assert_int_equal(back.run_count, 1);
    b = back.run;
    assert_string_equal(b->job, run->job);
    assert_string_equal(b->device, run->device);
    assert_string_equal(b->word, run->word);
    assert_string_equal(b->detail, run->detail);
    assert_true(b->turn == run->turn && b->started == run->started && b->ended == run->ended &&
                b->fence == run->fence && b->attempt == run->attempt);
    runs_done(&back);
}

static void test_written_and_read(void **state)
{
    struct run run = { .job = "a",
                       .device = "d",
                       .word = "lost",
                       .detail = "",
                       .attempt = 3,
                       .turn = 7,
                       .started = 8,
                       .ended = 9,
                       .fence = INT64_C(1) << 52 };

    (void)state;
    check_back(&run);
    run.detail = "say \"a\\b\" \x1b[2J\n\t \xc2\x9b \xf0\x9f\x98\x80 </title>";
    run.device = "";
    run.fence = 0;
    check_back(&run);
    run.started = RUNS_NO_TIME;
    check_back(&run);
    run.word = "running";
    run.started = 1;
    run.ended = RUNS_NO_TIME;
    check_back(&run);
}

static void test_due_is_written(void **state)
{
    char text[128];
    FILE *out = fmemopen(text, sizeof text, "w");

    (void)state;
    assert_non_null(out);
    runs_json_write_due(out, &(struct due){ "a\"b", 5 });
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "{\"job\": \"a\\\"b\", \"due\": 5}\n");
}

static void test_words_are_those_of_the_core(void **state)
{
    (void)state;
    assert_int_equal(OUTCOME_COUNT, RUN_RUNNING);
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        const char *name = outcome_name((enum outcome)i);

        assert_string_equal(runs_outcome_name((enum run_outcome)i), name);
        assert_int_equal(runs_outcome(name), i);
        assert_int_equal(runs_settled((enum run_outcome)i), outcome_settles((enum outcome)i));
    }
    assert_int_equal(runs_outcome("other"), RUN_OTHER);
    assert_int_equal(runs_outcome(""), RUN_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run),          cmocka_unit_test(test_what_may_be_absent),
        cmocka_unit_test(test_times_are_held), cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_faults),         cmocka_unit_test(test_files),
        cmocka_unit_test(test_too_many),       cmocka_unit_test(test_written_and_read),
        cmocka_unit_test(test_due_is_written), cmocka_unit_test(test_words_are_those_of_the_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
