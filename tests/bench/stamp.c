/* SPDX-License-Identifier: MIT
 * Writes a line with the instants of run()'s first instruction and of its end, in Unix us:
 * job device turn(ms) attempt pid begin end. `hold`: the first attempt then waits to be stopped. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <rota/plugin.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct rota_param params[] = {
    { .name = "file", .type = ROTA_STRING, .flags = ROTA_REQUIRED, .help = "The lines go there." },
    { .name = "hold", .type = ROTA_BOOLEAN, .def = "false", .help = "Whether attempt 1 waits." },
    { .name = NULL },
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int run(const struct rota_run *r)
{
    int64_t begin = now_us();
    struct pollfd stop = { .fd = r->stop_fd, .events = POLLIN };
    int fd = open(rota_string(r, "file"), O_WRONLY | O_APPEND | O_CLOEXEC);
    char line[512];
    int length;

    if (fd < 0)
        return rota_fail(r, ROTA_FAILED, "the file cannot be written: %s", strerror(errno));
    length = snprintf(line, sizeof line, "%s %s %" PRId64 " %u %d %" PRId64, r->job, r->device,
                      r->turn_ms, r->attempt, getpid(), begin);
    /* The end is known last, and what is written after it is the least that can be. */
    length += snprintf(line + length, sizeof line - (size_t)length, " %" PRId64 "\n", now_us());
    if (write(fd, line, (size_t)length) != length)
        return rota_fail(r, ROTA_FAILED, "the file cannot be written");
    if (rota_boolean(r, "hold") && r->attempt == 1)
        while (poll(&stop, 1, -1) < 0 && errno == EINTR)
            continue;
    close(fd);
    return ROTA_SUCCEEDED;
}

ROTA_PLUGIN(.name = "stamp", .version = "1", .summary = "Says when it began and ended.",
            .params = params, .run = run);
