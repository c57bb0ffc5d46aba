/* SPDX-License-Identifier: MIT */
#include "guard/run.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "guard/cgroup.h"
#include "guard/clock.h"
#include "guard/launch.h"
#include "guard/life.h"
#include "guard/limits.h"
#include "guard/loader.h"
#include "guard/output.h"
#include "guard/report.h"
#include "guard/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rota/plugin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Frames and bytes that one source may bring before the others are looked at. */
#define FRAMES_PER_TURN 64
#define BYTES_PER_TURN ((size_t)64 * 1024)
/* Far more than a socket's buffer can hold: the worker's last frame is its result. */
#define DRAIN_TURNS 64
/* The most that a pipe can hold by default limits (pipe-max-size): all of it is read at the end. */
#define PIPE_BYTES_MAX ((size_t)1024 * 1024)

enum { POLL_CONTROL, POLL_SIGNALS, POLL_TIMER, POLL_WORKER, POLL_STDOUT, POLL_STDERR, POLL_COUNT };

/* What each run touches comes first, up to the head of the report's frame, which is its end: in one
 * page. The fork makes two of each page that is touched after it, too. */
struct guard {
    struct message_start start;
    struct life life;
    int control, signals, timer, worker_socket;
    timer_t backstop;
    uint32_t stop_reason;
    bool told_end;               /* ENDED was handed to the report, or nobody is there to hear it */
    struct message_ended result; /* once life.answered: what the worker said; its detail is below */
    struct report report;
    struct output out, err;
    char result_detail[1024];
    char detail[1024];        /* of ENDED */
    struct frame start_frame; /* the start's texts point into it */
    struct frame frame;       /* received ones */
} __attribute__((aligned(4096)));

static int complain(const char *what, int error)
{
    fprintf(stderr, "rota-guard: %s: %s\n", what, strerror(-error));
    return EXIT_FAILURE;
}

/* 0 and a START; 1 where the supervisor closed without one. */
static int receive_start(struct guard *g)
{
    struct pollfd fd = { .fd = g->control, .events = POLLIN };
    int type;

    do {
        if (poll(&fd, 1, -1) < 0 && errno != EINTR)
            return -errno;
        type = frame_receive(g->control, &g->start_frame);
    } while (type == -EAGAIN);
    if (type == 0)
        return 1;
    if (type < 0)
        return type;
    if (type != MESSAGE_START)
        return -EPROTO;
    return message_unpack_start(&g->start_frame, &g->start);
}

static int open_sources(struct guard *g)
{
    sigset_t watched;

    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &watched, NULL) < 0)
        return -errno;
    g->signals = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    if (g->signals < 0)
        return -errno;
    g->timer = clock_timer_new();
    if (g->timer < 0)
        return g->timer;
    return clock_backstop_new(&g->backstop);
}

/* All that needs no START: a guard may be there some time before it gets one. */
static int set_up(struct guard *g)
{
    /* rotad left all signals as they are by default; who tries a plugin by hand may not have. */
    sandbox_reset_signals();
    signal(SIGPIPE, SIG_IGN);
    /* The worker's: a pipe would make stdio keep the lines until the end, or lose them in a crash.
     */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    setsid(); /* fails where it is a leader already, which is as good */
    if (close_range(CONTROL_SOCKET + 1, ~0U, 0) < 0 || fcntl(g->control, F_SETFD, FD_CLOEXEC) < 0 ||
        chdir("/") < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return -errno;
    launch_open();
    return open_sources(g);
}

/* The backstop of the guard itself, for when it is stopped or starved: after D, while the lease
 * still holds. */
static void set_backstop(struct guard *g, struct boot deadline)
{
    clock_backstop_set(g->backstop, boot_add(deadline, g->start.margin_ms / 2));
}

/* Nothing is left of the run, or nothing more can be done for the lease: no reason to kill the
 * guard. */
static void drop_backstop(struct guard *g)
{
    clock_backstop_set(g->backstop, BOOT_NEVER);
}

/* The run ends before it began. */
static void end_unstarted(struct guard *g, enum ended_how how, enum ended_stop stop,
                          const char *why)
{
    struct message_ended m = { .how = how, .stop = stop, .clean = true, .detail = why };

    g->life.phase = PHASE_EMPTY;
    report_ended(&g->report, &m);
    g->told_end = true;
    drop_backstop(g);
}

static void adopt(struct guard *g, const struct launched *l)
{
    struct message_started m = { .worker_pid = l->worker,
                                 .started = l->started,
                                 .unapplied = l->unapplied };

    output_init(&g->out, l->out, 1);
    output_init(&g->err, l->err, 2);
    g->worker_socket = l->socket;
    life_begin(&g->life, &g->start, l->started, l->worker, l->stop);
    g->life.group = l->group;
    report_started(&g->report, &m);
}

static void start_worker(struct guard *g)
{
    /* Who tries a plugin by hand names the file as one names a program: it may be anybody's. */
    bool loose = g->start.purpose == ROTA_FOR_TRY;
    struct trust_place plugin = { 0 };
    char sentence[SENTENCE_SIZE];
    struct launched launched;
    const char *why;
    int r;

    set_backstop(g, g->start.deadline);
    if (boot_reached(clock_now(), boot_add(g->start.deadline, -g->start.stop_grace_ms))) {
        end_unstarted(g, ENDED_UNSTARTED, STOP_DEADLINE,
                      "the time of its lease was over before the worker could start");
        return;
    }
    if (loader_find(g->start.plugin_path, loose, &plugin, sentence) < 0) {
        end_unstarted(g, ENDED_UNLOADABLE, STOP_NONE, sentence);
        return;
    }
    r = launch_worker(&g->start, &plugin, &launched, &why);
    trust_done(&plugin);
    if (r == 0) {
        FAULT_POINT(guard_forked);
        adopt(g, &launched);
        FAULT_POINT(guard_told_the_start);
        return;
    }
    text_format(sentence, sizeof(sentence), "no worker could be started: %s", why);
    end_unstarted(g, ENDED_UNSTARTED, STOP_NONE, sentence);
}

static void take_deadline(struct guard *g)
{
    struct message_deadline m;

    if (message_unpack_deadline(&g->frame, &m) < 0 || !life_extend(&g->life, m.deadline))
        return;
    set_backstop(g, m.deadline);
    FAULT_POINT(guard_moved_its_deadline);
    /* The worker's own backstop. Where it is not heard it kills earlier, which is the safe side. */
    frame_send(g->worker_socket, &g->frame);
    FAULT_POINT(guard_passed_the_deadline_on);
}

static void take_stop(struct guard *g, struct boot now)
{
    struct message_stop m;

    if (message_unpack_stop(&g->frame, &m) < 0)
        return;
    if (g->life.phase == PHASE_RUNNING)
        g->stop_reason = m.reason;
    life_stop(&g->life, STOP_ORDERED, now);
}

static void supervisor_gone(struct guard *g, struct boot now)
{
    g->report.gone = true;
    g->control = -1;
    g->told_end = true;
    life_stop(&g->life, STOP_ORPHANED, now);
}

static void read_control(struct guard *g, struct boot now)
{
    for (int i = 0; i < FRAMES_PER_TURN && g->control >= 0; i++) {
        int type = frame_receive(g->control, &g->frame);

        if (type == -EAGAIN)
            return;
        if (type == MESSAGE_DEADLINE)
            take_deadline(g);
        else if (type == MESSAGE_STOP)
            take_stop(g, now);
        else if (type == 0 || (type < 0 && type != -EBADMSG))
            supervisor_gone(g, now);
    }
}

static void take_result(struct guard *g)
{
    struct message_ended m;

    /* Whether a signal ended it is the kernel's to tell. */
    if (g->life.answered || message_unpack_ended(&g->frame, &m) < 0 || m.how == ENDED_SIGNALLED)
        return;
    g->life.answered = true;
    g->result = m;
    text_copy(g->result_detail, sizeof(g->result_detail), m.detail);
    FAULT_POINT(guard_took_the_result);
}

static void take_progress(struct guard *g, const struct message_progress *m, struct boot now)
{
    life_progress(&g->life, now);
    report_progress(&g->report, m);
}

static void take_log(struct guard *g, const struct message_log *m, struct boot now)
{
    char text[OUTPUT_LINE_MAX + 1];
    uint8_t level = m->level <= ROTA_DEBUG ? (uint8_t)m->level : ROTA_INFO;

    text_escape(text, sizeof(text), m->text, strlen(m->text));
    report_line(&g->report, &(struct tail_line){ .at = now, .level = level, .text = text });
}

static void read_worker(struct guard *g, struct boot now)
{
    struct message_progress progress;
    struct message_log line;

    for (int i = 0; i < FRAMES_PER_TURN && g->worker_socket >= 0; i++) {
        int type = frame_receive(g->worker_socket, &g->frame);

        if (type == -EAGAIN)
            return;
        if (type == MESSAGE_ENDED)
            take_result(g);
        else if (type == MESSAGE_PROGRESS && message_unpack_progress(&g->frame, &progress) == 0)
            take_progress(g, &progress, now);
        else if (type == MESSAGE_LOG && message_unpack_log(&g->frame, &line) == 0)
            take_log(g, &line, now);
        else if (type == 0 || (type < 0 && type != -EBADMSG))
            g->worker_socket = -1; /* closed by this process's end: see frame_receive() */
    }
}

static void read_signals(struct guard *g, struct boot now)
{
    struct signalfd_siginfo info;

    while (read(g->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            life_stop(&g->life, STOP_ORDERED, now);
}

/* "(exit status 3)" of a plugin adds to its last line of output; without one it stands alone. */
static void join(const char *line, const char *added, char *buf, size_t size)
{
    if (line[0])
        text_format(buf, size, "%s %s", line, added);
    else
        text_format(buf, size, "%.*s", (int)strlen(added) - 2, added + 1);
}

static bool is_addition(const char *text)
{
    size_t length = strlen(text);

    return length > 2 && text[0] == '(' && text[length - 1] == ')';
}

/* What the plugin said; else where it did not succeed its last line. */
static void find_detail(struct guard *g, const struct message_ended *m)
{
    bool well =
        m->how == ENDED_RETURNED && (m->result == ROTA_SUCCEEDED || m->result == ROTA_NOTHING);
    const char *said = g->result_detail;

    if (said[0] && !is_addition(said))
        text_copy(g->detail, sizeof(g->detail), said);
    else if (said[0])
        join(report_last(&g->report), said, g->detail, sizeof(g->detail));
    else
        text_copy(g->detail, sizeof(g->detail), well ? "" : report_last(&g->report));
}

/* Which limit it met, where that ended it; before its last line. */
static void add_limit(struct guard *g, int signo)
{
    const char *why = limits_death(signo), *line = report_last(&g->report);

    if (signo == SIGKILL && !g->life.killed && cgroup_ran_out_of_memory(g->life.group))
        why = "it used more than its limits.memory";
    if (why)
        text_format(g->detail, sizeof(g->detail), "%s%s%s", why, line[0] ? ": " : "", line);
}

static void compose_end(struct guard *g, struct message_ended *ret_m)
{
    const struct life *l = &g->life;
    struct message_ended m = {
        .stop = l->stop,
        .reason = g->stop_reason,
        .clean = l->phase == PHASE_EMPTY,
        .killed = l->killed,
        .leftovers = l->leftovers,
        .ran_ms = l->worker_alive ? boot_between(l->started, clock_now()) : l->ran_ms,
    };

    if (g->life.answered && g->result.how != ENDED_EXITED) {
        m.how = g->result.how;
        m.result = g->result.result;
    } else if (!l->worker_alive && WIFEXITED(l->status)) {
        m.how = ENDED_EXITED;
        m.code = WEXITSTATUS(l->status);
    } else {
        /* Not dead yet: only SIGKILL, which was sent, can be its end. */
        m.how = ENDED_SIGNALLED;
        m.code = l->worker_alive ? SIGKILL : WTERMSIG(l->status);
    }
    find_detail(g, &m);
    if (m.how == ENDED_SIGNALLED)
        add_limit(g, m.code);
    m.detail = g->detail;
    *ret_m = m;
}

static void tell_end(struct guard *g)
{
    struct message_ended m;

    compose_end(g, &m);
    report_ended(&g->report, &m);
    g->told_end = true;
}

/* Nobody can write any more but strangers that were handed a descriptor: what is there is read, and
 * that is all. */
static void drain(struct guard *g, struct boot now)
{
    for (int i = 0; i < DRAIN_TURNS && g->worker_socket >= 0; i++)
        read_worker(g, now);
    output_read(&g->out, PIPE_BYTES_MAX, &g->report, now);
    output_read(&g->err, PIPE_BYTES_MAX, &g->report, now);
    output_finish(&g->out, &g->report, now);
    output_finish(&g->err, &g->report, now);
    output_done(&g->out);
    output_done(&g->err);
    g->worker_socket = -1; /* as above, whatever is still there */
}

static void advance(struct guard *g, struct boot now)
{
    bool was_empty = g->life.phase == PHASE_EMPTY;

    life_advance(&g->life, now);
    if (g->life.phase == PHASE_EMPTY && !was_empty) {
        FAULT_POINT(guard_emptied);
        drop_backstop(g);
        drain(g, now);
        if (!g->told_end)
            tell_end(g);
        /* Before the end is sent: the job's next run may make a group of that name at once. */
        cgroup_remove(g->start.setup.cgroup, g->start.job, g->life.group);
    } else if (g->life.phase != PHASE_EMPTY && boot_reached(now, life_unclean_at(&g->life))) {
        /* Something of it is in uninterruptible sleep. The guard stays until that is over. */
        drop_backstop(g);
        if (!g->told_end)
            tell_end(g);
    }
    report_flush(&g->report, now);
}

static struct boot next_instant(const struct guard *g, struct boot now)
{
    struct boot next = boot_min(life_next(&g->life), report_next(&g->report, now));

    if (g->life.phase != PHASE_EMPTY && !boot_reached(now, life_unclean_at(&g->life)))
        next = boot_min(next, life_unclean_at(&g->life));
    return next;
}

static void wait_for_something(struct guard *g, struct pollfd *fds, struct boot now)
{
    short room = report_wants_room(&g->report, now) ? POLLOUT : 0;
    uint64_t expirations;

    fds[POLL_CONTROL] = (struct pollfd){ .fd = g->control, .events = (short)(POLLIN | room) };
    fds[POLL_SIGNALS] = (struct pollfd){ .fd = g->signals, .events = POLLIN };
    fds[POLL_TIMER] = (struct pollfd){ .fd = g->timer, .events = POLLIN };
    fds[POLL_WORKER] = (struct pollfd){ .fd = g->worker_socket, .events = POLLIN };
    fds[POLL_STDOUT] = (struct pollfd){ .fd = g->out.fd, .events = POLLIN };
    fds[POLL_STDERR] = (struct pollfd){ .fd = g->err.fd, .events = POLLIN };
    clock_timer_set(g->timer, next_instant(g, now));
    if (poll(fds, POLL_COUNT, -1) < 0)
        memset(fds, 0, sizeof(*fds) * POLL_COUNT);
    if (fds[POLL_TIMER].revents && read(g->timer, &expirations, sizeof(expirations)) < 0)
        return; /* moved meanwhile */
}

/* The worker's result is read before the clock is looked at: a run that ended in time ended in
 * time. */
static void loop(struct guard *g)
{
    struct pollfd fds[POLL_COUNT];
    struct boot now = clock_now();

    while (g->life.phase != PHASE_EMPTY || g->report.ended_waits) {
        wait_for_something(g, fds, now);
        now = clock_now();
        if (fds[POLL_WORKER].revents)
            read_worker(g, now);
        if (fds[POLL_STDOUT].revents)
            output_read(&g->out, BYTES_PER_TURN, &g->report, now);
        if (fds[POLL_STDERR].revents)
            output_read(&g->err, BYTES_PER_TURN, &g->report, now);
        if (fds[POLL_CONTROL].revents & (POLLIN | POLLHUP | POLLERR))
            read_control(g, now);
        if (fds[POLL_SIGNALS].revents)
            read_signals(g, now);
        advance(g, now);
    }
    FAULT_POINT(guard_told_the_end);
}

int run_main(void)
{
    /* Static and zero at first: its frames are large, and pages that are not touched cost nothing.
     */
    static struct guard g;
    int r;

    g.control = CONTROL_SOCKET;
    g.worker_socket = g.out.fd = g.err.fd = -1;
    FAULT_POINT(guard_began);
    r = set_up(&g);
    if (r < 0)
        return complain("it cannot be set up", r);
    r = receive_start(&g);
    if (r < 0)
        return complain("the supervisor's first message is no START", r);
    if (r > 0)
        return EXIT_SUCCESS;
    FAULT_POINT(guard_got_the_start);
    /* A job's parameters may be secrets, and jobs of rotad's own user could look at this memory. */
    if (g.start.purpose != ROTA_FOR_TRY)
        prctl(PR_SET_DUMPABLE, 0);
    report_init(&g.report, g.control, g.start.output_lines, clock_now());
    start_worker(&g);
    report_flush(&g.report, clock_now());
    loop(&g);
    report_done(&g.report);
    message_free_params(g.start.params, g.start.param_count);
    message_free_setup(&g.start.setup);
    return EXIT_SUCCESS;
}
