/* SPDX-License-Identifier: MIT
 * The guard and its children leave by _exit(), past the handler that writes gcov's counters, or are
 * killed while they wait, or as soon as they have answered. In a build for coverage they call this,
 * which writes before all three.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
ssize_t __real_send(int fd, const void *bytes, size_t length, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags);

static void write_counters(void)
{
    int before = errno;

    __gcov_dump();
    __gcov_reset();
    errno = before;
}

_Noreturn void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (timeout != 0)
        write_counters();
    return __real_poll(fds, count, timeout);
}

ssize_t __wrap_send(int fd, const void *bytes, size_t length, int flags)
{
    /* Others have many more counters, send more often, and are asked to end. */
    if (strcmp(program_invocation_short_name, "rota-guard") == 0)
        write_counters();
    return __real_send(fd, bytes, length, flags);
}
