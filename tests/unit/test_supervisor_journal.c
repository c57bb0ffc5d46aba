/* SPDX-License-Identifier: MIT
 * Where rotad's sentences go, and that they never make it wait. This program is built with
 * journal.c and a JOURNAL_SOCKET in its own folder. */
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
    };

    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
