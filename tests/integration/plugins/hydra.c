/* SPDX-License-Identifier: MIT
 * A plugin whose tree is hard to kill, in the way that its parameter `as` names. Each process of it
 * has the FIFO `mark` open for writing, so that who reads there sees when the last one is gone; and
 * ignores what it can. "ready" is logged once the tree stands. */
#include <rota/plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Should nobody end it, it ends by itself after this time. */
#define LIFE_S 30
/* A bomb wants to be bounded. */
#define BOMB_MAX 500

static const struct rota_param params[] = {
    { .name = "as", .type = ROTA_STRING, .flags = ROTA_REQUIRED, .help = "The way." },
    { .name = "mark", .type = ROTA_STRING, .help = "A FIFO." },
    { .name = "stranger", .type = ROTA_STRING, .help = "A socket, for descriptors." },
    { .name = "number", .type = ROTA_INTEGER, .def = "8", .help = "How many." },
    { .name = NULL },
};

/* A byte comes here from each process that stands. */
static int standing[2];
static time_t end_s;

static time_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

static void nap_us(long us)
{
    struct timespec gap = { .tv_nsec = us * 1000 };

    nanosleep(&gap, NULL);
    if (now_s() >= end_s)
        _exit(0);
}

static void hang(void)
{
    for (;;)
        nap_us(100 * 1000);
}

static void ignore_all(void)
{
    sigset_t all;

    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

static void stand(void)
{
    if (write(standing[1], "", 1) != 1)
        _exit(1);
}

static void stand_and_hang(void)
{
    ignore_all();
    stand();
    hang();
}

static void await_standing(int64_t count)
{
    char byte;

    while (count > 0)
        count -= read(standing[0], &byte, 1) == 1;
}

/* What follows returns how many processes will stand. */

static int daemon_twice(const struct rota_run *r)
{
    (void)r;
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            setsid();
            if (fork() != 0)
                _exit(0);
            setsid();
            prctl(PR_SET_NAME, ") S 1 1 (");
            stand_and_hang();
        }
    return 2;
}

static int stopped(const struct rota_run *r)
{
    (void)r;
    if (fork() == 0) {
        setpgid(0, 0);
        ignore_all();
        fork();
        stand();
        for (;;) {
            raise(SIGSTOP);
            nap_us(1000);
        }
    }
    return 2;
}

/* One that stops for its tracer, which is stopped itself. */
static int traced_child(const struct rota_run *r)
{
    int status;
    pid_t child;

    (void)r;
    if (fork() == 0) {
        child = fork();
        if (child == 0) {
            ptrace(PTRACE_TRACEME, 0, NULL, NULL);
            raise(SIGUSR1);
            hang();
        }
        waitpid(child, &status, 0);
        ptrace(PTRACE_SETOPTIONS, child, NULL, (long)PTRACE_O_TRACEEXIT);
        stand();
        raise(SIGSTOP);
        hang();
    }
    return 1;
}

/* The worker itself, and a brother, each stopped by a tracer that ignores all. */
static int traced_worker(const struct rota_run *r)
{
    pid_t worker = getpid(), brother = fork();

    (void)r;
    if (brother == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        stand_and_hang();
    }
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (fork() == 0) {
        ignore_all();
        stand();
        nap_us(20 * 1000); /* both are to say that they stand */
        if (ptrace(PTRACE_SEIZE, brother, NULL, NULL) == 0)
            ptrace(PTRACE_INTERRUPT, brother, NULL, NULL);
        if (ptrace(PTRACE_SEIZE, worker, NULL, NULL) == 0)
            ptrace(PTRACE_INTERRUPT, worker, NULL, NULL);
        hang();
    }
    return 2;
}

/* Two that trace each other. */
static int mutual(const struct rota_run *r)
{
    pid_t first = fork(), second;

    (void)r;
    if (first == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        second = fork();
        if (second == 0) {
            prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
            ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
            stand_and_hang();
        }
        ptrace(PTRACE_SEIZE, second, NULL, NULL);
        stand_and_hang();
    }
    return 2;
}

/* The guard becomes the tracer, unasked, and of a daemon too. */
static int traced_by_guard(const struct rota_run *r)
{
    pid_t worker = getpid();

    (void)r;
    if (fork() == 0) {
        if (fork() != 0)
            _exit(0);
        while (getppid() == worker)
            nap_us(100);
        signal(SIGUSR2, SIG_IGN);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGUSR2);
        stand_and_hang();
    }
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    return 1;
}

static int vfork_parent(const struct rota_run *r)
{
    (void)r;
    if (fork() == 0) {
        ignore_all();
        if (vfork() == 0) {
            stand();
            for (;;)
                pause();
        }
        hang();
    }
    return 1;
}

/* As many as it may have, of which each forks again where one is gone. */
static int bomb(const struct rota_run *r)
{
    int64_t number = rota_integer(r, "number");
    struct rlimit most;

    if (getrlimit(RLIMIT_NPROC, &most) < 0 || most.rlim_cur > BOMB_MAX || geteuid() == 0)
        return -1;
    if (fork() == 0) {
        ignore_all();
        signal(SIGCHLD, SIG_IGN);
        stand();
        for (int64_t i = 0; i < number; i++)
            if (fork() == 0) {
                if (i % 2)
                    setsid();
                for (;;) {
                    if (fork() > 0 && i % 3)
                        _exit(0);
                    nap_us(2000);
                }
            }
        hang();
    }
    return 1;
}

/* Each lives for a fifth of a millisecond; then its child goes on. */
static int hares(const struct rota_run *r)
{
    (void)r;
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            setsid();
            ignore_all();
            signal(SIGCHLD, SIG_IGN);
            stand();
            while (fork() <= 0)
                nap_us(200);
            _exit(0);
        }
    return 2;
}

static int plain(const struct rota_run *r)
{
    (void)r;
    for (int i = 0; i < 3; i++)
        if (fork() == 0)
            stand_and_hang();
    return 3;
}

/* stdout, the guard's socket and the stop pipe go to somebody who is none of the tree. */
static int hands_out(const struct rota_run *r)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    union {
        char room[CMSG_SPACE(sizeof(int) * 4)];
        struct cmsghdr aligned;
    } control = { 0 };
    struct iovec byte = { .iov_base = "", .iov_len = 1 };
    struct msghdr message = { .msg_iov = &byte,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };
    const int handed[] = { 1, 2, 3, r->stop_fd };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strncpy(address.sun_path, rota_string(r, "stranger"), sizeof(address.sun_path) - 1);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(handed));
    memcpy(CMSG_DATA(head), handed, sizeof(handed));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        sendmsg(fd, &message, 0) != 1)
        return -1;
    close(fd);
    return plain(r);
}

/* The first process of a namespace of its own, and what is in it. */
static int own_namespace(const struct rota_run *r)
{
    (void)r;
    if (fork() == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0 && unshare(CLONE_NEWPID) < 0) {
            stand();
            stand_and_hang();
        }
        if (fork() == 0) {
            if (fork() == 0) {
                setsid();
                if (fork() == 0)
                    stand_and_hang();
                hang();
            }
            stand_and_hang();
        }
        hang();
    }
    return 2;
}

/* Out of one session and group into the next. */
static int hopper(const struct rota_run *r)
{
    pid_t last = 0, next;

    (void)r;
    if (fork() == 0) {
        ignore_all();
        signal(SIGCHLD, SIG_IGN);
        stand();
        for (;;) {
            next = fork();
            if (next > 0)
                _exit(0);
            setpgid(0, last);
            nap_us(500);
            setsid();
            last = getpid();
            nap_us(500);
        }
    }
    return 1;
}

static void *fork_and_hang(void *unused)
{
    (void)unused;
    if (fork() == 0)
        stand_and_hang();
    stand();
    hang();
    return NULL;
}

/* Two daemons whose first threads have ended, one by a system call. */
static int headless(const struct rota_run *r)
{
    pthread_t thread;

    (void)r;
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            setsid();
            ignore_all();
            pthread_create(&thread, NULL, fork_and_hang, NULL);
            if (i == 0)
                pthread_exit(NULL);
            syscall(SYS_exit, 0);
        }
    return 4;
}

/* In a FIFO's open for ever, and in a lock that its own parent holds. */
static int blocked(const struct rota_run *r)
{
    struct flock lock = { .l_type = F_WRLCK };
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s.blocked", rota_string(r, "mark"));
    if (fork() == 0) {
        ignore_all();
        stand();
        open(path, O_RDONLY);
        _exit(0);
    }
    fd = fileno(tmpfile());
    fcntl(fd, F_SETLKW, &lock);
    if (fork() == 0) {
        ignore_all();
        stand();
        fcntl(fd, F_SETLKW, &lock);
        _exit(0);
    }
    return 2;
}

static int clone_me(unsigned long flags)
{
    return (int)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

/* Brothers of the worker, with and without a signal at their death, and two that share their
 * descriptors. */
static int brothers(const struct rota_run *r)
{
    (void)r;
    if (clone_me(CLONE_PARENT | SIGCHLD) == 0)
        stand_and_hang();
    if (clone_me(CLONE_PARENT) == 0)
        stand_and_hang();
    if (clone_me(0) == 0) {
        ignore_all();
        if (clone_me(CLONE_FILES | CLONE_FS | CLONE_IO) == 0)
            stand_and_hang();
        stand();
        hang();
    }
    return 4;
}

/* What would come to the guard stays with a reaper that reaps nothing. */
static int reaper(const struct rota_run *r)
{
    (void)r;
    if (fork() == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        for (int i = 0; i < 8; i++)
            if (fork() == 0) {
                if (fork() == 0 && i % 2)
                    stand_and_hang();
                _exit(0);
            }
        stand_and_hang();
    }
    return 5;
}

/* More deaths and stops for the guard than it could look at one after the other. */
static int stream(const struct rota_run *r)
{
    (void)r;
    for (int i = 0; i < 2; i++)
        if (clone_me(CLONE_PARENT | SIGCHLD) == 0) {
            setsid();
            ignore_all();
            stand();
            while (now_s() < end_s)
                if (clone_me(CLONE_PARENT | SIGCHLD) == 0)
                    _exit(0);
            _exit(0);
        }
    if (clone_me(CLONE_PARENT | SIGCHLD) == 0) {
        stand();
        while (now_s() < end_s) {
            ptrace(PTRACE_TRACEME, 0, NULL, NULL);
            raise(SIGURG);
        }
        _exit(0);
    }
    return 3;
}

static const struct {
    const char *name;
    int (*make)(const struct rota_run *);
} ways[] = {
    { "daemon", daemon_twice },
    { "stopped", stopped },
    { "traced_child", traced_child },
    { "traced_worker", traced_worker },
    { "mutual", mutual },
    { "traced_by_guard", traced_by_guard },
    { "vfork", vfork_parent },
    { "bomb", bomb },
    { "hares", hares },
    { "ignoring", plain },
    { "hands_out", hands_out },
    { "namespace", own_namespace },
    { "hopper", hopper },
    { "headless", headless },
    { "blocked", blocked },
    { "brothers", brothers },
    { "reaper", reaper },
    { "stream", stream },
};

static volatile sig_atomic_t heard;

static void hear(int signo)
{
    (void)signo;
    heard++;
}

/* The guard is made its tracer, for which it stops at signals; and nothing else is wrong: it gets
 * them all the same. */
static int tame(const struct rota_run *r)
{
    (void)r;
    signal(SIGUSR1, hear);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR1);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    }
    return heard == 3 ? ROTA_SUCCEEDED : ROTA_FAILED;
}

/* No signal comes to it: only by asking can it know of its stop. */
static int deaf(const struct rota_run *r)
{
    ignore_all();
    rota_log(r, ROTA_INFO, "ready");
    while (!rota_should_stop(r))
        nap_us(1000);
    return ROTA_DECLINED;
}

static int run(const struct rota_run *r)
{
    int count = -1;

    end_s = now_s() + LIFE_S;
    if (strcmp(rota_string(r, "as"), "tame") == 0)
        return tame(r);
    if (strcmp(rota_string(r, "as"), "deaf") == 0)
        return deaf(r);
    if (!rota_is_set(r, "mark") || open(rota_string(r, "mark"), O_WRONLY) < 0 || pipe(standing) < 0)
        return rota_fail(r, ROTA_REFUSED, "no mark");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, rota_string(r, "as")) == 0)
            count = ways[i].make(r);
    if (count < 0)
        return rota_fail(r, ROTA_REFUSED, "it cannot be %s", rota_string(r, "as"));
    await_standing(count);
    rota_log(r, ROTA_INFO, "ready");
    ignore_all();
    hang();
    return ROTA_SUCCEEDED;
}

ROTA_PLUGIN(.name = "hydra", .version = "1", .summary = "Is hard to kill.", .params = params,
            .run = run);
