/* SPDX-License-Identifier: MIT */
#include "guard/launch.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "base/tree.h"
#include "guard/cgroup.h"
#include "guard/clock.h"
#include "guard/rights.h"
#include "guard/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <rota/plugin.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct pipes {
    int out[2], err[2], stop[2], socket[2];
};

/* By launch_open(). */
static struct {
    struct pipes pipes;
    int error;       /* 0 or -errno: not all of them are there */
    int blind;       /* what tree_check() says; why is below */
    const char *why; /* NULL: it can see */
} opened;

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

void launch_open(void)
{
    struct trust_place top;
    char why[TRUST_WHY_SIZE];

    opened.error = open_pipes(&opened.pipes);
    opened.blind = tree_check(false, &opened.why);
    /* What the way to the plugin touches is there then. */
    if (trust_walk("", "/", &top, why) == 0)
        trust_done(&top);
}

static void close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void close_workers_ends(const struct pipes *p)
{
    close_one(p->out[1]);
    close_one(p->err[1]);
    close_one(p->stop[0]);
    close_one(p->socket[1]);
}

static void close_pipes(const struct pipes *p)
{
    close_workers_ends(p);
    close_one(p->out[0]);
    close_one(p->err[0]);
    close_one(p->stop[1]);
    close_one(p->socket[0]);
}

/* A group of its own where rotad has a folder for them; without one the limits are each process's.
 * The descriptor of the group; -1: there is none. */
static int plan(const struct message_start *start, struct limits_plan *ret_plan)
{
    const struct message_setup *setup = &start->setup;
    struct limits_ground ground = {
        .is_root = (setup->switch_user ? setup->uid : geteuid()) == 0,
        .wants_group = setup->cgroup != NULL,
    };
    struct cgroup group = { .folder = -1 };
    char why[128];
    int r;

    limits_look(&ground);
    if (setup->cgroup) {
        r = cgroup_make(setup->cgroup, start->job, &setup->limits, &group);
        text_format(why, sizeof(why), "it has no control group of its own: %s", strerror(-r));
        ground.no_group = r < 0 ? why : NULL;
    }
    ground.group_has_memory = group.has_memory;
    ground.group_has_processes = group.has_processes;
    limits_plan(&setup->limits, &ground, ret_plan);
    return group.folder;
}

/* The pid or -errno; never comes back in the child. Fills what is known before the fork. */
static pid_t fork_worker(const struct message_start *start, const struct trust_place *plugin,
                         const struct pipes *p, struct launched *launched)
{
    struct limits_plan limits;
    struct worker_setup setup = {
        .start = start,
        .plugin = plugin,
        .sandbox = {
            .parent = getpid(),
            .fds = { -1, p->out[1], p->err[1], p->socket[1], p->stop[0], plugin->folder },
            .setup = &start->setup,
            .limits = &limits,
            .may_be_dumped = start->setup.limits.core_bytes > 0 || start->purpose == ROTA_FOR_TRY,
        },
    };
    pid_t pid;

    launched->group = plan(start, &limits);
    setup.sandbox.group = launched->group >= 0 ? start->job : NULL;
    text_copy(launched->unapplied, sizeof(launched->unapplied), limits.unapplied);
    setup.started = launched->started = clock_now();
    pid = fork();
    if (pid == 0)
        worker_main(&setup);
    if (pid > 0)
        return pid;
    pid = -errno;
    cgroup_remove(start->setup.cgroup, start->job, launched->group);
    return pid;
}

/* What could not be found again, or killed, is not started. */
static int check_end(const struct message_start *start, const char **ret_why)
{
    int r = rights_check_kill(&start->setup, ret_why);

    if (r < 0 || start->purpose == ROTA_FOR_TRY)
        return r < 0 ? r : tree_check(true, ret_why);
    *ret_why = opened.why;
    return opened.blind;
}

int launch_worker(const struct message_start *start, const struct trust_place *plugin,
                  struct launched *ret_launched, const char **ret_why)
{
    const char *why = NULL;
    const struct pipes *p = &opened.pipes;
    struct launched launched;
    int r = opened.error;

    if (r == 0)
        r = check_end(start, &why);
    FAULT_POINT(guard_before_the_fork);
    if (r == 0)
        r = fork_worker(start, plugin, p, &launched);
    if (r < 0) {
        close_pipes(p);
        *ret_why = why ? why : strerror(-r);
        return r;
    }
    close_workers_ends(p);
    launched.worker = r;
    launched.out = p->out[0];
    launched.err = p->err[0];
    launched.stop = p->stop[1];
    launched.socket = p->socket[0];
    *ret_launched = launched;
    return 0;
}
