/* SPDX-License-Identifier: MIT
 * exec: any program as a job. The worker forks the program and stays: its kernel timer, which ends
 * the run in time even where the guard is stopped, does not survive an exec.
 *
 * The program finds in its environment
 *   ROTA_JOB       the job's name
 *   ROTA_TURN      the turn that it runs for, Unix ms
 *   ROTA_ATTEMPT   1 for the first try of the turn
 *   ROTA_FENCE     a number that grows with every lease of the job; 0: there is none
 *   ROTA_DEADLINE  when the worst case is used up and it is stopped, Unix ms by this device's clock
 */
#include "exits.h"

#include <rota/plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct rota_param params[] = {
    { .name = "command",
      .type = ROTA_STRINGS,
      .flags = ROTA_REQUIRED,
      .min = "1",
      .help = "The program and its arguments; no shell reads them." },
    EXITS_PARAMS,
    { .name = "stdin_file",
      .type = ROTA_STRING,
      .flags = ROTA_PATH,
      .help = "The program reads this file as its standard input; else it is empty." },
    { .name = NULL },
};

static bool may_run(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp(3) will look for it. */
static bool is_in_path(const char *name)
{
    const char *at = getenv("PATH");
    char path[4096];

    while (at && *at) {
        size_t length = strcspn(at, ":");
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, at, name);

        if (length > 0 && n > 0 && (size_t)n < sizeof(path) && may_run(path))
            return true;
        at += length;
        at += *at == ':';
    }
    return false;
}

static int check(const struct rota_run *r)
{
    const char *program = rota_strings(r, "command")[0], *file = rota_string(r, "stdin_file");

    if (program[0] == '/') {
        if (access(program, F_OK) != 0)
            return rota_fail(r, ROTA_REFUSED, "command: %s: %s; %s", program, strerror(errno),
                             strchr(program, ' ') ? "write each argument as an element of its own"
                                                  : "name a program that is there");
        if (!may_run(program))
            return rota_fail(r, ROTA_REFUSED,
                             "command: %s is no program; make it executable (chmod +x)", program);
    } else if (strchr(program, '/')) {
        return rota_fail(r, ROTA_REFUSED,
                         "command: %s is relative; write an absolute path, or a name in PATH",
                         program);
    } else if (!is_in_path(program)) {
        return rota_fail(r, ROTA_REFUSED, "command: %s is not in %s; write its absolute path",
                         program, getenv("PATH"));
    }
    if (file && access(file, F_OK) != 0)
        return rota_fail(r, ROTA_REFUSED, "stdin_file: %s: %s", file, strerror(errno));
    return exits_check(r);
}

static int set_number(const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    return setenv(name, text, 1);
}

/* In the worker itself: it lives for this run alone. */
static int set_environment(const struct rota_run *r)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (setenv("ROTA_JOB", r->job, 1) != 0 || set_number("ROTA_TURN", r->turn_ms) != 0 ||
        set_number("ROTA_ATTEMPT", r->attempt) != 0 ||
        set_number("ROTA_FENCE", (int64_t)r->fence) != 0)
        return -errno;
    if (set_number("ROTA_DEADLINE",
                   (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + r->budget_left_ms(r)) != 0)
        return -errno;
    return 0;
}

/* In the child. Comes back only where the exec did not happen; then errno says why. */
static void become(const char *const *command, int input, pid_t parent)
{
    /* Whatever ends the worker ends the program; what the program starts is the guard's to find. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return;
    if (getppid() != parent) {
        errno = ESRCH;
        return;
    }
    if (input >= 0 && dup2(input, STDIN_FILENO) < 0)
        return;
    /* execvp does not write to its arguments: POSIX keeps the type for old callers. */
    execvp(command[0], (char *const *)(uintptr_t)command);
}

/* Its pid, or -errno: that of the exec too, which a close-on-exec pipe brings back. */
static pid_t start(const char *const *command, int input)
{
    pid_t parent = getpid(), child;
    int report[2], error = 0;
    ssize_t n;

    if (pipe2(report, O_CLOEXEC) < 0)
        return -errno;
    child = fork();
    if (child == 0) {
        become(command, input, parent);
        error = errno;
        n = write(report[1], &error, sizeof(error));
        _exit(n == (ssize_t)sizeof(error) ? 126 : 127);
    }
    error = child < 0 ? errno : 0;
    close(report[1]);
    if (child > 0) {
        do
            n = read(report[0], &error, sizeof(error));
        while (n < 0 && errno == EINTR);
        if (n > 0)
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                continue;
    }
    close(report[0]);
    return error ? -error : child;
}

/* To follow the signal's name: what a program did that a limit of its job ended. */
static const char *limit_of(int signo)
{
    switch (signo) {
    case SIGXCPU:
        return ": it used up its limits.cpu_time";
    case SIGXFSZ:
        return ": it wrote more than its limits.file_size";
    default:
        return "";
    }
}

/* The same of what cannot be started. */
static const char *limit_behind(int error)
{
    switch (error) {
    case EAGAIN:
        return "; see limits.processes";
    case ENOMEM:
        return "; see limits.memory";
    default:
        return "";
    }
}

static int result_of(const struct rota_run *r, const char *program, int status)
{
    const char *name;
    int result;

    /* Many programs exit with 0 when they are asked to end, their work half done. So a success
     * counts only where it came before the stop. */
    if (exits_by_stop(r))
        return rota_fail(r, ROTA_DECLINED, "%s was stopped", program);
    if (WIFSIGNALED(status)) {
        name = sigabbrev_np(WTERMSIG(status));
        return rota_fail(r, ROTA_FAILED, "%s was killed by signal %d (SIG%s)%s", program,
                         WTERMSIG(status), name ? name : "?", limit_of(WTERMSIG(status)));
    }
    if (WEXITSTATUS(status) == 0)
        return ROTA_SUCCEEDED;
    result = exits_listed(r, WEXITSTATUS(status));
    if (result == ROTA_NOTHING)
        return result;
    /* In parentheses: the last line that the program wrote goes before it. */
    return rota_fail(r, result < 0 ? ROTA_FAILED : result, "(exit status %d)", WEXITSTATUS(status));
}

static int run(const struct rota_run *r)
{
    const char *const *command = rota_strings(r, "command");
    const char *file = rota_string(r, "stdin_file");
    int input = -1, status, e;
    pid_t child;

    e = set_environment(r);
    if (e < 0)
        return rota_fail(r, ROTA_FAILED, "its environment cannot be set: %s", strerror(-e));
    if (file) {
        input = open(file, O_RDONLY | O_CLOEXEC);
        if (input < 0)
            return rota_fail(r, ROTA_FAILED, "stdin_file: %s: %s", file, strerror(errno));
    }
    child = start(command, input);
    if (input >= 0)
        close(input);
    if (child < 0)
        return rota_fail(r, ROTA_FAILED, "%s cannot be started: %s%s", command[0], strerror(-child),
                         limit_behind(-child));
    /* A SIGTERM to all that came before the exec was not the program's to see. */
    if (exits_by_stop(r))
        kill(child, SIGTERM);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return rota_fail(r, ROTA_FAILED, "its end was not seen: %s", strerror(errno));
    return result_of(r, command[0], status);
}

ROTA_PLUGIN(.name = "exec", .version = ROTA_VERSION, .summary = "Runs a program.", .params = params,
            .run = run, .check = check);
