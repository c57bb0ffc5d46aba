/* SPDX-License-Identifier: MIT
 * What rotad tells the service manager, against a socket of our own; the bounds are scenario S34's.
 */
#include "supervisor/health.h"
#include "supervisor/journal.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_US 500000
#define PRIORITY 1
#define TEXT_SIZE 1024

static char folder[] = "/tmp/rota-test-health-XXXXXX";
static char path[sizeof(folder) + 8];

struct scene {
    int manager; /* the service manager's socket */
    sd_event *event;
    struct health *health;
    bool sound;
    unsigned asked;
};

static bool say_sound(void *context, const char **ret_why)
{
    struct scene *s = context;

    s->asked++;
    if (!s->sound)
        *ret_why = "a test says so";
    return s->sound;
}

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/notify", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void listen_at(struct scene *s, const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(name);

    memcpy(address.sun_path, name, length);
    if (*name == '@')
        address.sun_path[0] = '\0';
    s->manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_return_code(s->manager, errno);
    assert_return_code(bind(s->manager, (struct sockaddr *)&address,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
                       errno);
    setenv("NOTIFY_SOCKET", name, 1);
}

static void begin(struct scene *s, const char *name, uint64_t watchdog_us)
{
    char text[32];

    *s = (struct scene){ .manager = -1, .sound = true };
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_PID");
    unsetenv("WATCHDOG_USEC");
    if (name)
        listen_at(s, name);
    if (watchdog_us) {
        snprintf(text, sizeof(text), "%" PRIu64, watchdog_us);
        setenv("WATCHDOG_USEC", text, 1);
        snprintf(text, sizeof(text), "%ld", (long)getpid());
        setenv("WATCHDOG_PID", text, 1);
    }
    assert_return_code(sd_event_new(&s->event), 0);
    assert_return_code(health_new(s->event, PRIORITY, say_sound, s, &s->health), 0);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
}

static void end(struct scene *s)
{
    health_free(s->health);
    sd_event_unref(s->event);
    if (s->manager >= 0)
        close(s->manager);
    unlink(path);
}

static bool take(const struct scene *s, char *text)
{
    ssize_t n = recv(s->manager, text, TEXT_SIZE - 1, 0);

    if (n < 0)
        return false;
    text[n] = '\0';
    return true;
}

static void assert_said(const struct scene *s, const char *expected)
{
    char text[TEXT_SIZE];

    assert_true(take(s, text));
    assert_string_equal(text, expected);
}

/* In one datagram, with an instant since `before`. */
static void assert_said_reloading(const struct scene *s, uint64_t before, uint64_t extend_us)
{
    char text[TEXT_SIZE], expected[TEXT_SIZE], *at;
    uint64_t said;

    assert_true(take(s, text));
    at = strstr(text, "MONOTONIC_USEC=");
    assert_non_null(at);
    said = strtoull(at + strlen("MONOTONIC_USEC="), NULL, 10);
    assert_in_range(said, before, now_us());
    snprintf(expected, sizeof(expected),
             "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nEXTEND_TIMEOUT_USEC=%" PRIu64, said,
             extend_us);
    assert_string_equal(text, expected);
}

static void assert_silent(const struct scene *s)
{
    char text[TEXT_SIZE];

    assert_false(take(s, text));
}

static void test_what_is_said(void **state)
{
    struct scene s;
    uint64_t before;

    (void)state;
    begin(&s, path, 0);
    assert_return_code(health_ready(s.health), 0);
    assert_said(&s, "READY=1");
    assert_return_code(health_status(s.health, "3 jobs\nREADY=1"), 0);
    assert_said(&s, "STATUS=3 jobs\\x0aREADY=1");
    assert_return_code(health_status(s.health, "3 jobs\nREADY=1"), 0);
    assert_silent(&s);
    assert_return_code(health_status(s.health, "4 jobs"), 0);
    assert_said(&s, "STATUS=4 jobs");
    before = now_us();
    assert_return_code(health_reloading(s.health, 120000), 0);
    assert_said_reloading(&s, before, 125000000);
    assert_return_code(health_stopping(s.health, 45000), 0);
    assert_said(&s, "STOPPING=1\nEXTEND_TIMEOUT_USEC=50000000");
    assert_int_equal(s.asked, 0);
    end(&s);
}

static void test_a_name_without_a_file(void **state)
{
    struct scene s;
    char name[64];

    (void)state;
    snprintf(name, sizeof(name), "@rota-test-health-%ld", (long)getpid());
    begin(&s, name, 0);
    assert_return_code(health_ready(s.health), 0);
    assert_said(&s, "READY=1");
    end(&s);
}

static void test_nobody_listens(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, NULL, INTERVAL_US);
    assert_return_code(health_ready(s.health), 0);
    assert_return_code(health_status(s.health, "x"), 0);
    assert_return_code(health_reloading(s.health, 1), 0);
    assert_return_code(health_stopping(s.health, 1), 0);
    /* No timer: the loop has nothing to do. */
    assert_int_equal(sd_event_run(s.event, 0), 0);
    assert_int_equal(s.asked, 0);
    end(&s);
    health_free(NULL);
}

/* Fills the queue of a manager that does not read; a wait in there would hang here for ever. */
static void fill_queue(struct scene *s)
{
    int r = 0;

    for (int i = 0; i < 5000 && r == 0; i++)
        r = health_stopping(s->health, 1);
    assert_int_equal(r, -EAGAIN);
}

static void empty_queue(const struct scene *s)
{
    char text[TEXT_SIZE];

    while (take(s, text))
        continue;
}

/* Turns the loop until something can be read, at most 5 s. */
static void wait_said(const struct scene *s)
{
    uint64_t until = now_us() + 5000000;

    while (recv(s->manager, NULL, 0, MSG_PEEK) < 0) {
        uint64_t now = now_us();

        assert_true(now < until);
        assert_return_code(sd_event_run(s->event, until - now), 0);
    }
}

static void test_a_full_queue_loses_nothing(void **state)
{
    struct scene s;
    uint64_t emptied;

    (void)state;
    begin(&s, path, 0);
    fill_queue(&s);
    assert_int_equal(health_status(s.health, "old"), -EAGAIN);
    assert_int_equal(health_reloading(s.health, 1000), -EAGAIN);
    assert_int_equal(health_ready(s.health), -EAGAIN);
    assert_int_equal(health_status(s.health, "new"), -EAGAIN);
    assert_int_equal(health_stopping(s.health, 1000), -EAGAIN);
    empty_queue(&s);
    emptied = now_us();
    wait_said(&s);
    assert_said_reloading(&s, emptied, 6000000);
    assert_said(&s, "READY=1");
    assert_said(&s, "STATUS=new");
    assert_said(&s, "STOPPING=1\nEXTEND_TIMEOUT_USEC=6000000");
    assert_silent(&s);
    /* All is told: no timer goes on. */
    assert_int_equal(sd_event_run(s.event, 300000), 0);
    end(&s);
}

static void test_what_is_owed_goes_first(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, path, 0);
    fill_queue(&s);
    assert_int_equal(health_ready(s.health), -EAGAIN);
    empty_queue(&s);
    assert_return_code(health_status(s.health, "3 jobs"), 0);
    assert_said(&s, "READY=1");
    assert_said(&s, "STATUS=3 jobs");
    end(&s);
}

static void test_a_queue_that_stays_full(void **state)
{
    struct scene s;
    uint64_t until;
    int turns = 0;

    (void)state;
    begin(&s, path, 0);
    fill_queue(&s);
    assert_int_equal(health_ready(s.health), -EAGAIN);
    until = now_us() + 1000000;
    for (uint64_t now = now_us(); now < until; now = now_us())
        turns += sd_event_run(s.event, until - now) > 0;
    assert_in_range(turns, 1, 3); /* after 0.1, 0.3 and 0.7 s */
    empty_queue(&s);
    wait_said(&s);
    assert_said(&s, "READY=1");
    end(&s);
}

static void test_a_manager_that_is_gone(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, path, 0);
    close(s.manager);
    s.manager = -1;
    assert_int_equal(health_ready(s.health), -ECONNREFUSED);
    assert_int_equal(sd_event_run(s.event, 300000), 0);
    end(&s);
}

/* Turns the loop for `for_us` and returns the pings; the largest and smallest distance of two goes
 * to *ret_. */
static unsigned count_pings(struct scene *s, uint64_t for_us, uint64_t *ret_least,
                            uint64_t *ret_most)
{
    uint64_t until = now_us() + for_us, last = 0, least = UINT64_MAX, most = 0;
    unsigned pings = 0;

    for (uint64_t now = now_us(); now < until; now = now_us()) {
        char text[TEXT_SIZE];

        assert_return_code(sd_event_run(s->event, until - now), 0);
        while (take(s, text)) {
            assert_string_equal(text, "WATCHDOG=1");
            now = now_us();
            if (last && now - last < least)
                least = now - last;
            if (last && now - last > most)
                most = now - last;
            last = now;
            pings++;
        }
    }
    *ret_least = least;
    *ret_most = most;
    return pings;
}

static void test_pings(void **state)
{
    struct scene s;
    uint64_t least, most;
    unsigned pings;

    (void)state;
    begin(&s, path, INTERVAL_US);
    assert_said(&s, "WATCHDOG=1"); /* at once */
    pings = count_pings(&s, 4 * INTERVAL_US, &least, &most);
    assert_in_range(pings, 6, 9); /* 8; a loaded machine may be late for one or two */
    assert_true(least >= INTERVAL_US * 44 / 100);
    /* Half the interval, and what a loaded machine adds; the interval itself would be a restart. */
    assert_true(most < INTERVAL_US * 8 / 10);
    end(&s);
}

/* The other end of S34: an interval of a minute is planned in the same proportions. */
static void test_a_long_interval(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, path, 60000000);
    assert_said(&s, "WATCHDOG=1");
    assert_int_equal(sd_event_run(s.event, 10000), 0);
    assert_silent(&s);
    assert_int_equal(s.asked, 1);
    end(&s);
}

static size_t read_log(int fd, char *text)
{
    ssize_t n = read(fd, text, TEXT_SIZE - 1);

    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? 0 : (size_t)n;
}

static void test_no_ping_while_unsound(void **state)
{
    struct scene s;
    uint64_t least, most;
    char log[TEXT_SIZE];
    int fds[2], real = dup(STDERR_FILENO);

    (void)state;
    assert_return_code(pipe2(fds, O_CLOEXEC), errno);
    assert_return_code(fcntl(fds[0], F_SETFL, O_NONBLOCK), errno);
    begin(&s, path, INTERVAL_US / 5);
    assert_said(&s, "WATCHDOG=1");
    s.sound = false;
    dup2(fds[1], STDERR_FILENO);
    journal_init(LOG_INFO);
    assert_int_equal(count_pings(&s, INTERVAL_US, &least, &most), 0);
    s.sound = true;
    assert_in_range(count_pings(&s, INTERVAL_US, &least, &most), 1, 12);
    dup2(real, STDERR_FILENO);
    journal_init(LOG_INFO);
    read_log(fds[0], log);
    assert_true(s.asked > 6);
    assert_non_null(strstr(log, "error: The watchdog is not fed any more: a test says so\n"));
    assert_non_null(strstr(log, "notice: The watchdog is fed again"));
    assert_ptr_equal(strchr(strchr(log, '\n') + 1, '\n'), log + strlen(log) - 1); /* once each */
    close(fds[0]);
    close(fds[1]);
    close(real);
    end(&s);
}

static int make_sound(sd_event_source *source, uint64_t due_us, void *context)
{
    struct scene *s = context;

    (void)source;
    (void)due_us;
    s->sound = true;
    return 0;
}

static int nothing(sd_event_source *source, void *context)
{
    (void)source;
    (void)context;
    return 0;
}

static void add_first(struct scene *s, sd_event_source **ret_source)
{
    assert_return_code(sd_event_add_defer(s->event, ret_source, nothing, NULL), 0);
    assert_return_code(sd_event_source_set_priority(*ret_source, -PRIORITY), 0);
}

/* After a suspend a timer that sound() looks at and the ping are late together. With other events
 * before them sd-event gives no order to those of one priority, and with two it takes the ping. */
static void test_late_with_the_timers_that_it_looks_at(void **state)
{
    sd_event_source *first[2], *timer;
    struct scene s;

    (void)state;
    begin(&s, path, INTERVAL_US);
    assert_said(&s, "WATCHDOG=1");
    s.sound = false;
    assert_return_code(sd_event_add_time_relative(s.event, &timer, CLOCK_BOOTTIME, INTERVAL_US / 4,
                                                  1, make_sound, &s),
                       0);
    add_first(&s, &first[0]);
    add_first(&s, &first[1]);
    usleep(INTERVAL_US);
    while (s.asked < 2)
        assert_return_code(sd_event_run(s.event, INTERVAL_US), 0);
    assert_said(&s, "WATCHDOG=1");
    sd_event_source_unref(first[0]);
    sd_event_source_unref(first[1]);
    sd_event_source_unref(timer);
    end(&s);
}

static void test_another_process_is_meant(void **state)
{
    struct scene s;

    (void)state;
    begin(&s, NULL, 0);
    end(&s);
    s = (struct scene){ .manager = -1, .sound = true };
    listen_at(&s, path);
    setenv("WATCHDOG_USEC", "500000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    assert_return_code(sd_event_new(&s.event), 0);
    assert_return_code(health_new(s.event, PRIORITY, say_sound, &s, &s.health), 0);
    assert_int_equal(sd_event_run(s.event, 0), 0);
    assert_silent(&s);
    assert_null(getenv("WATCHDOG_USEC"));
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_said),
        cmocka_unit_test(test_a_name_without_a_file),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_a_full_queue_loses_nothing),
        cmocka_unit_test(test_what_is_owed_goes_first),
        cmocka_unit_test(test_a_queue_that_stays_full),
        cmocka_unit_test(test_a_manager_that_is_gone),
        cmocka_unit_test(test_pings),
        cmocka_unit_test(test_a_long_interval),
        cmocka_unit_test(test_no_ping_while_unsound),
        cmocka_unit_test(test_late_with_the_timers_that_it_looks_at),
        cmocka_unit_test(test_another_process_is_meant),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
