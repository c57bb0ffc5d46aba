/* SPDX-License-Identifier: MIT
 * Where rotad's sentences go, and that they never make it wait. This program is built with
 * journal.c and a JOURNAL_SOCKET in its own folder. */
#include "base/limiter.h"
#include "supervisor/journal.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TEXT_SIZE 8192

static char folder[] = "/tmp/rota-test-journal-XXXXXX";
static int real_stderr;
/* Of each test: a pipe to be stderr, journald's socket, and what was taken from either. */
static int fds[2], log_fd;
static char text[TEXT_SIZE];

static int enter_folder(void **state)
{
    (void)state;
    real_stderr = dup(STDERR_FILENO);
    return real_stderr < 0 || !mkdtemp(folder) || chdir(folder) < 0;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") < 0 || rmdir(folder) < 0;
}

static void listen_journal(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };

    log_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_return_code(log_fd, errno);
    assert_return_code(bind(log_fd, (struct sockaddr *)&address, sizeof(address)), errno);
}

static int open_all(void **state)
{
    (void)state;
    assert_return_code(pipe2(fds, O_CLOEXEC), errno);
    assert_return_code(fcntl(fds[0], F_SETFL, O_NONBLOCK), errno);
    listen_journal();
    return 0;
}

/* Gives stderr back, and the journal nothing that a later test could meet. */
static int close_all(void **state)
{
    (void)state;
    dup2(real_stderr, STDERR_FILENO);
    unsetenv("JOURNAL_STREAM");
    journal_init(LOG_INFO);
    close(fds[0]);
    close(fds[1]);
    close(log_fd);
    return unlink(JOURNAL_SOCKET);
}

/* Makes the pipe stderr and lets the journal look at it. */
static void begin(int level)
{
    assert_return_code(dup2(fds[1], STDERR_FILENO), errno);
    journal_init(level);
}

static void begin_as_service(void)
{
    struct stat st;
    char stream[64];

    assert_return_code(fstat(fds[1], &st), errno);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    begin(LOG_INFO);
}

static size_t take(int fd)
{
    ssize_t n = read(fd, text, TEXT_SIZE - 1);

    if (n < 0)
        n = 0;
    text[n] = '\0';
    return (size_t)n;
}

static void assert_text_matches(const char *pattern)
{
    regex_t regex;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&regex, text, 0, NULL, 0) != 0)
        fail_msg("'%s' does not match '%s'", text, pattern);
    regfree(&regex);
}

static void test_a_line_on_a_pipe(void **state)
{
    const struct journal_field fields[] = { { "ROTA_JOB", "x" }, { NULL, NULL } };

    (void)state;
    begin(LOG_INFO);
    errno = EDOM;
    journal_log(LOG_INFO, fields, "x: succeeded in %d s", 4);
    assert_int_equal(errno, EDOM);
    take(fds[0]);
    assert_text_matches("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z "
                        "info: x: succeeded in 4 s\n$");
    journal_log(LOG_WARNING, NULL, "a\nb\033[2J");
    take(fds[0]);
    assert_text_matches("Z warning: a\\\\x0ab\\\\x1b\\[2J\n$");
}

static void test_levels(void **state)
{
    (void)state;
    begin(LOG_WARNING);
    assert_true(journal_wants(LOG_ERR));
    assert_false(journal_wants(LOG_INFO));
    journal_log(LOG_INFO, NULL, "not wanted");
    assert_int_equal(take(fds[0]), 0);
    journal_set_level(LOG_DEBUG);
    journal_log(LOG_DEBUG, NULL, "wanted");
    take(fds[0]);
    assert_text_matches("Z debug: wanted\n$");
}

/* Would hang here for ever if a full pipe made it wait. */
static void test_a_full_pipe_drops_and_counts(void **state)
{
    int after;
    unsigned written = 0;

    (void)state;
    assert_return_code(fcntl(fds[1], F_SETPIPE_SZ, 4096), errno);
    begin(LOG_INFO);
    assert_false(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK);
    errno = EDOM;
    for (unsigned i = 0; i < 200; i++)
        journal_log(LOG_INFO, NULL, "line %u of those that nobody reads for now", i);
    after = errno;
    take(fds[0]);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        written++;
    assert_in_range(written, 10, 199);
    assert_int_equal(text[strlen(text) - 1], '\n');
    journal_log(LOG_INFO, NULL, "the next");
    take(fds[0]);
    {
        char expected[128];

        snprintf(expected, sizeof(expected),
                 "Z warning: %u log lines were dropped.*Z info: the next\n$", 200 - written);
        assert_text_matches(expected);
    }
    assert_int_equal(after, EDOM);
}

static void test_entries_with_fields(void **state)
{
    const struct journal_field fields[] = {
        { "ROTA_JOB", "x" }, { "ROTA_FENCE", NULL }, { "ROTA_NOTE", "a\nFAKE=1" }, { NULL, NULL }
    };

    (void)state;
    begin_as_service();
    journal_log(LOG_NOTICE, fields, "x: succeeded");
    take(log_fd);
    assert_string_equal(text, "MESSAGE=x: succeeded\nPRIORITY=5\nSYSLOG_IDENTIFIER=rotad\n"
                              "ROTA_JOB=x\nROTA_NOTE=a FAKE=1\n");
    assert_int_equal(take(fds[0]), 0);
}

static void test_another_identity(void **state)
{
    const struct journal_field fields[] = { { "ROTA_JOB", "x" }, { NULL, NULL } };

    (void)state;
    begin_as_service();
    errno = EDOM;
    journal_pass_on(LOG_ERR, "x", fields, "disk\nPRIORITY=0\n\nMESSAGE=full\033[2J %s");
    assert_int_equal(errno, EDOM);
    take(log_fd);
    assert_string_equal(text, "MESSAGE=disk\\x0aPRIORITY=0\\x0a\\x0aMESSAGE=full\\x1b[2J %s\n"
                              "PRIORITY=3\nSYSLOG_IDENTIFIER=x\nROTA_JOB=x\n");
    journal_pass_on(LOG_DEBUG, "x", fields, "not wanted");
    assert_int_equal(take(log_fd), 0);
    setenv("JOURNAL_STREAM", "1:1", 1);
    journal_init(LOG_INFO);
    journal_pass_on(LOG_NOTICE, "x", fields, "a line");
    take(fds[0]);
    assert_text_matches("^[^ ]*Z notice: x\\| a line\n$");
}

/* A child whose stderr was redirected still has the variable. */
static void test_another_stream_gets_lines(void **state)
{
    (void)state;
    setenv("JOURNAL_STREAM", "1:1", 1);
    begin(LOG_INFO);
    journal_log(LOG_INFO, NULL, "here");
    take(fds[0]);
    assert_text_matches("Z info: here\n$");
}

/* Would hang here for ever if a journald that does not read made it wait. */
static void test_a_full_or_restarted_journal(void **state)
{
    int entries = 0;

    (void)state;
    begin_as_service();
    for (int i = 0; i < 2000; i++)
        journal_log(LOG_INFO, NULL, "entry %d", i);
    while (take(log_fd) > 0)
        entries++;
    assert_in_range(entries, 1, 1999);
    close(log_fd);
    unlink(JOURNAL_SOCKET);
    journal_log(LOG_INFO, NULL, "nobody is there");
    listen_journal();
    journal_log(LOG_INFO, NULL, "back");
    take(log_fd);
    assert_text_matches("^MESSAGE=[0-9]+ log lines were dropped");
    take(log_fd);
    assert_text_matches("^MESSAGE=back\n");
}

static void test_an_entry_that_is_explained(void **state)
{
    (void)state;
    begin_as_service();
    journal_log(LOG_INFO | MESSAGE_READY, NULL, "2 jobs; ready as gate-1");
    take(log_fd);
    assert_string_equal(text, "MESSAGE=2 jobs; ready as gate-1\nPRIORITY=6\n"
                              "SYSLOG_IDENTIFIER=rotad\nMESSAGE_ID=" MESSAGE_FAMILY "a0\n");
    journal_log(LOG_DEBUG | MESSAGE_READY, NULL, "not wanted");
    assert_int_equal(take(log_fd), 0);
}

static void say(int what, const char *job, const char *words)
{
    journal_log(what, (struct journal_field[]){ { "ROTA_JOB", job }, { NULL, NULL } }, "%s: %s",
                job, words);
}

static void fail_job(const char *job, int times)
{
    char words[32];

    for (int i = 1; i <= times; i++) {
        snprintf(words, sizeof words, "failed, try %d", i);
        say(LOG_WARNING | MESSAGE_RUN_FAILED, job, words);
    }
}

static int count_of(const char *part)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* The lines are few enough for the pipe. */
static void test_many_like_lines_are_counted(void **state)
{
    (void)state;
    begin(LOG_INFO);
    assert_int_equal(journal_due().ms, BOOT_NEVER.ms);
    fail_job("a", LIMITER_BURST + 5);
    assert_in_range(journal_due().ms, 1, BOOT_NEVER.ms - 1);
    journal_tell_held(false);
    take(fds[0]);
    assert_int_equal(count_of("a: failed"), LIMITER_BURST);
    /* The last one says so, and no other. */
    assert_int_equal(count_of("only counted"), 1);
    assert_text_matches(
        "try 9\n[^\n]*try 10 \\(more like it are only counted, for up to 10 min\\)\n$");
    /* Another kind of the same job, and the same of another job. */
    say(LOG_WARNING | MESSAGE_RUN_CRASHED, "a", "crashed");
    fail_job("b", 1);
    say(LOG_INFO, "a", "of no kind");
    take(fds[0]);
    assert_text_matches(
        "warning: a: crashed\n.*warning: b: failed, try 1\n.*info: a: of no kind\n$");
    /* Its success is said behind what it ends, and each time. */
    say(LOG_INFO | MESSAGE_RUN_DONE, "b", "succeeded");
    say(LOG_INFO | MESSAGE_RUN_DONE, "a", "succeeded");
    say(LOG_INFO | MESSAGE_RUN_DONE, "a", "succeeded");
    take(fds[0]);
    assert_text_matches("^[^\n]*b: succeeded\n"
                        "[^\n]*Z warning: a: failed, try 15 \\(the last of 5 more of these within "
                        "[^)]*\\)\n[^\n]*a: succeeded\n[^\n]*a: succeeded\n$");
    assert_int_equal(journal_due().ms, BOOT_NEVER.ms);
}

static void flap(int times, const char *address)
{
    for (int i = 0; i < times; i++) {
        journal_log(LOG_ERR | MESSAGE_REDIS_AWAY, NULL, "%s does not answer", address);
        journal_log(LOG_NOTICE | MESSAGE_REDIS_BACK, NULL, "%s answers again", address);
    }
}

static void test_beginnings_and_ends_are_counted_together(void **state)
{
    (void)state;
    begin(LOG_INFO);
    flap(LIMITER_BURST + 2, "x:1");
    take(fds[0]);
    assert_int_equal(count_of("does not answer"), LIMITER_BURST);
    assert_int_equal(count_of("answers again"), LIMITER_BURST);
    journal_log(LOG_ERR | MESSAGE_REDIS_UNUSABLE, NULL, "x:1 cannot be used");
    assert_int_equal(take(fds[0]), 0);
    journal_tell_held(true);
    take(fds[0]);
    assert_text_matches("^[^\n]*error: x:1 cannot be used \\(the last of 5 more of these within "
                        "[^)]*\\)\n$");
    journal_log(LOG_NOTICE | MESSAGE_REDIS_BACK, NULL, "x:1 answers again");
    take(fds[0]);
    assert_text_matches("^[^\n]*notice: x:1 answers again\n$");
}

/* A trouble of all jobs has one account, whichever meets it. */
static void test_what_all_jobs_share(void **state)
{
    char job[] = "a";

    (void)state;
    begin(LOG_INFO);
    for (int i = 0; i < LIMITER_BURST + 3; i++, job[0]++)
        say(LOG_ERR | MESSAGE_REDIS_FULL, job, "Redis has no memory");
    take(fds[0]);
    assert_int_equal(count_of("no memory"), LIMITER_BURST);
    journal_log(LOG_NOTICE | MESSAGE_END_OF(LOG_ERR | MESSAGE_REDIS_FULL), NULL, "it has again");
    take(fds[0]);
    assert_text_matches("^[^\n]*error: m: Redis has no memory \\(the last of 3 [^)]*\\)\n"
                        "[^\n]*notice: it has again\n$");
    assert_int_equal(MESSAGE_END_OF(MESSAGE_REDIS_FULL), MESSAGE_REDIS_NOT_FULL);
}

static void test_the_count_bears_the_fields(void **state)
{
    (void)state;
    begin_as_service();
    for (int i = 0; i < LIMITER_BURST + 1; i++) {
        say(LOG_WARNING | MESSAGE_RUN_OVERRUN, "fields", "overrun");
        take(log_fd);
    }
    assert_string_equal(text, "");
    journal_tell_held(true);
    take(log_fd);
    assert_text_matches("^MESSAGE=fields: overrun \\(the last of 1 more [^\n]*\nPRIORITY=4\n"
                        "SYSLOG_IDENTIFIER=rotad\nMESSAGE_ID=" MESSAGE_FAMILY
                        "18\nROTA_JOB=fields\n$");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_line_on_a_pipe),
        TEST(test_levels),
        TEST(test_a_full_pipe_drops_and_counts),
        TEST(test_entries_with_fields),
        TEST(test_another_identity),
        TEST(test_another_stream_gets_lines),
        TEST(test_a_full_or_restarted_journal),
        TEST(test_an_entry_that_is_explained),
        TEST(test_many_like_lines_are_counted),
        TEST(test_beginnings_and_ends_are_counted_together),
        TEST(test_what_all_jobs_share),
        TEST(test_the_count_bears_the_fields),
    };

    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
