/* SPDX-License-Identifier: MIT */
#include "guard/launch.h"
#include "base/fault_point.h"
#include "base/tree.h"
#include "guard/clock.h"
#include "guard/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct pipes {
    int out[2], err[2], stop[2], socket[2];
};

static int open_pipes(struct pipes *p)
{
    memset(p, -1, sizeof(*p));
    /* Non-blocking for the guard alone: a worker's stdout that says EAGAIN would surprise it. */
    if (pipe2(p->out, O_CLOEXEC) < 0 || pipe2(p->err, O_CLOEXEC) < 0 ||
        pipe2(p->stop, O_CLOEXEC) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->socket) < 0 ||
        fcntl(p->out[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(p->err[0], F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(p->stop[1], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

static void close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void close_workers_ends(struct pipes *p)
{
    close_one(p->out[1]);
    close_one(p->err[1]);
    close_one(p->stop[0]);
    close_one(p->socket[1]);
}

static void close_pipes(struct pipes *p)
{
    close_workers_ends(p);
    close_one(p->out[0]);
    close_one(p->err[0]);
    close_one(p->stop[1]);
    close_one(p->socket[0]);
}

/* The pid or -errno; never comes back in the child. */
static pid_t fork_worker(const struct message_start *start, const char *path, const struct pipes *p,
                         struct boot started)
{
    struct worker_setup setup = {
        .start = start,
        .resolved_path = path,
        .started = started,
        .sandbox = {
            .parent = getpid(),
            .fds = { -1, p->out[1], p->err[1], p->socket[1], p->stop[0] },
            .fd_count = 5,
            .switch_user = start->switch_user,
            .uid = start->uid,
            .gid = start->gid,
            .user = start->user,
            .home = start->home,
        },
    };
    pid_t pid = fork();

    if (pid == 0)
        worker_main(&setup);
    return pid < 0 ? -errno : pid;
}

int launch_worker(const struct message_start *start, const char *path,
                  struct launched *ret_launched)
{
    struct boot started;
    struct pipes p;
    int r = open_pipes(&p);

    /* What could not be found again, to be killed, is not started. */
    if (r == 0)
        r = tree_check();
    FAULT_POINT(guard_before_the_fork);
    started = clock_now();
    if (r == 0)
        r = fork_worker(start, path, &p, started);
    if (r < 0) {
        close_pipes(&p);
        return r;
    }
    close_workers_ends(&p);
    *ret_launched = (struct launched){
        .worker = r,
        .started = started,
        .out = p.out[0],
        .err = p.err[0],
        .stop = p.stop[1],
        .socket = p.socket[0],
    };
    return 0;
}
