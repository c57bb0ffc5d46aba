/* SPDX-License-Identifier: MIT
 * The guard and its children leave by _exit(), past the handler that writes gcov's counters, or are
 * killed while they wait. In a build for coverage they call this, which writes before both.
 */
#include <poll.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

_Noreturn void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (timeout != 0) {
        __gcov_dump();
        __gcov_reset();
    }
    return __real_poll(fds, count, timeout);
}
