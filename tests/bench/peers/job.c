/* SPDX-License-Identifier: MIT */
/* The job of the peers' runs: FILE HOST DUE-US HOLD. It says when it began and ended, as stamp.c
 * does for rota. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
    int64_t begin = now_us();
    char line[256];
    int length, fd;

    if (argc != 5 || (fd = open(argv[1], O_WRONLY | O_APPEND)) < 0)
        return 1;
    length = snprintf(line, sizeof line, "%s %s %d %" PRId64 " %" PRId64 "\n", argv[2], argv[3],
                      getpid(), begin, now_us());
    if (write(fd, line, (size_t)length) != length)
        return 1;
    if (argv[4][0] == '1')
        pause();
    return 0;
}
