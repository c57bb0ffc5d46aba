/* SPDX-License-Identifier: MIT
 * run_cost ROUNDS GUARD BARE PLUGIN: what a run of a plugin costs by the guard, and by a bare
 * program that loads the same file. In turns, from before the spawn until the child is reaped; one
 * line a round: microseconds of the bare program and of the guard, then of processor time; then of
 * a guard that was made ready, from START until ENDED. */
#include "ipc/messages.h"
#include "supervisor/process.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <rota/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORST_CASE_MS 20000
#define STOP_GRACE_MS 500
#define MARGIN_MS 250
/* More than a guard's start takes. */
#define READY_AHEAD_US 5000

struct cost {
    int64_t wall_us, cpu_us;
};

static int64_t now_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t us_of(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static struct boot deadline(void)
{
    return (struct boot){ now_us(CLOCK_BOOTTIME) / 1000 + 1000 + WORST_CASE_MS + STOP_GRACE_MS };
}

static int send_start(int fd, const char *plugin, struct frame *f)
{
    message_pack_start(f, &(struct message_start){
                              .plugin_path = plugin,
                              .job = "job",
                              .device = "device",
                              .turn_ms = INT64_C(1795967400000),
                              .fence = 1,
                              .attempt = 1,
                              .attempts = 3,
                              .worst_case_ms = WORST_CASE_MS,
                              .stop_grace_ms = STOP_GRACE_MS,
                              .margin_ms = MARGIN_MS,
                              .deadline = deadline(),
                              .purpose = ROTA_FOR_RUN,
                              .output_lines = 20,
                              .setup = { .limits = LIMITS_NONE },
                          });
    return frame_send(fd, f);
}

/* The plugin has run, and succeeded. */
static int await_end(int fd, struct frame *f)
{
    struct pollfd readable = { .fd = fd, .events = POLLIN };
    struct message_ended m;
    int type;

    do {
        if (poll(&readable, 1, -1) < 0)
            return -errno;
        type = frame_receive(fd, f);
    } while (type == -EAGAIN || type == MESSAGE_STARTED);
    if (type != MESSAGE_ENDED)
        return type < 0 ? type : -EPROTO;
    if (message_unpack_ended(f, &m) < 0 || m.how != ENDED_RETURNED || m.result != ROTA_SUCCEEDED)
        return -EPROTO;
    return 0;
}

static int measure_ready(const char *guard, const char *plugin, int64_t *ret_us)
{
    static struct frame frame;
    int64_t begin;
    int fd, status, r;
    pid_t pid;

    r = process_spawn_guard(guard, "--run", "job", &fd, &pid);
    if (r < 0)
        return r;
    usleep(READY_AHEAD_US);
    begin = now_us(CLOCK_MONOTONIC);
    r = send_start(fd, plugin, &frame);
    if (r == 0)
        r = await_end(fd, &frame);
    *ret_us = now_us(CLOCK_MONOTONIC) - begin;
    close(fd);
    if (waitpid(pid, &status, 0) < 0)
        return -errno;
    return r < 0 ? r : status == 0 ? 0 : -EPROTO;
}

/* argv[1] and argv[2] of the program are the two arguments. With a START to the guard alone. */
static int measure(const char *program, const char *first, const char *second, const char *start,
                   struct cost *ret_cost)
{
    static struct frame frame;
    int64_t begin = now_us(CLOCK_MONOTONIC);
    struct rusage used;
    int fd, status, r;
    pid_t pid;

    r = process_spawn_guard(program, first, second, &fd, &pid);
    if (r < 0)
        return r;
    if (start)
        r = send_start(fd, start, &frame);
    if (start && r == 0)
        r = await_end(fd, &frame);
    if (wait4(pid, &status, 0, &used) < 0)
        return -errno;
    ret_cost->wall_us = now_us(CLOCK_MONOTONIC) - begin;
    ret_cost->cpu_us = us_of(used.ru_utime) + us_of(used.ru_stime);
    close(fd);
    return r < 0 ? r : status == 0 ? 0 : -EPROTO;
}

int main(int argc, char *argv[])
{
    struct cost bare, guard;
    int64_t ready_us = 0;

    if (argc != 5) {
        fprintf(stderr, "run_cost ROUNDS GUARD BARE PLUGIN\n");
        return EXIT_FAILURE;
    }
    for (long left = strtol(argv[1], NULL, 10); left > 0; left--) {
        int r = measure(argv[3], argv[4], NULL, NULL, &bare);

        if (r == 0)
            r = measure(argv[2], "--run", "job", argv[4], &guard);
        if (r == 0)
            r = measure_ready(argv[2], argv[4], &ready_us);
        if (r < 0) {
            fprintf(stderr, "a program did not do its work: %s\n", strerror(-r));
            return EXIT_FAILURE;
        }
        printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", bare.wall_us,
               guard.wall_us, bare.cpu_us, guard.cpu_us, ready_us);
    }
    return EXIT_SUCCESS;
}
