/* SPDX-License-Identifier: MIT
 * A plugin that behaves in the way that its parameter `as` names: for the guard's tests. */
#include <rota/plugin.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const struct rota_param params[] = {
    { .name = "as", .type = ROTA_STRING, .flags = ROTA_REQUIRED, .help = "The way." },
    { .name = "number", .type = ROTA_INTEGER, .def = "0", .help = "What some ways need." },
    { .name = "file", .type = ROTA_STRING, .flags = ROTA_PATH, .help = "What some ways write." },
    { .name = NULL },
};

static void nap_ms(long ms)
{
    struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static void hang(void)
{
    for (;;)
        nap_ms(1000);
}

static void note_pid(const struct rota_run *r)
{
    FILE *f = fopen(rota_string(r, "file"), "a");

    if (f) {
        fprintf(f, "%d\n", (int)getpid());
        fclose(f);
    }
}

/* A daemon by the book, which holds stdout open: two forks and a session of its own. */
static void daemonise(const struct rota_run *r)
{
    pid_t first = fork();

    if (first != 0) {
        waitpid(first, NULL, 0);
        return;
    }
    setsid();
    if (fork() != 0)
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    note_pid(r);
    hang();
}

static void wait_for_lines(const struct rota_run *r, int wanted)
{
    for (;;) {
        FILE *f = fopen(rota_string(r, "file"), "r");
        int lines = 0, c;

        while (f && (c = fgetc(f)) != EOF)
            lines += c == '\n';
        if (f)
            fclose(f);
        if (lines >= wanted)
            return;
        nap_ms(5);
    }
}

static int as_tree(const struct rota_run *r)
{
    note_pid(r);
    daemonise(r);
    if (fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        note_pid(r);
        if (fork() == 0)
            note_pid(r);
        hang();
    }
    wait_for_lines(r, 4);
    rota_log(r, ROTA_INFO, "ready");
    hang();
    return ROTA_SUCCEEDED;
}

static void *second_thread(void *run)
{
    signal(SIGTERM, SIG_IGN);
    if (fork() != 0)
        note_pid(run);
    hang();
    return NULL;
}

/* A daemon whose first thread has ended: it looks like a zombie, and its second one, which has a
 * child, goes on. */
static int as_headless(const struct rota_run *r)
{
    pthread_t thread;

    if (fork() == 0) {
        setsid();
        pthread_create(&thread, NULL, second_thread, (void *)(uintptr_t)r);
        pthread_exit(NULL);
    }
    wait_for_lines(r, 1);
    rota_log(r, ROTA_INFO, "ready");
    hang();
    return ROTA_SUCCEEDED;
}

/* It takes the stop pipe away from the host, and sees a renewal after that. */
static int as_deaf(const struct rota_run *r)
{
    int64_t before = r->lease_left_ms(r);

    close(4);
    rota_log(r, ROTA_INFO, "ready");
    while (r->lease_left_ms(r) <= before)
        nap_ms(5);
    nap_ms(100);
    return rota_should_stop(r) ? ROTA_DECLINED : ROTA_SUCCEEDED;
}

static int as_leaver(const struct rota_run *r)
{
    daemonise(r);
    wait_for_lines(r, 1);
    return ROTA_SUCCEEDED;
}

/* It leaves a process that reaps nothing, its dead child, and a number of others in that one's
 * group. */
static int as_litter(const struct rota_run *r)
{
    int64_t i, number = rota_integer(r, "number");
    pid_t leader;

    if (fork() == 0) {
        if (fork() != 0)
            hang();
        setsid();
        leader = getpid();
        for (i = 0; i < number; i++)
            if (fork() == 0) {
                while (getppid() == leader)
                    nap_ms(1);
                note_pid(r);
                hang();
            }
        _exit(0);
    }
    wait_for_lines(r, (int)number);
    return ROTA_SUCCEEDED;
}

/* What forks for ever ends by itself after this time, should nobody else end it. */
static struct timespec forking_ends;

static void begin_forking(void)
{
    clock_gettime(CLOCK_BOOTTIME, &forking_ends);
    forking_ends.tv_sec += 15;
}

static void end_forking_in_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    if (now.tv_sec >= forking_ends.tv_sec)
        _exit(0);
}

/* Each process lives for some milliseconds, then its child goes on: there are always as many, and
 * never the same. */
static void move_on(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        nap_ms(10);
        end_forking_in_time();
        if (fork() > 0)
            _exit(0);
    }
}

static int as_bomb(const struct rota_run *r)
{
    begin_forking();
    for (int64_t i = 0; i < rota_integer(r, "number"); i++)
        if (fork() == 0) {
            /* Half of them out of the worker's group. */
            if (i % 2)
                setsid();
            move_on();
        }
    rota_log(r, ROTA_INFO, "ready");
    hang();
    return ROTA_SUCCEEDED;
}

/* Lives of a fifth of a millisecond: a walk of /proc comes too late for each of them. */
static void run_on(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    while (fork() <= 0) {
        usleep(200);
        end_forking_in_time();
    }
    _exit(0);
}

static int as_hares(const struct rota_run *r)
{
    begin_forking();
    for (int64_t i = 0; i < rota_integer(r, "number"); i++)
        if (fork() == 0) {
            setsid();
            run_on();
        }
    rota_log(r, ROTA_INFO, "ready");
    hang();
    return ROTA_SUCCEEDED;
}

/* The host's descriptor becomes a socket of the plugin's own. */
static int as_reuser(const struct rota_run *r)
{
    char byte;
    int pair[2];

    close(3);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 || pair[0] != 3)
        return ROTA_REFUSED;
    rota_log(r, ROTA_INFO, "a line");
    rota_progress(r, 0.5, "half");
    printf("%zd\n", recv(pair[1], &byte, 1, MSG_DONTWAIT | MSG_TRUNC));
    return ROTA_SUCCEEDED;
}

/* Writes the instant of its newest instruction to the file, for ever. */
static int as_stamper(const struct rota_run *r)
{
    int fd = open(rota_string(r, "file"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    volatile struct timespec *stamp;
    struct timespec now;
    sigset_t all;

    if (fd < 0 || ftruncate(fd, sizeof(now)) < 0)
        return ROTA_REFUSED;
    stamp = mmap(NULL, sizeof(now), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (stamp == MAP_FAILED)
        return ROTA_REFUSED;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int64_t count = 0;; count++) {
        clock_gettime(CLOCK_BOOTTIME, &now);
        stamp->tv_sec = now.tv_sec;
        stamp->tv_nsec = now.tv_nsec;
        if (count == 0)
            rota_log(r, ROTA_INFO, "ready");
    }
}

static int as_fds(const struct rota_run *r)
{
    DIR *folder = opendir("/proc/self/fd");
    char path[64], target[256];
    struct dirent *entry;

    (void)r;
    while (folder && (entry = readdir(folder))) {
        ssize_t n;

        if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
            continue;
        snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
        n = readlink(path, target, sizeof(target) - 1);
        printf("%s %.*s\n", entry->d_name, n > 0 ? (int)n : 1, n > 0 ? target : "?");
    }
    closedir(folder);
    return ROTA_SUCCEEDED;
}

static int as_parent(const struct rota_run *r)
{
    (void)r;
    return system("ls /proc/self/fd") == 0 ? ROTA_SUCCEEDED : ROTA_FAILED;
}

static int as_surroundings(const struct rota_run *r)
{
    char cwd[256];
    gid_t groups[32];
    sigset_t blocked;
    mode_t mask = umask(0);
    int count = getgroups(32, groups), ignored = 0;

    (void)r;
    for (char **at = environ; *at; at++)
        printf("env %s\n", *at);
    printf("cwd %s\numask %03o\nuid %u\ngid %u\n", getcwd(cwd, sizeof(cwd)), mask, geteuid(),
           getegid());
    for (int i = 0; i < count; i++)
        printf("group %u\n", groups[i]);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int signo = 1; signo < NSIG; signo++) {
        struct sigaction action;

        ignored += sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        ignored += sigismember(&blocked, signo) == 1;
    }
    printf("blocked or ignored %d\nleader %d\nnnp %d\n", ignored, getsid(0) == getpid(),
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    return ROTA_SUCCEEDED;
}

static int as_stopping(const struct rota_run *r)
{
    struct pollfd fd = { .fd = r->stop_fd, .events = POLLIN };

    rota_log(r, ROTA_INFO, "ready");
    while (poll(&fd, 1, -1) < 0)
        continue;
    /* The thread of the host sets the flag at about the same time. */
    for (int i = 0; i < 500 && !rota_should_stop(r); i++)
        nap_ms(10);
    return rota_fail(r, rota_should_stop(r) && (fd.revents & POLLIN) ? ROTA_DECLINED : ROTA_FAILED,
                     "asked to stop");
}

static int as_interrupted(const struct rota_run *r)
{
    rota_log(r, ROTA_INFO, "ready");
    poll(NULL, 0, -1);
    return rota_should_stop(r) ? ROTA_DECLINED : ROTA_FAILED;
}

static int as_flood(const struct rota_run *r)
{
    for (int64_t i = 0; i < rota_integer(r, "number"); i++)
        printf("line %lld\n", (long long)i);
    return ROTA_SUCCEEDED;
}

static int as_long_line(const struct rota_run *r)
{
    for (int64_t i = 0; i < rota_integer(r, "number"); i++)
        putchar('x');
    putchar('\n');
    fwrite("a\0b\n", 1, 4, stdout);
    fputs("rest", stdout);
    fputs("no end", stderr);
    return ROTA_FAILED;
}

static int as_chatty(const struct rota_run *r)
{
    for (int i = 0; i <= 1000; i++)
        rota_progress(r, i / 1000.0, i == 1000 ? "all" : "part");
    rota_log(r, ROTA_WARNING, "half %d", 5);
    return ROTA_SUCCEEDED;
}

/* Tells how far it is for `number` ms, then no more. */
static int as_steady(const struct rota_run *r)
{
    struct pollfd stop = { .fd = r->stop_fd, .events = POLLIN };
    int64_t i, ms = rota_integer(r, "number");

    for (i = 0; i < ms && !rota_should_stop(r); i += 20) {
        rota_progress(r, (double)i / (double)ms, "on it");
        usleep(20 * 1000);
    }
    printf("%lld\n", (long long)r->budget_left_ms(r));
    poll(&stop, 1, -1);
    return ROTA_SUCCEEDED;
}

static int as_clock(const struct rota_run *r)
{
    printf("%lld %lld\n", (long long)r->lease_left_ms(r), (long long)r->budget_left_ms(r));
    return ROTA_SUCCEEDED;
}

static int as_run(const struct rota_run *r)
{
    printf("%s %s %lld %llu %u %u %u %u\n", r->job, r->device, (long long)r->turn_ms,
           (unsigned long long)r->fence, r->attempt, r->attempts, r->purpose,
           r->size == sizeof(*r) && ROTA_HAS(r, fail));
    return ROTA_SUCCEEDED;
}

static int as_closer(const struct rota_run *r)
{
    (void)r;
    for (int fd = 0; fd < 64; fd++)
        close(fd);
    return ROTA_SUCCEEDED;
}

static int as_defiant(const struct rota_run *r)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    note_pid(r);
    rota_log(r, ROTA_INFO, "ready");
    for (;;)
        continue;
}

static int as_spin(const struct rota_run *r)
{
    (void)r;
    fputs("last words\n", stderr);
    for (;;)
        continue;
}

/* A file of `number` bytes. */
static int as_writer(const struct rota_run *r)
{
    int fd = open(rota_string(r, "file"), O_WRONLY | O_CREAT, 0600);

    fputs("last words\n", stderr);
    for (int64_t i = 0; i < rota_integer(r, "number"); i++)
        if (write(fd, "x", 1) != 1)
            return ROTA_FAILED;
    return ROTA_SUCCEEDED;
}

static int as_loop(const struct rota_run *r)
{
    (void)r;
    for (;;)
        continue;
}

/* Its child comes back from run() too; only the worker speaks. */
static int as_twins(const struct rota_run *r)
{
    (void)r;
    if (fork() == 0)
        return ROTA_REFUSED;
    nap_ms(100);
    return ROTA_SUCCEEDED;
}

static int as_answer(const struct rota_run *r)
{
    return (int)rota_integer(r, "number");
}

/* Time enough for its guard to be stopped before the result comes. */
static int as_late_answer(const struct rota_run *r)
{
    rota_log(r, ROTA_INFO, "ready");
    nap_ms(300);
    return ROTA_SUCCEEDED;
}

static int as_failing(const struct rota_run *r)
{
    return rota_fail(r, ROTA_FAILED, "cannot open %s", "it");
}

static int as_crash(const struct rota_run *r)
{
    (void)r;
    fputs("last words\n", stderr);
    raise(SIGSEGV);
    return ROTA_SUCCEEDED;
}

static int as_exit(const struct rota_run *r)
{
    exit((int)rota_integer(r, "number"));
}

static int as_undeclared(const struct rota_run *r)
{
    return rota_string(r, "nowhere") == NULL;
}

static int as_mistyped(const struct rota_run *r)
{
    return (int)rota_duration_ms(r, "number");
}

static const struct {
    const char *name;
    int (*run)(const struct rota_run *);
} ways[] = {
    { "tree", as_tree },
    { "headless", as_headless },
    { "deaf", as_deaf },
    { "leaver", as_leaver },
    { "bomb", as_bomb },
    { "hares", as_hares },
    { "reuser", as_reuser },
    { "stamper", as_stamper },
    { "fds", as_fds },
    { "parent", as_parent },
    { "surroundings", as_surroundings },
    { "stopping", as_stopping },
    { "interrupted", as_interrupted },
    { "flood", as_flood },
    { "long_line", as_long_line },
    { "chatty", as_chatty },
    { "steady", as_steady },
    { "clock", as_clock },
    { "run", as_run },
    { "closer", as_closer },
    { "defiant", as_defiant },
    { "spin", as_spin },
    { "writer", as_writer },
    { "loop", as_loop },
    { "twins", as_twins },
    { "answer", as_answer },
    { "late_answer", as_late_answer },
    { "litter", as_litter },
    { "failing", as_failing },
    { "crash", as_crash },
    { "exit", as_exit },
    { "undeclared", as_undeclared },
    { "mistyped", as_mistyped },
};

static int run(const struct rota_run *r)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, rota_string(r, "as")) == 0)
            return ways[i].run(r);
    return rota_fail(r, ROTA_REFUSED, "no such way: %s", rota_string(r, "as"));
}

ROTA_PLUGIN(.name = "behave", .version = "1", .summary = "Behaves.", .params = params, .run = run);
