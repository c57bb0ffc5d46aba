/* SPDX-License-Identifier: MIT */
#include "guard/life.h"
#include "base/cleanup.h"
#include "base/fault_point.h"
#include "base/tree.h"
#include "guard/cgroup.h"
#include "guard/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* One call kills for at most so long before renewals, output and orders are looked at again. */
#define KILL_SLICE_MS 100
/* From round to round: what is born while a walk goes, and what takes its time to die. The gap
 * doubles where nothing is left to be signalled: then a process dies slowly, or cannot. */
#define ROUND_GAP_MIN_MS 2
#define ROUND_GAP_MAX_MS 1000
/* So long a tree has at least to be gone after the first kill, and so long before D it is told of
 * where it is not: the guard may have to wait for a processor, and who stays silent is killed. */
#define UNCLEAN_MS 1000
/* Children that die or stop in a stream must not keep the guard from looking at its clock. */
#define REAPS_PER_TURN 256
/* Where it is known that something cannot be killed, and nothing new is born: a slice in ten
 * seconds is all that it gets. */
#define ROUND_GAP_STUCK_MS 10000

void life_begin(struct life *l, const struct message_start *start, struct boot started,
                pid_t worker, int stop_pipe)
{
    *l = (struct life){
        .phase = PHASE_RUNNING,
        .started = started,
        .deadline = start->deadline,
        .overrun_at = boot_add(started, start->worst_case_ms),
        .kill_at = BOOT_NEVER,
        .next_round = BOOT_NEVER,
        .worst_case_ms = start->worst_case_ms,
        .max_runtime_ms = start->max_runtime_ms,
        .grace_ms = start->stop_grace_ms,
        .margin_ms = start->margin_ms,
        .stop_pipe = stop_pipe,
        .group = -1,
        .worker = worker,
        .worker_alive = true,
        .round_gap_ms = ROUND_GAP_MIN_MS,
    };
}

bool life_extend(struct life *l, struct boot deadline)
{
    if (l->phase != PHASE_RUNNING || deadline.ms <= l->deadline.ms)
        return false;
    l->deadline = deadline;
    return true;
}

struct boot life_extended(struct boot started, int64_t worst_case_ms, int64_t max_runtime_ms,
                          struct boot now)
{
    return boot_min(boot_add(now, worst_case_ms), boot_add(started, max_runtime_ms));
}

void life_progress(struct life *l, struct boot now)
{
    l->overrun_at = boot_max(l->overrun_at,
                             life_extended(l->started, l->worst_case_ms, l->max_runtime_ms, now));
}

/* Where it may: what forks for ever must not crowd out the one that ends it. A kernel that shares
 * its processors between sessions first looks at that of the session. */
static void hurry(struct life *l)
{
    CLEANUP_CLOSE int session = -1;
    ssize_t n;

    if (l->hurries)
        return;
    l->hurries = true;
    session = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    setpriority(PRIO_PROCESS, 0, -20);
    if (session >= 0) {
        n = write(session, "-20", 3);
        (void)n;
    }
}

static int signal_all(struct life *l, int signo)
{
    return tree_signal(&(struct tree){ .root = getpid(), .newest = &l->newest }, signo);
}

static struct boot lost_at(const struct life *l)
{
    return boot_add(l->deadline, -l->grace_ms);
}

struct boot life_unclean_at(const struct life *l)
{
    struct boot last = boot_add(l->deadline, l->margin_ms / 4);

    if (l->phase != PHASE_KILLING)
        return last;
    return boot_min(last,
                    boot_max(boot_add(l->kill_at, UNCLEAN_MS), boot_add(l->deadline, -UNCLEAN_MS)));
}

/* It may have ended since the last look; then it did before the stop. */
static bool has_worker_ended(const struct life *l)
{
    siginfo_t info = { 0 };

    /* A worker that has this process trace it is told of when it stops, too. */
    return !l->worker_alive ||
           (waitid(P_PID, (id_t)l->worker, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0 && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED);
}

void life_stop(struct life *l, enum ended_stop why, struct boot now)
{
    ssize_t n;

    if (l->phase != PHASE_RUNNING || has_worker_ended(l))
        return;
    hurry(l);
    l->phase = PHASE_ASKED;
    if (!l->answered)
        l->stop = why;
    l->kill_at = boot_min(boot_add(now, l->grace_ms), l->deadline);
    /* Readable by the byte, and for who reads the byte by the end of file. It fits: the pipe is
     * empty; where nobody holds the other end there is nobody to tell. */
    n = write(l->stop_pipe, "", 1);
    (void)n;
    close(l->stop_pipe);
    l->stop_pipe = -1;
    if (signal_all(l, SIGTERM) < 0)
        kill(l->worker, SIGTERM);
    /* What is stopped cannot act on the SIGTERM. */
    if (signal_all(l, SIGCONT) < 0)
        kill(l->worker, SIGCONT);
    FAULT_POINT(guard_asked_it_to_stop);
}

static void worker_died(struct life *l, int status, struct boot now)
{
    l->worker_alive = false;
    l->status = status;
    l->ran_ms = boot_between(l->started, now);
}

static void reap(struct life *l, struct boot now)
{
    struct tree_death death;
    int r = 1;

    for (int i = 0; i < REAPS_PER_TURN && r > 0; i++) {
        r = tree_reap(&death);
        if (r > 0 && death.pid == l->worker && l->worker_alive)
            worker_died(l, death.status, now);
    }
    l->more_to_reap = r > 0;
    if (l->more_to_reap)
        hurry(l);
    if (r == -ECHILD)
        l->phase = PHASE_EMPTY;
}

/* One walk. The number that were alive. */
static int kill_once(struct life *l)
{
    int live;

    cgroup_kill(l->group);
    /* In one step all that stayed in the worker's process group; the number is its own until it is
     * reaped. Without /proc this is all that can be done. */
    if (l->worker_alive) {
        kill(-l->worker, SIGKILL);
        kill(l->worker, SIGKILL);
    }
    live = signal_all(l, SIGKILL);
    return live < 0 ? 0 : live;
}

static void kill_rounds(struct life *l, struct boot now)
{
    struct boot slice_end = boot_add(now, KILL_SLICE_MS);
    uint64_t newest_before = l->newest;
    int live;

    /* That it is not over by then has to be said at once: who stays silent is killed. */
    if (!boot_reached(now, life_unclean_at(l)))
        slice_end = boot_min(slice_end, life_unclean_at(l));
    do {
        live = kill_once(l);
        do {
            now = clock_now();
            reap(l, now);
        } while (l->more_to_reap && !boot_reached(now, slice_end));
        if (l->phase == PHASE_EMPTY)
            return;
    } while (live > 0 && !boot_reached(now, slice_end));
    if (boot_reached(now, life_unclean_at(l)) && l->newest == newest_before)
        l->round_gap_ms = ROUND_GAP_STUCK_MS;
    else if (live > 0)
        l->round_gap_ms = ROUND_GAP_MIN_MS;
    else if (l->round_gap_ms < ROUND_GAP_MAX_MS)
        l->round_gap_ms *= 2;
    l->next_round = boot_add(now, l->round_gap_ms);
}

static void begin_killing(struct life *l, struct boot now)
{
    int live;

    hurry(l);
    FAULT_POINT(guard_before_the_kill);
    l->phase = PHASE_KILLING;
    l->kill_at = now;
    if (l->worker_alive) {
        l->killed = true;
    } else {
        /* Before the first kill, by which a whole group may die at once, uncounted. */
        live = signal_all(l, 0);
        l->leftovers = live < 0 ? 0 : (uint32_t)live;
    }
    kill_once(l);
    FAULT_POINT(guard_killed_once);
    reap(l, now);
    if (l->phase != PHASE_EMPTY)
        kill_rounds(l, now);
}

/* A worker that came to its end leaves nothing behind; a tree that was asked has its grace, whoever
 * of it goes first. */
static bool is_killing_due(const struct life *l, struct boot now)
{
    return (l->phase == PHASE_RUNNING && !l->worker_alive) ||
           (l->phase == PHASE_ASKED && boot_reached(now, l->kill_at));
}

void life_advance(struct life *l, struct boot now)
{
    if (l->phase == PHASE_EMPTY)
        return;
    reap(l, now);
    if (l->phase == PHASE_RUNNING && l->worker_alive) {
        if (boot_reached(now, l->overrun_at) && l->overrun_at.ms <= lost_at(l).ms)
            life_stop(l, STOP_OVERRUN, now);
        else if (boot_reached(now, lost_at(l)))
            life_stop(l, STOP_DEADLINE, now);
    }
    if (l->phase == PHASE_KILLING) {
        if (boot_reached(now, l->next_round))
            kill_rounds(l, now);
    } else if (is_killing_due(l, now)) {
        begin_killing(l, now);
    }
}

struct boot life_next(const struct life *l)
{
    if (l->more_to_reap)
        return l->started; /* which has passed: at once */
    switch (l->phase) {
    case PHASE_RUNNING:
        return boot_min(lost_at(l), l->overrun_at);
    case PHASE_ASKED:
        return l->kill_at;
    case PHASE_KILLING:
        return l->next_round;
    default:
        return BOOT_NEVER;
    }
}
