/* SPDX-License-Identifier: MIT */
#include "guard/worker.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "guard/channel.h"
#include "guard/clock.h"
#include "guard/credential.h"
#include "guard/host.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The thread's stack: it calls poll, recv and timer_settime. Its frame is not on it. */
#define KEEPER_STACK_SIZE (32L * 1024)

/* One worker a process: its signal handler and its thread have nowhere else to find it. */
static struct {
    struct host host;
    struct plugin plugin;
    struct params params;
    timer_t backstop;
    pid_t pid;
    atomic_llong looked_ms; /* at the stop pipe, where there is no keeper */
    struct frame frame;     /* the keeper's */
} worker;

static void leave(enum ended_how how, int result, const char *detail, int status)
    __attribute__((noreturn));

/* A plugin may have forked without exec, and its child come here: only the worker speaks for the
 * run. */
static void leave(enum ended_how how, int result, const char *detail, int status)
{
    if (getpid() == worker.pid)
        channel_ended(how, result, detail);
    FAULT_POINT(worker_told_its_result);
    _exit(status);
}

static void give_up_for_bug(const char *sentence) __attribute__((noreturn));

static void give_up_for_bug(const char *sentence)
{
    fflush(NULL);
    leave(ENDED_EXITED, 0, sentence, HOST_EXIT_BUG);
}

static void on_sigterm(int signo)
{
    (void)signo;
    atomic_store(&worker.host.stopping, true);
}

/* Without SA_RESTART: a plugin that sleeps in a system call comes back with EINTR and can look at
 * should_stop. An exec gives a child of it the default again. */
static void catch_sigterm(void)
{
    struct sigaction action = { .sa_handler = on_sigterm };

    sigaction(SIGTERM, &action, NULL);
}

/* Only the guard writes there, and only what the supervisor confirmed. */
static void take_deadline(void)
{
    struct message_deadline m;

    if (message_unpack_deadline(&worker.frame, &m) < 0 ||
        m.deadline.ms <= atomic_load(&worker.host.deadline_ms))
        return;
    atomic_store(&worker.host.deadline_ms, m.deadline.ms);
    clock_backstop_set(worker.backstop, m.deadline);
}

/* Moves the backstop and sees the stop. Ends where the guard is gone, or the plugin closed the
 * descriptors: then no renewal is heard, and the backstop stays where it is, which is safe. */
static void *keeper(void *unused)
{
    struct pollfd fds[] = {
        { .fd = WORKER_SOCKET, .events = POLLIN },
        { .fd = WORKER_STOP, .events = POLLIN },
    };
    int type;

    (void)unused;
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (fds[1].revents) {
            if (channel_is_stopped())
                atomic_store(&worker.host.stopping, true);
            fds[1].fd = -1;
        }
        if (!fds[0].revents)
            continue;
        if (!channel_is_open())
            return NULL;
        type = frame_receive(WORKER_SOCKET, &worker.frame);
        if (type == MESSAGE_DEADLINE)
            take_deadline();
        else if (type == 0 || (type < 0 && type != -EAGAIN && type != -EBADMSG))
            return NULL;
    }
}

/* The least that is accepted differs by architecture, and by what the processor has to save. */
static size_t keeper_stack_size(void)
{
    long least = sysconf(_SC_THREAD_STACK_MIN);

    return (size_t)(least > KEEPER_STACK_SIZE ? least : KEEPER_STACK_SIZE);
}

static int start_keeper(void)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    int r;

    r = pthread_attr_init(&attributes);
    if (r != 0)
        return -r;
    /* Signals are for the plugin's thread: a blocking call of it is to be interrupted. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_attr_setstacksize(&attributes, keeper_stack_size());
    if (r == 0)
        r = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (r == 0)
        r = pthread_create(&thread, &attributes, keeper, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -r;
}

/* A run that has to be over before its lease's first end has no use for a later one: no keeper is
 * needed, which is a seventh of what a short run costs. */
static bool may_be_renewed(const struct worker_setup *setup)
{
    const struct message_start *start = setup->start;
    int64_t longest =
        start->worst_case_ms > start->max_runtime_ms ? start->worst_case_ms : start->max_runtime_ms;

    return boot_add(start->deadline, -start->stop_grace_ms).ms <
           boot_add(setup->started, longest).ms;
}

/* Where there is no keeper, for a plugin that keeps SIGTERM away from itself. It may ask in its
 * innermost loop: one look a millisecond will do. Async-signal-safe. */
static void look_for_stop(void)
{
    int64_t now_ms = clock_now().ms;
    int before = errno;

    if (atomic_exchange(&worker.looked_ms, now_ms) != now_ms && channel_is_stopped())
        atomic_store(&worker.host.stopping, true);
    errno = before;
}

static int arm_backstop(const struct message_start *start)
{
    int r = clock_backstop_new(&worker.backstop);

    return r < 0 ? r : clock_backstop_set(worker.backstop, start->deadline);
}

static void describe_run(const struct worker_setup *setup)
{
    const struct message_start *start = setup->start;
    struct host *h = &worker.host;

    h->run.job = start->job;
    h->run.device = start->device;
    h->run.turn_ms = start->turn_ms;
    h->run.fence = (uint64_t)start->fence;
    h->run.attempt = start->attempt;
    h->run.attempts = start->attempts;
    h->run.purpose = start->purpose;
    h->run.stop_fd = WORKER_STOP;
    h->stop_grace_ms = start->stop_grace_ms;
    h->started = setup->started;
    h->worst_case_ms = start->worst_case_ms;
    h->max_runtime_ms = start->max_runtime_ms;
    atomic_store(&h->overrun_ms, boot_add(setup->started, start->worst_case_ms).ms);
    atomic_store(&h->deadline_ms, start->deadline.ms);
}

/* The probe, which has no limits, could load it. */
static void tell_tight_memory(const struct worker_setup *setup, char sentence[SENTENCE_SIZE])
{
    size_t length = strlen(sentence);

    if (setup->sandbox.limits->is_set[LIMIT_MEMORY])
        text_format(sentence + length, SENTENCE_SIZE - length,
                    "; its limits.memory may be too small");
}

static void load(const struct worker_setup *setup)
{
    const struct message_start *start = setup->start;
    const struct message_probe given = { .params = start->params,
                                         .param_count = start->param_count };
    struct trust_place file = *setup->plugin;
    char sentence[SENTENCE_SIZE];
    static struct problems problems; /* touched only where there are any */

    if (file.folder >= 0)
        file.folder = SANDBOX_FOLDER;
    if (loader_load(&file, &worker.plugin, sentence) < 0) {
        tell_tight_memory(setup, sentence);
        leave(ENDED_UNLOADABLE, 0, sentence, 0);
    }
    if (file.folder >= 0)
        close(file.folder);
    if (params_bind(&worker.params, &worker.plugin, &given, start->purpose == ROTA_FOR_TRY,
                    &problems) < 0)
        leave(ENDED_UNLOADABLE, 0, problems.text[0], 0);
}

static int prepare(const struct worker_setup *setup, const char **ret_step)
{
    int r;

    *ret_step = "arrange its descriptors";
    r = sandbox_place_descriptors(&setup->sandbox);
    if (r < 0)
        return r;
    FAULT_POINT(worker_placed_its_descriptors);
    channel_open(); /* from here on the guard hears why it ends */
    /* As the guard's user: the kernel counts timers as signals that wait, of which another process
     * of the job's user may have all. */
    *ret_step = "arm its timer";
    r = arm_backstop(setup->start);
    if (r < 0)
        return r;
    FAULT_POINT(worker_armed_its_timer);
    /* Of rotad's user, which it is no more behind the next step. */
    credential_read(setup->start->setup.credentials, setup->start->params,
                    setup->start->param_count);
    r = sandbox_enter(&setup->sandbox, ret_step);
    if (r < 0)
        return r;
    FAULT_POINT(worker_entered_its_sandbox);
    catch_sigterm();
    r = may_be_renewed(setup) ? start_keeper() : 0;
    *ret_step = r == -EAGAIN ? "start its thread; see limits.processes and limits.memory"
                             : "start its thread";
    return r;
}

void worker_main(const struct worker_setup *setup)
{
    const struct host_port port = { .log = channel_log,
                                    .progress = channel_progress,
                                    .look = may_be_renewed(setup) ? NULL : look_for_stop,
                                    .give_up = give_up_for_bug };
    char sentence[SENTENCE_SIZE], said[HOST_FAIL_SIZE];
    const char *step;
    int r;

    FAULT_POINT(worker_forked);
    worker.pid = getpid();
    describe_run(setup);
    r = prepare(setup, &step);
    if (r < 0) {
        text_format(sentence, sizeof(sentence), "the worker cannot %s: %s", step, strerror(-r));
        leave(ENDED_UNSTARTED, 0, sentence, 1);
    }
    FAULT_POINT(worker_started_its_thread);
    load(setup);
    FAULT_POINT(worker_loaded);
    /* Whoever was asked while the plugin was loaded is not asked again. */
    if (atomic_load(&worker.host.stopping) || channel_is_stopped())
        leave(ENDED_RETURNED, ROTA_DECLINED, "stopped before it began", 0);
    host_init(&worker.host, &worker.params, &port);
    r = host_call(&worker.host, worker.plugin.contract.run, "run");
    FAULT_POINT(worker_returned);
    fflush(NULL);
    host_fail_text(&worker.host, said);
    leave(ENDED_RETURNED, r, said, 0);
}
