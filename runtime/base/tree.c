/* SPDX-License-Identifier: MIT */
#include "base/tree.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum kinship { KIN_UNKNOWN, KIN_OURS, KIN_FOREIGN };

struct process {
    pid_t pid, parent, group;
    enum kinship kinship;
    char state;
    int threads;
    uint64_t started; /* clock ticks since boot: with the pid it names one process for ever */
};

struct snapshot {
    struct process *list;
    size_t count, room;
    const struct tree *tree;
};

static void snapshot_done(struct snapshot *s)
{
    free(s->list);
}

/* proc(5): "pid (comm) state ppid ...", threads are field 20, start time is field 22. comm may hold
 * anything, ')' too. */
static int parse_stat(const char *text, struct process *p)
{
    const char *at = strrchr(text, ')');
    unsigned long long started;
    int parent, group, threads;

    /* The kernel wrote the numbers: they fit. NOLINTNEXTLINE(cert-err34-c) */
    if (!at || sscanf(at + 1,
                      " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d "
                      "%llu",
                      &p->state, &parent, &group, &threads, &started) != 5)
        return -EBADMSG;
    p->parent = parent;
    p->group = group;
    p->threads = threads;
    p->started = started;
    return 0;
}

static int read_process(pid_t pid, struct process *ret_process)
{
    struct process p = { .pid = pid };
    char path[32], text[1024];
    CLEANUP_CLOSE int fd = -1;
    ssize_t n;
    int r;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = 0;
    r = parse_stat(text, &p);
    if (r < 0)
        return r;
    *ret_process = p;
    return 0;
}

static int snapshot_add(struct snapshot *s, const struct process *p)
{
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 256;
        struct process *grown = reallocarray(s->list, room, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->list = grown;
        s->room = room;
    }
    s->list[s->count++] = *p;
    return 0;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct process *find(const struct snapshot *s, pid_t pid)
{
    struct process key = { .pid = pid };

    if (s->count == 0)
        return NULL;
    return bsearch(&key, s->list, s->count, sizeof(*s->list), by_pid);
}

static enum kinship kinship_of_child(const struct snapshot *s, pid_t child)
{
    const struct tree *t = s->tree;

    return t->is_spared && t->is_spared(t->context, child) ? KIN_FOREIGN : KIN_OURS;
}

/* Climbs to the first ancestor whose kinship is known, then writes it to all on the way. */
static enum kinship settle(const struct snapshot *s, struct process *p)
{
    enum kinship kinship = KIN_UNKNOWN;
    struct process *at = p;

    /* A snapshot is not one instant: reused numbers could even make a circle. */
    for (size_t steps = 0; kinship == KIN_UNKNOWN && steps <= s->count; steps++) {
        if (at->kinship != KIN_UNKNOWN) {
            kinship = at->kinship;
        } else if (at->parent == s->tree->root) {
            kinship = kinship_of_child(s, at->pid);
        } else {
            at = find(s, at->parent);
            if (!at || at->pid == s->tree->root)
                kinship = KIN_FOREIGN;
        }
    }
    if (kinship == KIN_UNKNOWN)
        kinship = KIN_FOREIGN;
    for (at = p; at && at->pid != s->tree->root && at->kinship == KIN_UNKNOWN;
         at = find(s, at->parent))
        at->kinship = kinship;
    return kinship;
}

static void send_signal(const struct process *p, int signo)
{
    CLEANUP_CLOSE int fd = pidfd_open(p->pid, 0);
    struct process now = { 0 };

    /* An old kernel, a container that refuses unknown calls, no descriptor left: the bare number
     * is better than nothing. */
    if (fd < 0) {
        if (errno != ESRCH)
            kill(p->pid, signo);
        return;
    }
    if (read_process(p->pid, &now) < 0 || now.started != p->started)
        return;
    /* The kernel kills a group in one step, and a fork in it cannot slip out, while a walk can run
     * after one that forks and exits again and again. A guard and a worker begin
     * sessions, so no stranger is in a group of theirs. */
    if (signo == SIGKILL && now.group > 1 && now.group != getpgrp())
        kill(-now.group, SIGKILL);
    if (pidfd_send_signal(fd, signo, NULL, 0) < 0 && errno != ESRCH)
        kill(p->pid, signo);
}

/* While the walk goes: /proc lists numbers upwards, so a parent mostly stands in the list before
 * its children. What is ours is hit at once, not after the walk: a process that forks and exits
 * again and again would be gone by then. */
static void signal_early(struct snapshot *s, struct process *p, int signo)
{
    const struct process *parent;

    if (p->parent == s->tree->root) {
        p->kinship = kinship_of_child(s, p->pid);
    } else {
        parent = find(s, p->parent);
        if (parent && parent->kinship == KIN_OURS)
            p->kinship = KIN_OURS;
    }
    if (p->kinship == KIN_OURS && signo != 0)
        send_signal(p, signo);
}

/* Where memory ends half-way the part that was read is used: killing some of the tree gives memory
 * back. */
static int walk(struct snapshot *s, int signo)
{
    struct dirent *entry;
    struct process p = { 0 };
    DIR *proc = opendir("/proc");

    if (!proc)
        return -errno;
    while ((entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (read_process((pid_t)strtol(entry->d_name, NULL, 10), &p) < 0)
            continue; /* gone meanwhile */
        if (p.state == 'X')
            continue; /* its children have another parent now */
        if (snapshot_add(s, &p) < 0)
            break;
        signal_early(s, &s->list[s->count - 1], signo);
    }
    closedir(proc);
    return 0;
}

/* A process whose first thread has ended looks dead, while others of its threads run on. */
static bool is_live(const struct process *p)
{
    return p->state != 'Z' || p->threads > 1;
}

int tree_signal(const struct tree *t, int signo)
{
    __attribute__((cleanup(snapshot_done))) struct snapshot s = { .tree = t };
    int live = 0, r;

    r = walk(&s, signo);
    if (r < 0)
        return r;
    if (s.count > 0)
        qsort(s.list, s.count, sizeof(*s.list), by_pid);
    for (size_t i = 0; i < s.count; i++) {
        struct process *p = &s.list[i];
        bool early = p->kinship == KIN_OURS;

        if (p->pid == t->root || settle(&s, p) != KIN_OURS)
            continue;
        if (!early && signo != 0)
            send_signal(p, signo);
        if (!is_live(p))
            continue;
        live++;
        if (t->newest && p->started > *t->newest)
            *t->newest = p->started;
    }
    return live;
}

/* All three descriptors at once, as where a process is signalled; this one is its own example. */
int tree_check(void)
{
    CLEANUP_CLOSE int fd = pidfd_open(getpid(), 0);
    struct process self = { 0 };
    DIR *proc;
    int r;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return -errno;
    proc = opendir("/proc");
    if (!proc)
        return -errno;
    r = read_process(getpid(), &self);
    closedir(proc);
    return r;
}

int tree_reap(struct tree_death *ret_death)
{
    int status;
    pid_t pid;

    do
        pid = waitpid(-1, &status, WNOHANG | __WALL);
    while (pid < 0 && errno == EINTR);
    if (pid < 0)
        return -errno;
    if (pid == 0)
        return 0;
    *ret_death = (struct tree_death){ .pid = pid, .status = status };
    return 1;
}
