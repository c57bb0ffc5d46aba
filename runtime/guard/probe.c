/* SPDX-License-Identifier: MIT */
#include "guard/probe.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"
#include "guard/clock.h"
#include "guard/probe_child.h"
#include "guard/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a probed file left running is killed for at most so long. */
#define CLEAN_UP_MS 1000
#define CLEAN_UP_GAP_NS 1000000
/* Between two looks whether a child is dead, where the kernel has no pidfd to wait for. */
#define DEATH_GAP_MS 20

static void answer_error(struct frame *answer, uint32_t index, const char *sentence)
{
    struct message_probed m = { .index = index, .loaded = false };

    m.errors[m.error_count++] = (struct probe_error){ .param = -1, .text = sentence };
    message_pack_probed(answer, &m);
}

static void say_death(char *sentence, int status)
{
    if (WIFSIGNALED(status))
        text_format(sentence, SENTENCE_SIZE,
                    "the plugin crashed while it was loaded and checked: killed by signal %d "
                    "(SIG%s)",
                    WTERMSIG(status),
                    sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
    else
        text_format(sentence, SENTENCE_SIZE,
                    "the plugin ended its process with exit status %d while it was loaded and "
                    "checked",
                    WEXITSTATUS(status));
}

/* 0 and a PROBED in `answer`; -ETIMEDOUT; -EPIPE where its socket was closed without one;
 * -ECANCELED where nobody waits for the answer any more. */
static int await_answer(int socket, int control, struct boot end, struct frame *answer)
{
    struct pollfd fds[] = {
        { .fd = socket, .events = POLLIN },
        { .fd = control, .events = 0 }, /* the hang-up only: the next question may wait there */
    };

    for (;;) {
        int64_t left = boot_between(clock_now(), end);
        int type;

        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents & POLLHUP)
            return -ECANCELED;
        type = frame_receive(socket, answer);
        if (type == MESSAGE_PROBED)
            return 0;
        if (type == 0)
            return -EPIPE;
        if (type < 0 && type != -EAGAIN && type != -EBADMSG)
            return type;
    }
}

/* Kills all that is left. *ret_status: the child's, where it is among them. */
static void clean_up(pid_t child, int *ret_status)
{
    const struct timespec gap = { .tv_nsec = CLEAN_UP_GAP_NS };
    struct boot end = boot_add(clock_now(), CLEAN_UP_MS);
    struct tree_death death;
    int r;

    do {
        while ((r = tree_reap(&death)) > 0)
            if (death.pid == child)
                *ret_status = death.status;
        if (r == -ECHILD)
            return;
        tree_signal(&(struct tree){ .root = getpid() }, SIGKILL);
        nanosleep(&gap, NULL);
    } while (!boot_reached(clock_now(), end));
}

static bool has_ended(pid_t child)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0;
}

/* A child that closed its socket is mostly about to die by itself: how it does is the answer. It
 * may have closed it only. -EPIPE once it is dead, -ETIMEDOUT, or -ECANCELED. */
static int await_death(pid_t child, int control, struct boot end)
{
    CLEANUP_CLOSE int death = pidfd_open(child, 0);
    struct pollfd fds[] = {
        { .fd = death, .events = POLLIN },
        { .fd = control, .events = 0 },
    };

    while (!has_ended(child)) {
        int64_t left = boot_between(clock_now(), end);

        if (left <= 0)
            return -ETIMEDOUT;
        if (death < 0 && left > DEATH_GAP_MS)
            left = DEATH_GAP_MS;
        if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents & POLLHUP)
            return -ECANCELED;
    }
    return -EPIPE;
}

/* What became of the question, by the deadline; the errors of the two above. */
static int await(pid_t child, int socket, int control, struct frame *answer)
{
    struct boot end = boot_add(clock_now(), PROBE_DEADLINE_MS);
    int r = await_answer(socket, control, end, answer);

    return r == -EPIPE ? await_death(child, control, end) : r;
}

static void finish(pid_t child, int r, uint32_t index, struct frame *answer)
{
    char sentence[SENTENCE_SIZE];
    int status = 0;

    clean_up(child, &status);
    if (r == 0)
        return;
    if (r == -EPIPE)
        say_death(sentence, status);
    else if (r == -ETIMEDOUT)
        text_format(sentence, sizeof(sentence),
                    "the plugin was not loaded and checked within %d s; its constructors and "
                    "check() must be quick",
                    PROBE_DEADLINE_MS / 1000);
    else
        text_format(sentence, sizeof(sentence), "the plugin could not be probed: %s", strerror(-r));
    answer_error(answer, index, sentence);
}

void probe_ask(const struct message_probe *question, bool loose, int control, struct frame *answer)
{
    char path[PATH_MAX], sentence[SENTENCE_SIZE];
    CLEANUP_CLOSE int ours = -1;
    struct probe_child child = { .question = question, .loose = loose, .path = path };
    int pair[2], pipe_fds[2];
    pid_t pid;

    if (loose) {
        text_copy(path, sizeof(path), question->plugin_path);
    } else if (loader_check_path(question->plugin_path, path, sentence) < 0) {
        answer_error(answer, question->index, sentence);
        return;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        finish(0, -errno, question->index, answer);
        return;
    }
    ours = pair[0];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        close(pair[1]);
        finish(0, -errno, question->index, answer);
        return;
    }
    child.socket = pair[1];
    child.stop = pipe_fds[0];
    child.parent = getpid();
    pid = fork();
    if (pid == 0)
        probe_child_main(&child);
    close(pair[1]);
    close(pipe_fds[0]);
    finish(pid, pid < 0 ? -EAGAIN : await(pid, ours, control, answer), question->index, answer);
    close(pipe_fds[1]); /* only now: the child's stop pipe is not to become readable */
}

static int answer_next(int control, struct frame *question, struct frame *answer)
{
    struct pollfd room = { .fd = control, .events = POLLOUT };
    struct message_probe m;
    int type = frame_receive(control, question), r;

    if (type == -EAGAIN)
        return 0;
    if (type == 0)
        return -EPIPE;
    if (type < 0)
        return type;
    if (type != MESSAGE_PROBE)
        return -EPROTO;
    r = message_unpack_probe(question, &m);
    if (r < 0)
        return r;
    probe_ask(&m, false, control, answer);
    message_free_params(m.params, m.param_count);
    while ((r = frame_send(control, answer)) == -EAGAIN)
        if (poll(&room, 1, -1) < 0 && errno != EINTR)
            return -errno;
    return r;
}

int probe_main(void)
{
    static struct frame question, answer;
    struct pollfd fd = { .fd = CONTROL_SOCKET, .events = POLLIN };
    int r;

    sandbox_reset_signals();
    if (close_range(CONTROL_SOCKET + 1, ~0U, 0) < 0 ||
        fcntl(CONTROL_SOCKET, F_SETFD, FD_CLOEXEC) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        fprintf(stderr, "rota-guard: it cannot be set up: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    do {
        poll(&fd, 1, -1);
        r = answer_next(CONTROL_SOCKET, &question, &answer);
    } while (r == 0);
    if (r == -EPIPE)
        return EXIT_SUCCESS;
    fprintf(stderr, "rota-guard: the supervisor's message is no PROBE: %s\n", strerror(-r));
    return EXIT_FAILURE;
}
