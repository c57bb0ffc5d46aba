/* SPDX-License-Identifier: MIT */
#include "guard/probe_child.h"
#include "base/cleanup.h"
#include "guard/channel.h"
#include "guard/description.h"
#include "guard/probe_answer.h"
#include "guard/probe_check.h"
#include "guard/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* One a process. */
static struct {
    struct plugin plugin;
    bool loose;
    bool alone; /* good for one job only */
    struct frame question, answer;
} child;

static void send_answer(void)
{
    if (frame_send(WORKER_SOCKET, &child.answer) < 0)
        _exit(0); /* the guard has left, or a constructor took the socket away */
}

/* From a description the same parameters are checked by the same code, without any of the plugin's.
 * Not by hand: what is tried is run next. The name that was asked for decides: a description that
 * is a link to a plugin must not become code. */
static int load_file(const struct probe_child *c, struct problems *problems)
{
    struct trust_place place = *c->place;
    char sentence[SENTENCE_SIZE];
    int r;

    if (place.folder >= 0)
        place.folder = SANDBOX_FOLDER;
    if (!child.loose && description_is_named(c->file->plugin_path))
        return description_load(&place, &child.plugin, problems);
    r = loader_load(&place, &child.plugin, sentence);
    if (r < 0)
        problems_add(problems, -1, "%s", sentence);
    if (place.folder >= 0)
        close(place.folder);
    return r;
}

/* Where that cannot be told, there may be some. */
static bool has_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;

    if (!tasks)
        return true;
    while ((entry = readdir(tasks)))
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count != 1;
}

static int set_up(const struct probe_child *c, struct problems *problems)
{
    const struct limits_ground ground = { .may_raise = true };
    const struct limits none = LIMITS_NONE;
    struct message_setup setup = c->file->setup;
    struct limits_plan limits;
    const struct sandbox sandbox = {
        .parent = c->parent,
        .fds = { -1, -1, -1, c->socket, c->stop, c->place->folder },
        .setup = &setup,
        .limits = &limits,
        .may_be_dumped = c->loose,
    };
    const char *step;
    int r;

    sandbox_reset_signals();
    r = sandbox_place_descriptors(&sandbox);
    if (r < 0)
        _exit(1);
    /* Its time is short, and a file is loaded once for jobs of any limits. A working_dir that is
     * not there yet may be by the time of the run. */
    limits_plan(&none, &ground, &limits);
    setup.working_dir = NULL;
    r = sandbox_enter(&sandbox, &step);
    if (r < 0)
        problems_add(problems, -1, "the probe cannot %s: %s", step, strerror(-r));
    return r < 0 ? r : load_file(c, problems);
}

/* The job's socket takes the place of this process's own, to which the plugin has no way then. */
static void check_here(const struct message_probe *question, pid_t parent, int socket)
    __attribute__((noreturn));

static void check_here(const struct message_probe *question, pid_t parent, int socket)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup3(socket, WORKER_SOCKET, O_CLOEXEC) < 0)
        _exit(1);
    close(socket);
    probe_check_main(&child.plugin, question, child.loose);
}

/* The answer, or how the job's process ended without one. What it left in its process group ends
 * here; what has left that as well is the guard's to end. Should it never end, the guard ends this
 * process too. */
static void collect(pid_t job, int socket, uint32_t index)
{
    siginfo_t info;
    int status = 0, type, r;

    while ((r = waitid(P_PID, (id_t)job, &info, WEXITED | WNOWAIT)) < 0 && errno == EINTR)
        continue;
    if (r == 0) /* else a constructor has it reaped, and the number may be another's */
        kill(-job, SIGKILL);
    /* It is told of where it stops too, if it had this process trace it. */
    while ((waitpid(job, &status, 0) < 0 && errno == EINTR) || WIFSTOPPED(status))
        continue;
    do
        type = frame_receive(socket, &child.answer);
    while (type > 0 && type != MESSAGE_PROBED);
    if (type != MESSAGE_PROBED)
        probe_answer_death(&child.answer, index, status);
}

static void say_no_process(int error, uint32_t index)
{
    probe_answer_error(&child.answer, index, "the plugin could not be probed: %s", strerror(error));
}

static void check_apart(const struct message_probe *question)
{
    CLEANUP_CLOSE int ours = -1;
    pid_t self = getpid(), job;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        say_no_process(errno, question->index);
        return;
    }
    ours = pair[0];
    job = fork();
    if (job == 0) {
        close(ours);
        check_here(question, self, pair[1]);
    }
    close(pair[1]);
    if (job < 0)
        say_no_process(EAGAIN, question->index);
    else
        collect(job, ours, question->index);
}

static void answer_next(void)
{
    struct pollfd fd = { .fd = WORKER_SOCKET, .events = POLLIN };
    struct message_probe question;
    int type;

    if (poll(&fd, 1, -1) < 0 && errno != EINTR)
        _exit(1);
    type = frame_receive(WORKER_SOCKET, &child.question);
    if (type == -EAGAIN)
        return;
    if (type != MESSAGE_PROBE || message_unpack_probe(&child.question, &question) < 0)
        _exit(0);
    if (child.alone) {
        shutdown(WORKER_SOCKET, SHUT_RD); /* the next question does not get in */
        probe_check_main(&child.plugin, &question, child.loose);
    }
    check_apart(&question);
    message_free_params(question.params, question.param_count);
    message_free_setup(&question.setup);
    send_answer();
}

void probe_child_main(const struct probe_child *c)
{
    static struct problems problems;
    bool loaded;

    child.loose = c->loose;
    loaded = set_up(c, &problems) == 0;
    probe_answer_pack(&child.answer, 0, loaded ? &child.plugin : NULL, &problems);
    /* A fork has none of the threads that a constructor started (as the run-time of some languages
     * does), and a check() that needs them would wait for ever. */
    child.alone = loaded && has_threads();
    send_answer();
    if (!loaded)
        _exit(0);
    for (;;)
        answer_next();
}
