/* SPDX-License-Identifier: MIT
 * The number of lines that were held back is told without anything else happening. This program is
 * built with a LIMITER_WINDOW_MS that can be waited for. */
#include "base/limiter.h"
#include "supervisor/journal.h"
#include "supervisor/journal_timer.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Later than journal_timer.c lets it be, on a machine however busy. */
#define LATE_US (20 * UINT64_C(1000000))

struct bench {
    sd_event *event;
    sd_event_source *timer;
    int fds[2], real_stderr;
};

static void begin(struct bench *b)
{
    assert_return_code(sd_event_new(&b->event), errno);
    assert_return_code(journal_timer_new(b->event, 0, &b->timer), errno);
    assert_return_code(pipe2(b->fds, O_CLOEXEC | O_NONBLOCK), errno);
    b->real_stderr = dup(STDERR_FILENO);
    assert_return_code(dup2(b->fds[1], STDERR_FILENO), errno);
    journal_init(LOG_INFO);
}

static void end(struct bench *b)
{
    dup2(b->real_stderr, STDERR_FILENO);
    journal_init(LOG_INFO);
    close(b->real_stderr);
    close(b->fds[0]);
    close(b->fds[1]);
    sd_event_source_disable_unref(b->timer);
    sd_event_unref(b->event);
}

static bool is_on(const struct bench *b)
{
    int enabled;

    assert_return_code(sd_event_source_get_enabled(b->timer, &enabled), errno);
    return enabled != SD_EVENT_OFF;
}

static void take(const struct bench *b, char *text, size_t size)
{
    ssize_t n = read(b->fds[0], text, size - 1);

    text[n > 0 ? n : 0] = '\0';
}

static void test_it_wakes_once_and_only_then(void **state)
{
    char text[8192];
    struct bench b;

    (void)state;
    begin(&b);
    journal_timer_arm(b.timer);
    assert_false(is_on(&b));
    for (int i = 0; i < LIMITER_BURST; i++)
        journal_log(LOG_ERR | MESSAGE_TWIN, NULL, "a twin");
    journal_timer_arm(b.timer);
    assert_false(is_on(&b));
    for (int i = 0; i < 3; i++)
        journal_log(LOG_ERR | MESSAGE_TWIN, NULL, "a twin");
    take(&b, text, sizeof text);
    assert_null(strstr(text, "more of these"));
    journal_timer_arm(b.timer);
    assert_true(is_on(&b));
    assert_int_equal(sd_event_run(b.event, LATE_US), 1);
    take(&b, text, sizeof text);
    assert_non_null(strstr(text, "error: a twin (the last of 3 more of these within "));
    journal_timer_arm(b.timer);
    assert_false(is_on(&b));
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_wakes_once_and_only_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
