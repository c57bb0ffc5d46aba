/* SPDX-License-Identifier: MIT
 * Names in a child that hangs, lies or dies. This program is the child too: started with --resolve
 * it does what the host's name says. */
#include "base/time.h"
#include "supervisor/resolver.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 20000
/* On a machine that does nothing else it is below 5. */
#define LATENCY_MS 50

struct asker {
    sd_event *event;
    struct resolver resolver;
    struct redis_lookup lookup; /* its address is the asker's, see of() */
    unsigned answers;
    struct redis_names names; /* none where there was a reason */
    char why[80];
};

/* --- the child --- */

static void print_many(const char *line)
{
    for (int i = 0; i < 1000; i++)
        puts(line);
}

static int be_child(const char *host)
{
    if (strcmp(host, "hangs") == 0)
        pause();
    if (strcmp(host, "speaks-and-hangs") == 0) {
        puts("192.0.2.1");
        fflush(stdout);
        pause();
    }
    if (strcmp(host, "real") == 0)
        return resolver_main("2001:db8::7", "6379");
    if (strcmp(host, "good") == 0)
        fputs("192.0.2.1\n2001:db8::1\n192.0.2.2\n", stdout);
    if (strcmp(host, "full") == 0)
        for (int i = 0; i < REDIS_NAMES_MAX; i++)
            puts("1111:2222:3333:4444:5555:6666:123.123.123.123");
    if (strcmp(host, "one-too-many") == 0)
        for (int i = 0; i <= REDIS_NAMES_MAX; i++)
            puts("::1");
    if (strcmp(host, "thousand") == 0)
        print_many("192.0.2.1");
    if (strcmp(host, "no-newline") == 0)
        fputs("192.0.2.1", stdout);
    if (strcmp(host, "garbage") == 0)
        puts("192.0.2.1\nredis.example");
    if (strcmp(host, "nul") == 0)
        fwrite("192.0.2.1\0x\n", 1, 12, stdout);
    if (strcmp(host, "long") == 0)
        puts("0000000000000000000000000000000000000000000000000000::1");
    if (strcmp(host, "dies") == 0) {
        puts("192.0.2.1");
        fflush(stdout);
        raise(SIGSEGV);
    }
    if (strcmp(host, "unknown") == 0)
        return 68;
    if (strcmp(host, "silent") == 0)
        return 75;
    if (strcmp(host, "broken") == 0)
        return 69;
    return 0;
}

/* --- the asker --- */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void on_done(struct redis_lookup *lookup, const struct redis_names *names, const char *why)
{
    struct asker *a = (struct asker *)((char *)lookup - offsetof(struct asker, lookup));

    a->answers++;
    a->names.count = 0;
    a->why[0] = '\0';
    if (names)
        a->names = *names;
    else
        snprintf(a->why, sizeof a->why, "%s", why);
}

static void reap(struct asker *a)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        (void)resolver_child_ended(&a->resolver, pid, status);
}

static void begin(struct asker *a)
{
    *a = (struct asker){ .lookup = { .done = on_done } };
    assert_true(sd_event_new(&a->event) >= 0);
    resolver_init(&a->resolver, a->event);
}

/* Every child is gone. */
static void end(struct asker *a)
{
    resolver_done(&a->resolver);
    sd_event_unref(a->event);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    assert_int_equal(errno, ECHILD);
}

static void ask(struct asker *a, const char *host)
{
    int64_t before = now_ms(), until = before + DEADLINE_MS;
    unsigned answers = a->answers;

    assert_int_equal(resolver_ask(&a->resolver, host, 6379, &a->lookup), 0);
    while (a->answers == answers) {
        assert_true(now_ms() < until);
        assert_true(sd_event_run(a->event, 5000) >= 0);
        reap(a);
    }
    assert_int_equal(a->answers, answers + 1);
    assert_int_equal(resolver_pid(&a->resolver), 0);
}

static void test_addresses_in_their_order(void **state)
{
    struct asker a;

    (void)state;
    begin(&a);
    ask(&a, "good");
    assert_int_equal(a.names.count, 3);
    assert_string_equal(a.names.address[0], "192.0.2.1");
    assert_string_equal(a.names.address[1], "2001:db8::1");
    assert_string_equal(a.names.address[2], "192.0.2.2");
    ask(&a, "full"); /* the longest texts, and as many as there may be */
    assert_int_equal(a.names.count, REDIS_NAMES_MAX);
    ask(&a, "good");
    assert_int_equal(a.names.count, 3);
    end(&a);
}

static void test_lies_and_failures(void **state)
{
    static const struct {
        const char *host, *why;
    } cases[] = {
        { "one-too-many", "what its name was resolved to are not addresses" },
        { "thousand", "what its name was resolved to are not addresses" },
        { "no-newline", "what its name was resolved to are not addresses" },
        { "garbage", "what its name was resolved to are not addresses" },
        { "nul", "what its name was resolved to are not addresses" },
        { "long", "what its name was resolved to are not addresses" },
        { "says-nothing", "what its name was resolved to are not addresses" },
        { "dies", "its name cannot be resolved" },
        { "broken", "its name cannot be resolved" },
        { "unknown", "its name is not known" },
        { "silent", "no name server answers" },
    };
    struct asker a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask(&a, cases[i].host);
        assert_int_equal(a.names.count, 0);
        assert_string_equal(a.why, cases[i].why);
    }
    end(&a);
}

/* A second question at once is refused; a forgotten one is killed, and says nothing ever more. */
static void test_a_child_that_hangs_is_killed(void **state)
{
    static const char *const hosts[] = { "hangs", "speaks-and-hangs" };
    struct asker a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct redis_lookup other = { .done = on_done };
        int64_t before = now_ms();
        pid_t pid;
        int status;

        assert_int_equal(resolver_ask(&a.resolver, hosts[i], 6379, &a.lookup), 0);
        pid = resolver_pid(&a.resolver);
        assert_true(pid > 0);
        assert_true(now_ms() - before < DEADLINE_MS);
        assert_int_equal(resolver_ask(&a.resolver, "good", 6379, &other), -EBUSY);
        assert_true(sd_event_run(a.event, 20000) >= 0);
        resolver_cancel(&a.resolver);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_false(resolver_child_ended(&a.resolver, pid, status));
        assert_int_equal(a.answers, 0);
    }
    ask(&a, "good");
    assert_int_equal(a.names.count, 3);
    end(&a);
}

/* Whatever the child does, no turn of the loop takes long. The least of several measures, since
 * this machine may be busy with other things. */
static void test_the_loop_goes_on(void **state)
{
    static const char *const hosts[] = { "hangs", "thousand", "garbage", "good" };
    struct asker a;

    (void)state;
    begin(&a);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        int64_t least = INT64_MAX;

        for (int measure = 0; measure < 20; measure++) {
            int64_t before = now_ms(), took;

            assert_int_equal(resolver_ask(&a.resolver, hosts[i], 6379, &a.lookup), 0);
            assert_true(sd_event_run(a.event, 0) >= 0);
            resolver_cancel(&a.resolver);
            took = now_ms() - before;
            least = took < least ? took : least;
            reap(&a);
        }
        assert_true(least < LATENCY_MS);
    }
    end(&a);
}

/* The child as rotad has it. */
static void test_the_resolvers_own_child(void **state)
{
    struct asker a;

    (void)state;
    begin(&a);
    ask(&a, "real");
    assert_int_equal(a.names.count, 1);
    assert_string_equal(a.names.address[0], "2001:db8::7");
    end(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_in_their_order),
        cmocka_unit_test(test_lies_and_failures),
        cmocka_unit_test(test_a_child_that_hangs_is_killed),
        cmocka_unit_test(test_the_loop_goes_on),
        cmocka_unit_test(test_the_resolvers_own_child),
    };

    if (argc == 4 && strcmp(argv[1], "--resolve") == 0)
        return be_child(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
