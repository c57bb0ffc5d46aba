/* SPDX-License-Identifier: MIT
 * The work of the soak's jobs: exec runs it, and it writes into its device's ledger what happens,
 * an account that rotad has no part in.
 *
 *     work LEDGER MODE MILLISECONDS [STORAGE] */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define BEAT_MS 250
/* So much longer than its own work a child or a grandchild would go on, if nobody ended it. */
#define OUTLIVES_MS 60000

static int ledger = -1;
static const char *role = "main";

static int64_t now_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static const char *given(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : "-";
}

/* One write a line: lines of several processes do not mix. */
static void note(const char *what)
{
    char line[512];
    int length = snprintf(line, sizeof(line), "%" PRId64 " %" PRId64 " %s %s %s %s %s %d %s %s\n",
                          now_us(CLOCK_BOOTTIME), now_us(CLOCK_REALTIME), what, given("ROTA_JOB"),
                          given("ROTA_TURN"), given("ROTA_FENCE"), given("ROTA_ATTEMPT"),
                          (int)getpid(), role, given("ROTA_DEADLINE"));

    if (length >= (int)sizeof(line) || write(ledger, line, (size_t)length) != length)
        _exit(99);
}

static void work(int64_t length_ms)
{
    const int64_t until = now_us(CLOCK_BOOTTIME) + length_ms * 1000;
    int64_t left;

    while ((left = until - now_us(CLOCK_BOOTTIME)) > 0) {
        int64_t pause_us = left < BEAT_MS * 1000 ? left : BEAT_MS * 1000;
        struct timespec pause = { .tv_nsec = pause_us * 1000 };

        nanosleep(&pause, NULL);
        note("beat");
    }
}

static void start_child(const char *as, int64_t length_ms)
{
    pid_t child = fork();

    if (child < 0)
        _exit(98);
    if (child > 0)
        return;
    role = as;
    work(length_ms);
    _exit(0);
}

/* A grandchild in a session of its own, which ignores what asks it to end. */
static void start_daemon(int64_t length_ms)
{
    pid_t child = fork();

    if (child < 0)
        _exit(98);
    if (child > 0)
        return;
    if (setsid() < 0)
        _exit(98);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    start_child("daemon", length_ms);
    _exit(0);
}

/* A storage that refuses a fence older than the newest it has seen. */
static int apply(const char *storage, int64_t length_ms)
{
    const char *fence_text = getenv("ROTA_FENCE");
    const uint64_t fence = fence_text ? strtoull(fence_text, NULL, 10) : 0;
    char text[32] = "";
    int length, file = open(storage, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    work(length_ms);
    if (file < 0 || flock(file, LOCK_EX) != 0 || pread(file, text, sizeof(text) - 1, 0) < 0)
        return 97;
    if (fence == 0 || fence < strtoull(text, NULL, 10)) {
        note("refused");
        return 1;
    }
    length = snprintf(text, sizeof(text), "%-20" PRIu64 "\n", fence);
    if (pwrite(file, text, (size_t)length, 0) != length)
        return 97;
    note("applied");
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 3 ? argv[2] : "";
    const int64_t length_ms = argc > 3 ? atoll(argv[3]) : 0;
    const int64_t turn = atoll(given("ROTA_TURN"));
    const int attempt = atoi(given("ROTA_ATTEMPT"));
    int status = 0;

    if (argc < 4 || (ledger = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0) {
        fputs("work LEDGER MODE MILLISECONDS [STORAGE]\n", stderr);
        return 96;
    }
    note("begin");
    if (strcmp(mode, "tree") == 0) {
        start_child("child", length_ms + OUTLIVES_MS);
        start_daemon(length_ms + OUTLIVES_MS);
    }
    if (strcmp(mode, "fenced") == 0 && argc > 4)
        status = apply(argv[4], length_ms);
    else
        work(length_ms);
    if (strcmp(mode, "poison") == 0) {
        note("crash");
        kill(getppid(), SIGSEGV);
        pause();
    }
    if (strcmp(mode, "fails") == 0 ||
        (strcmp(mode, "flaky") == 0 && turn / 1000 % 3 == 0 && attempt == 1))
        status = 1;
    note(status ? "fail" : "end");
    return status;
}
