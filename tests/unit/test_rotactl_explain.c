/* SPDX-License-Identifier: MIT
 * The screen of rotactl explain: the whole of it, as it is meant to look, and by the kind of job.
 */
#include "base/units.h"
#include "rotactl/explain_view.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define RENEWED                                                                                    \
    .worst_case_ms = 10 * MINUTE_MS, .max_runtime_ms = FACT_NONE, .stop_grace_ms = 5000,           \
    .lease_ms = 60000, .margin_ms = 600, .command_timeout_ms = 3000, .renew_ms = 20000,            \
    .repeat_end_ms = 36000, .must_stop_ms = 54400, .renewals = 29, .takeover_ms = 61000,           \
    .hello_ms = 20000, .run_bytes = 18000, .pass_bytes = 2400, .attempts = 3,                      \
    .retry_delay_ms = MINUTE_MS, .concurrency = FACT_NONE, .stop_after_failures = FACT_NONE,       \
    .longest_ms = 309000, .enough_ms = 8 * MINUTE_MS, .write_ms = FACT_NONE

static char *text;

static void print(const struct explain *e)
{
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    explain_print(out, "nightly_report", e);
    assert_int_equal(fclose(out), 0);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
}

static void assert_has(const char *words)
{
    if (!strstr(text, words))
        assert_string_equal(text, words); /* which shows both */
}

static void assert_has_not(const char *words)
{
    if (strstr(text, words))
        assert_string_equal(text, words);
}

static void test_the_model(void **state)
{
    const struct explain e = { RENEWED };

    (void)state;
    print(&e);
    assert_string_equal(
        text, "nightly_report: worst case 10 min, grace 5 s, lease 1 min (margin 0.6 s)\n"
              "\n"
              "A good run                             The link breaks during it\n"
              "  0 s      lock asked for, granted       0 s      last renewal that succeeded\n"
              "  <= 3 s   the worker starts             20 s     renewal sent, no reply\n"
              "  20 s     renewed, and every 20 s       23 s     given up; connecting anew\n"
              "  <= 10m   ends; result kept, lock gone  36 s     the repeat has failed too\n"
              "           29 renewals, 18 KB            54.4 s   SIGTERM to all it started\n"
              "                                         59.4 s   SIGKILL\n"
              "Taken by another device                  60 s     the lock expires\n"
              "  one question, 2.4 KB\n"
              "\n"
              "This device dies                       It takes too long\n"
              "  60 s     the lock expires              10 min   SIGTERM, overrun, attempt used\n"
              "  61 s     a watching device runs it     10m 5s   SIGKILL\n"
              "  minutes  if nobody watched: the next   longest seen: 5 min 9 s; 10 min is\n"
              "           to ask, usually within 20 s   good, \"8m\" would do\n"
              "\n"
              "It fails: 3 tries in the whole fleet, 1 min apart; then not before next turn.\n"
              "Two runs at once stay possible (Redis failover, clock jump, suspended device).\n"
              "If that would break data, use the fence: man rota-guide, \"When two runs hurt\".\n");
    free(text);
}

static void test_no_renewal(void **state)
{
    struct explain e = { RENEWED };

    (void)state;
    e.worst_case_ms = 10000;
    e.lease_ms = 19250;
    e.margin_ms = 250;
    e.renew_ms = e.repeat_end_ms = e.must_stop_ms = e.renewals = FACT_NONE;
    e.takeover_ms = 21250;
    e.hello_ms = FACT_NONE;
    e.longest_ms = 9000;
    e.enough_ms = e.write_ms = 15000;
    e.too_short = true;
    print(&e);
    assert_has("worst case 10 s, grace 5 s, lease 19 s (margin 0.25 s)\n");
    assert_has("           no renewal, 18 KB");
    assert_has("nothing happens: its lease is as long");
    assert_has("  19.2 s   the lock expires");
    assert_has("  21.2 s   a watching device runs it");
    assert_has("if there is no other: when");
    assert_has("longest seen: 9 s; 10 s is too short,");
    assert_has("write worst_case = \"15s\"");
    assert_has_not("renewed");
    free(text);
}

static void test_seats(void **state)
{
    struct explain e = { RENEWED };

    (void)state;
    e.concurrency = 20;
    e.stop_after_failures = 3;
    e.stop_grace_ms = FACT_NONE;
    print(&e);
    assert_has("grace 0 s");
    assert_has("seat asked for, granted");
    assert_has("result kept, seat free");
    assert_has("No seat is free");
    assert_has("when it is back: its next");
    assert_has("3 tries on this device, 1 min apart");
    assert_has("After 3 failures in a row no device runs it, until it is resumed.\n");
    assert_has_not("the lock");
    assert_has_not("fence");
    free(text);
}

static void test_quorum(void **state)
{
    struct explain e = { RENEWED };

    (void)state;
    e.servers = 5;
    print(&e);
    assert_has("Two runs at once stay possible (servers that lose writes, clock jump,\n"
               "suspended device), and a quorum gives no fence. If that would break data:\n"
               "man rota-guide, \"When two runs hurt\".\n");
    assert_has_not("use the fence");
    free(text);
}

static void test_without_a_lock_and_alone(void **state)
{
    struct explain e = { RENEWED };

    (void)state;
    e.run_bytes = e.pass_bytes = e.hello_ms = FACT_NONE;
    e.unlocked = true;
    print(&e);
    assert_has("grace 5 s, no lock\n");
    assert_has("the worker starts, no lock");
    assert_has("nothing happens: no other device");
    assert_has("Every device runs each turn");
    assert_has_not("KB");
    assert_has_not("lease");
    free(text);
    e.unlocked = false;
    e.local = true;
    print(&e);
    assert_has("grace 5 s, this device alone\n");
    assert_has("No other device is asked");
    assert_has_not("KB");
    free(text);
}

static void test_one_attempt_and_none_that_succeeded(void **state)
{
    struct explain e = { RENEWED };

    (void)state;
    e.attempts = 1;
    e.longest_ms = e.enough_ms = FACT_NONE;
    print(&e);
    assert_has("not run again: attempts = 1");
    assert_has("It fails: no second try; attempts = 1 means at most once a turn.\n");
    assert_has("longest seen: none has succeeded here");
    assert_has_not("a watching device");
    free(text);
}

static void test_extended_and_too_long(void **state)
{
    struct explain e = { RENEWED };

    (void)state;
    e.max_runtime_ms = 40 * MINUTE_MS;
    e.hello_ms = 3 * HOUR_MS;
    print(&e);
    assert_has("  10 min   SIGTERM, if it tells of no");
    assert_has("  40 min   SIGTERM, overrun, attempt used\n");
    assert_has("  40m 5s   SIGKILL\n");
    assert_has("  hours    if nobody watched");
    assert_has("  <= 40m   ends");
    free(text);
    e.max_runtime_ms = FACT_NONE;
    e.write_ms = 45000;
    e.longest_ms = 8000;
    e.enough_ms = 12000;
    print(&e);
    assert_has("longest seen: 8 s; 10 min is too long,");
    assert_has("write worst_case = \"45s\"");
    free(text);
    e.write_lease_ms = 71000;
    print(&e);
    assert_has("write worst_case = \"45s\" and lease =\n");
    assert_has("\"1m11s\"\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_model),
        cmocka_unit_test(test_no_renewal),
        cmocka_unit_test(test_seats),
        cmocka_unit_test(test_quorum),
        cmocka_unit_test(test_without_a_lock_and_alone),
        cmocka_unit_test(test_one_attempt_and_none_that_succeeded),
        cmocka_unit_test(test_extended_and_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
