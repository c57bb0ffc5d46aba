/* SPDX-License-Identifier: MIT */
#include "guard/probe_file.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"
#include "guard/clock.h"
#include "guard/loader.h"
#include "guard/probe.h"
#include "guard/probe_answer.h"
#include "guard/probe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a probed file left running is killed for at most so long. */
#define CLEAN_UP_MS 1000
#define CLEAN_UP_GAP_NS 1000000
/* A stream of deaths must not keep the kill from its turn. */
#define REAPS_PER_TURN 4096
/* Between two looks whether a child is dead, where the kernel has no pidfd to wait for. */
#define DEATH_GAP_MS 20

int probe_file_init(struct probe_file *f, const struct frame *question, bool loose, int control)
{
    int r;

    memcpy(f->first.bytes, question->bytes, question->length);
    f->first.length = question->length;
    f->first.read_at = FRAME_HEADER_SIZE;
    r = message_unpack_probe(&f->first, &f->key);
    if (r < 0)
        return r;
    message_free_params(f->key.params, f->key.param_count);
    f->key.params = NULL;
    f->key.param_count = 0;
    f->loose = loose;
    f->control = control;
    f->pid = 0;
    f->socket = f->stop = -1;
    f->late = 0;
    f->refused = false;
    return 0;
}

static bool is_same_user(const struct message_setup *a, const struct message_setup *b)
{
    return a->switch_user == b->switch_user && a->uid == b->uid && a->gid == b->gid &&
           text_same(a->user, b->user) && text_same(a->home, b->home) &&
           a->group_count == b->group_count &&
           (a->group_count == 0 ||
            memcmp(a->groups, b->groups, a->group_count * sizeof(*a->groups)) == 0);
}

static bool is_same_environment(const struct message_setup *a, const struct message_setup *b)
{
    if (a->environment_count != b->environment_count)
        return false;
    for (uint32_t i = 0; i < a->environment_count; i++)
        if (strcmp(a->environment[i], b->environment[i]) != 0)
            return false;
    return true;
}

/* In what a probe does of it. */
static bool is_same_setup(const struct message_setup *a, const struct message_setup *b)
{
    return is_same_user(a, b) && is_same_environment(a, b) && a->apart == b->apart &&
           a->no_network == b->no_network;
}

bool probe_file_is_of(const struct probe_file *f, const struct message_probe *question)
{
    return text_same(f->key.plugin_path, question->plugin_path) &&
           is_same_setup(&f->key.setup, &question->setup);
}

static bool has_ended(pid_t child)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0;
}

/* 0 and a PROBED in `answer`; -ETIMEDOUT; -EPIPE where the child ended without one, which is told
 * from its death: it may have closed its socket only, and what it left behind may hold it open;
 * -ECANCELED where nobody waits for the answer any more. */
static int await(const struct probe_file *f, struct boot end, struct frame *answer)
{
    CLEANUP_CLOSE int death = pidfd_open(f->pid, 0);
    struct pollfd fds[] = {
        { .fd = f->socket, .events = POLLIN },
        { .fd = f->control, .events = 0 }, /* the hang-up only: the next question may wait there */
        { .fd = death, .events = POLLIN },
    };

    for (;;) {
        bool ended = has_ended(f->pid); /* before the look for what it said */
        int type = frame_receive(f->socket, answer);
        int64_t left = boot_between(clock_now(), end);

        if (type == MESSAGE_PROBED)
            return 0;
        if (type < 0 && type != -EAGAIN && type != -EBADMSG)
            return type;
        if (type == 0)
            fds[0].fd = -1;
        if (ended && (type == 0 || type == -EAGAIN))
            return -EPIPE;
        if (left <= 0)
            return -ETIMEDOUT;
        if (death < 0 && left > DEATH_GAP_MS)
            left = DEATH_GAP_MS;
        if (poll(fds, 3, (int)left) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents & POLLHUP)
            return -ECANCELED;
    }
}

/* Kills all that is left. The child's status, where it is among them; else 0. */
static int clean_up(pid_t child)
{
    const struct timespec gap = { .tv_nsec = CLEAN_UP_GAP_NS };
    struct boot end = boot_add(clock_now(), CLEAN_UP_MS);
    struct tree_death death;
    int status = 0, r = 0;

    do {
        for (int left = REAPS_PER_TURN; left > 0 && (r = tree_reap(&death)) > 0; left--)
            if (death.pid == child)
                status = death.status;
        if (r == -ECHILD)
            break;
        tree_signal(&(struct tree){ .root = getpid() }, SIGKILL);
        nanosleep(&gap, NULL);
    } while (!boot_reached(clock_now(), end));
    return status;
}

/* What was said there and not heard goes first, since descriptors among it could make a close wait;
 * and no more comes. */
static void close_socket(struct probe_file *f)
{
    static struct frame unheard;
    int type;

    shutdown(f->socket, SHUT_RD);
    do
        type = frame_receive(f->socket, &unheard);
    while (type > 0 || type == -EBADMSG);
    if (type != -EPERM) /* else it is closed by this process's end, which does not wait */
        close(f->socket);
}

static int end_child(struct probe_file *f)
{
    int status;

    if (f->pid == 0)
        return 0;
    close_socket(f);
    /* Also where /proc does not show it; what it left outside of its session ends with it then, or
     * with this process. */
    kill(-f->pid, SIGKILL);
    kill(f->pid, SIGKILL);
    status = clean_up(f->pid);
    close(f->stop); /* only now: the child's stop pipe is not to become readable */
    f->socket = f->stop = -1;
    f->pid = 0;
    return status;
}

void probe_file_done(struct probe_file *f)
{
    end_child(f);
    message_free_setup(&f->key.setup);
    f->key = (struct message_probe){ 0 };
}

/* What jobs left behind comes here, and counts as a process until it is reaped. The child is left
 * for the next look at it. */
static void reap_leftovers(const struct probe_file *f)
{
    siginfo_t info = { 0 };

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
           info.si_pid != f->pid) {
        waitpid(info.si_pid, NULL, WNOHANG);
        info.si_pid = 0;
    }
}

static int fork_child(struct probe_file *f, const struct trust_place *place)
{
    struct probe_child child = { .file = &f->key, .loose = f->loose, .place = place };
    int pair[2], pipe_fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        int r = -errno;

        close(pair[0]);
        close(pair[1]);
        return r;
    }
    child.socket = pair[1];
    child.stop = pipe_fds[0];
    child.parent = getpid();
    f->pid = fork();
    if (f->pid == 0)
        probe_child_main(&child);
    close(pair[1]);
    close(pipe_fds[0]);
    if (f->pid < 0) {
        f->pid = 0;
        close(pair[0]);
        close(pipe_fds[1]);
        return -EAGAIN;
    }
    f->socket = pair[0];
    f->stop = pipe_fds[1];
    return 0;
}

/* Ends the child, and fills `answer` by the errors of await(). */
static void give_up(struct probe_file *f, int error, uint32_t index, struct frame *answer)
{
    int status = end_child(f);

    if (error == -EPIPE)
        probe_answer_death(answer, index, status);
    else if (error == -ETIMEDOUT)
        probe_answer_error(answer, index,
                           "the plugin was not loaded and checked within %d s; its constructors "
                           "and check() must be quick",
                           PROBE_DEADLINE_MS / 1000);
    else
        probe_answer_error(answer, index, "the plugin could not be probed: %s", strerror(-error));
}

/* The other jobs of the file get their answer at once. */
static void count_late(struct probe_file *f)
{
    if (++f->late < PROBE_LATE_MAX)
        return;
    probe_answer_error(&f->verdict, 0,
                       "the plugin is not checked for this job, since for %d jobs before it that "
                       "took more than %d s; its check() must be quick",
                       PROBE_LATE_MAX, PROBE_DEADLINE_MS / 1000);
    f->refused = true;
}

/* Starts a child and waits until it has loaded the file. 0, also where the file is refused; else
 * -errno. */
static int load(struct probe_file *f, struct boot end)
{
    struct trust_place place = { 0 };
    char sentence[SENTENCE_SIZE];
    struct message_probed said;
    int r;

    if (loader_find(f->key.plugin_path, f->loose, &place, sentence) < 0) {
        probe_answer_error(&f->verdict, 0, "%s", sentence);
        f->refused = true;
        return 0;
    }
    r = fork_child(f, &place);
    trust_done(&place);
    if (r < 0)
        return r;
    r = await(f, end, &f->verdict);
    if (r == -EPIPE || r == -ETIMEDOUT) {
        give_up(f, r, 0, &f->verdict);
        f->refused = true;
        return 0;
    }
    if (r == 0)
        r = message_unpack_probed(&f->verdict, &said);
    if (r == 0 && !said.loaded) {
        f->refused = true;
        end_child(f);
    }
    return r;
}

/* A child that takes no more questions is replaced: it was good for one job only, or something that
 * an earlier job left behind has ended it. 0, also where the file is refused; else -errno. */
static int send_question(struct probe_file *f, const struct frame *question, struct boot end)
{
    int r;

    if (f->pid != 0) {
        r = frame_send(f->socket, question);
        if (r != -EPIPE)
            return r;
        end_child(f);
    }
    r = load(f, end);
    return r < 0 || f->refused ? r : frame_send(f->socket, question);
}

static void repeat_verdict(struct probe_file *f, uint32_t index, struct frame *answer)
{
    struct message_probed m;

    f->verdict.read_at = FRAME_HEADER_SIZE;
    if (message_unpack_probed(&f->verdict, &m) < 0) {
        probe_answer_error(answer, index, "the plugin could not be probed: its answer is garbled");
        return;
    }
    m.index = index;
    message_pack_probed(answer, &m);
}

void probe_file_ask(struct probe_file *f, const struct frame *question, uint32_t index,
                    struct frame *answer)
{
    struct boot end = boot_add(clock_now(), PROBE_DEADLINE_MS);
    int r = f->refused ? 0 : send_question(f, question, end);

    if (f->refused) {
        repeat_verdict(f, index, answer);
        return;
    }
    if (r == 0)
        r = await(f, end, answer);
    if (r == -ETIMEDOUT)
        count_late(f);
    if (r < 0)
        give_up(f, r, index, answer);
    else
        reap_leftovers(f);
}
