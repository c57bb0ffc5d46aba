/* SPDX-License-Identifier: MIT
 * What a guard gets from rotad, and what it does not. This program is the guard too: started with
 * --run or
 * --probe it writes down what it finds and sends it over descriptor 3. */
#include "supervisor/process.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_SIZE 4096
#define DEADLINE_MS 10000

static char self[4096];

/* The guard side: prints what it was given. */

static void say_descriptors(FILE *out)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    unsigned seen = 0;

    if (!folder)
        return;
    while ((entry = readdir(folder))) {
        int fd = atoi(entry->d_name);

        if (*entry->d_name != '.' && fd != dirfd(folder) && fd < 32)
            seen |= 1u << fd;
        else if (*entry->d_name != '.' && fd != dirfd(folder))
            seen |= 1u << 31;
    }
    closedir(folder);
    fprintf(out, "fds=%x\n", seen);
}

static void say_kinds(FILE *out)
{
    struct stat null, zero, one, two;
    int type = 0;
    socklen_t length = sizeof(type);

    if (stat("/dev/null", &null) == 0 && fstat(0, &zero) == 0)
        fprintf(out, "null=%d\n", null.st_rdev == zero.st_rdev);
    if (fstat(1, &one) == 0 && fstat(2, &two) == 0)
        fprintf(out, "output=%d\n", one.st_dev == two.st_dev && one.st_ino == two.st_ino);
    getsockopt(3, SOL_SOCKET, SO_TYPE, &type, &length);
    fprintf(out, "socket=%d\n", type == SOCK_SEQPACKET);
}

static void say_signals(FILE *out)
{
    sigset_t mask;
    int blocked = 0, ignored = 0;

    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;

        blocked += sigismember(&mask, i) == 1;
        if (sigaction(i, NULL, &action) == 0)
            ignored += action.sa_handler == SIG_IGN;
    }
    fprintf(out, "blocked=%d ignored=%d leader=%d\n", blocked, ignored, getsid(0) == getpid());
}

static int be_guard(int argc, char **argv)
{
    char text[TEXT_SIZE] = "";
    FILE *out;

    out = fmemopen(text, sizeof(text), "w");
    if (!out)
        return 1;
    fprintf(out, "args=");
    for (int i = 0; i < argc; i++)
        fprintf(out, "%s ", argv[i]);
    fprintf(out, "\nenv=");
    for (char **e = environ; *e; e++)
        fprintf(out, "%s ", *e);
    fprintf(out, "\n");
    say_descriptors(out);
    say_kinds(out);
    say_signals(out);
    fclose(out);
    return send(3, text, strlen(text), MSG_NOSIGNAL) < 0;
}

/* The test side. */

static void read_answer(int fd, char *text)
{
    struct pollfd readable = { .fd = fd, .events = POLLIN };
    ssize_t n;

    assert_int_equal(poll(&readable, 1, DEADLINE_MS), 1);
    n = recv(fd, text, TEXT_SIZE - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
}

static void reap(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void test_only_what_the_design_says(void **state)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
    sigset_t some, old;
    char text[TEXT_SIZE];
    int fd, stray;
    pid_t pid;

    (void)state;
    setenv("NOTIFY_SOCKET", "/run/x", 1);
    setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x", 1);
    setenv("LANG", "C", 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    stray = fcntl(STDIN_FILENO, F_DUPFD, 10); /* as a library might: not close-on-exec */
    assert_true(stray >= 10);
    sigaction(SIGPIPE, &ignore, &before);
    sigfillset(&some);
    sigprocmask(SIG_BLOCK, &some, &old);
    assert_return_code(process_spawn_guard(self, "--run", "nightly", &fd, &pid), 0);
    sigprocmask(SIG_SETMASK, &old, NULL);
    sigaction(SIGPIPE, &before, NULL);
    close(stray);
    read_answer(fd, text);
    assert_has(text, "args=rota-guard --run nightly \n");
    assert_has(text, "env=PATH=/usr/bin:/bin LANG=C \n");
    assert_has(text, "fds=f\n");
    assert_has(text, "null=1\noutput=1\nsocket=1\n");
    assert_has(text, "blocked=0 ignored=0 leader=1\n");
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
    reap(pid);
}

static void test_without_a_name(void **state)
{
    char text[TEXT_SIZE];
    int fd;
    pid_t pid;

    (void)state;
    assert_return_code(process_spawn_guard(self, "--probe", NULL, &fd, &pid), 0);
    read_answer(fd, text);
    assert_has(text, "args=rota-guard --probe \n");
    close(fd);
    reap(pid);
}

/* S24's kind: nothing stays behind, neither after a success nor after a failure. */
static void test_no_descriptor_is_lost(void **state)
{
    int before = dup(0), after, fd = 12345;
    pid_t pid = 12345;

    (void)state;
    close(before);
    assert_int_equal(process_spawn_guard("/nonexistent/rota-guard", "--run", "x", &fd, &pid),
                     -ENOENT);
    assert_int_equal(process_spawn_guard("/", "--run", "x", &fd, &pid), -EACCES);
    assert_int_equal(fd, 12345);
    assert_return_code(process_spawn_guard(self, "--probe", NULL, &fd, &pid), 0);
    close(fd);
    waitpid(pid, NULL, 0);
    after = dup(0);
    close(after);
    assert_int_equal(before, after);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* This program is not in sbin, so the guard is the neighbour's of its folder. */
static void test_the_guard_of_a_build_folder(void **state)
{
    char expected[sizeof(self) + 32];
    const char *path = process_guard_path();

    (void)state;
    snprintf(expected, sizeof(expected), "%s", self);
    *strrchr(expected, '/') = '\0';
    strcpy(strrchr(expected, '/'), "/guard/rota-guard");
    assert_string_equal(path, expected);
    assert_ptr_equal(process_guard_path(), path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_the_design_says),
        cmocka_unit_test(test_without_a_name),
        cmocka_unit_test(test_no_descriptor_is_lost),
        cmocka_unit_test(test_the_guard_of_a_build_folder),
    };
    ssize_t n;

    if (argc > 1)
        return be_guard(argc, argv);
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0)
        return 1;
    self[n] = '\0';
    return cmocka_run_group_tests(tests, NULL, NULL);
}
