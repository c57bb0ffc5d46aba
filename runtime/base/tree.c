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
#include <sys/ptrace.h>
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

/* Any number will do: it spares work, no more. */
#define GROUPS_KNOWN 64

struct snapshot {
    struct process *list;
    size_t count, room;
    const struct tree *tree;
    int signo;
    pid_t killed_groups[GROUPS_KNOWN]; /* a group's number stands at its own place, or not at all */
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

/* A process whose first thread has ended looks dead, while others of its threads run on. */
static bool is_live(const struct process *p)
{
    return p->state != 'Z' || p->threads > 1;
}

/* Where a group that was killed in this walk is noted. */
static pid_t *note_of(struct snapshot *s, pid_t group)
{
    return &s->killed_groups[(unsigned)group % GROUPS_KNOWN];
}

/* The kernel kills a group in one step, and a fork in it cannot slip out, while a walk can run
 * after one that forks and exits again and again. A guard and a worker begin sessions, so no
 * stranger is in a group of theirs. */
static void kill_group(struct snapshot *s, pid_t group)
{
    if (group <= 1 || group == getpgrp() || group == *note_of(s, group))
        return;
    kill(-group, SIGKILL);
    *note_of(s, group) = group;
}

/* Of the dead the group may live; once a walk will do: where thousands of them are in one group,
 * the kernel would go through all of them for each. */
static bool is_of_use(struct snapshot *s, const struct process *p)
{
    return is_live(p) || (s->signo == SIGKILL && p->group != *note_of(s, p->group));
}

static void send_signal(struct snapshot *s, const struct process *p)
{
    CLEANUP_CLOSE int fd = -1;
    struct process now = { 0 };

    if (!is_of_use(s, p))
        return;
    fd = pidfd_open(p->pid, 0);
    /* An old kernel, a container that refuses unknown calls, no descriptor left: the bare number
     * is better than nothing. */
    if (fd < 0) {
        if (errno != ESRCH)
            kill(p->pid, s->signo);
        return;
    }
    if (read_process(p->pid, &now) < 0 || now.started != p->started)
        return;
    if (s->signo == SIGKILL)
        kill_group(s, now.group);
    if (pidfd_send_signal(fd, s->signo, NULL, 0) < 0 && errno != ESRCH)
        kill(p->pid, s->signo);
}

/* While the walk goes: /proc lists numbers upwards, so a parent mostly stands in the list before
 * its children. What is ours is hit at once, not after the walk: a process that forks and exits
 * again and again would be gone by then. */
static void signal_early(struct snapshot *s, struct process *p)
{
    const struct process *parent;

    if (p->parent == s->tree->root) {
        p->kinship = kinship_of_child(s, p->pid);
    } else {
        parent = find(s, p->parent);
        if (parent && parent->kinship == KIN_OURS)
            p->kinship = KIN_OURS;
    }
    if (p->kinship == KIN_OURS && s->signo != 0)
        send_signal(s, p);
}

/* Where memory ends half-way the part that was read is used: killing some of the tree gives memory
 * back. */
static int walk(struct snapshot *s)
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
        signal_early(s, &s->list[s->count - 1]);
    }
    closedir(proc);
    return 0;
}

int tree_signal(const struct tree *t, int signo)
{
    __attribute__((cleanup(snapshot_done))) struct snapshot s = { .tree = t, .signo = signo };
    int live = 0, r;

    r = walk(&s);
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
            send_signal(&s, p);
        if (!is_live(p))
            continue;
        live++;
        if (t->newest && p->started > *t->newest)
            *t->newest = p->started;
    }
    return live;
}

/* Whether /proc is there, and calls us by our number: with that of another pid namespace a walk
 * would hit strangers. */
static bool knows_us(void)
{
    char digits[16];
    ssize_t n = readlink("/proc/self", digits, sizeof(digits));
    unsigned theirs = 0;

    /* libc's own ways to print and read a number cost a run four page faults. */
    for (ssize_t i = 0; i < n; i++)
        theirs = theirs * 10 + (unsigned)(digits[i] - '0');
    return theirs == (unsigned)getpid();
}

/* Whom /proc shows the first process, which is another's, it shows all. Of a process that was not
 * looked up before, the kernel would have to set up the files, which each run would pay for. */
int tree_check(bool traceable, const char **ret_why)
{
    /* Three descriptors at once, as where a process is signalled. */
    CLEANUP_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP_CLOSE int second = proc < 0 ? -1 : fcntl(proc, F_DUPFD_CLOEXEC, 0);
    const char *seen = traceable ? "/proc/self" : "/proc/1/stat";
    CLEANUP_CLOSE int third = second < 0 ? -1 : open(seen, O_PATH | O_CLOEXEC);
    int r = third < 0 ? -errno : 0;

    if (!knows_us()) {
        *ret_why = "/proc is not mounted, or is that of another pid namespace";
        return -ENOENT;
    }
    if (r == -ENOENT || r == -EPERM)
        *ret_why = "/proc hides from rotad the processes of its jobs (hidepid, or ProtectProc= of "
                   "its unit); switch that off, or add rotad's user to the group of the mount's "
                   "gid=";
    else if (r < 0)
        *ret_why = strerror(-r);
    return r;
}

/* With the signal that it was stopped at, but for the one that tells a tracer of an exec. */
static void let_go(pid_t pid, int signo)
{
    ptrace(PTRACE_DETACH, pid, NULL, signo == SIGTRAP ? 0L : (long)signo);
}

int tree_reap(struct tree_death *ret_death)
{
    int status = 0;
    pid_t pid;

    do
        pid = waitpid(-1, &status, WNOHANG | __WALL);
    while (pid < 0 && errno == EINTR);
    if (pid < 0)
        return -errno;
    if (pid == 0)
        return 0;
    if (WIFSTOPPED(status)) {
        let_go(pid, WSTOPSIG(status));
        pid = 0;
    }
    *ret_death = (struct tree_death){ .pid = pid, .status = status };
    return 1;
}
