/* SPDX-License-Identifier: MIT */
#include "guard/try.h"
#include "base/text.h"
#include "base/units.h"
#include "guard/clock.h"
#include "guard/describe.h"
#include "guard/loader.h"
#include "guard/probe.h"
#include "guard/report.h"
#include "guard/run.h"
#include "guard/settings.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rota/plugin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a lease would have besides worst case and grace (the design's A and least M). */
#define START_MS 1000
#define MARGIN_MS 250
/* As a job has it by default. */
#define OUTPUT_LINES 20
/* No exit status: the guard is gone, and did not tell how the run ended. */
#define NO_WORD 256

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signo)
{
    interrupted = signo;
}

static void say(const char *before, const char *text)
{
    char shown[SENTENCE_SIZE];

    fprintf(stderr, "%s%s\n", before, text_escape(shown, sizeof(shown), text, strlen(text)));
}

/* 0, or the exit status where the plugin or its parameters are no good. */
static int check(const struct message_probe *question)
{
    static struct frame frame;
    struct message_probed m;

    /* What a probed file leaves running comes to this process, which kills it. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    probe_ask(question, &frame);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    if (message_unpack_probed(&frame, &m) < 0)
        return EXIT_FAILURE;
    for (uint32_t i = 0; i < m.error_count; i++)
        say("rota-guard: ", m.errors[i].text);
    if (m.error_count == 0)
        return 0;
    return m.loaded ? TRY_EXIT_PARAMS : EXIT_FAILURE;
}

static int64_t wall_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pack_start(struct frame *f, const struct message_probe *question,
                       const struct try_options *options)
{
    struct message_start m = {
        .plugin_path = question->plugin_path,
        .job = question->job,
        .device = "here",
        .turn_ms = wall_now_ms(),
        .attempt = 1,
        .attempts = 1,
        .worst_case_ms = options->worst_case_ms,
        .stop_grace_ms = options->stop_grace_ms,
        .margin_ms = MARGIN_MS,
        .purpose = ROTA_FOR_TRY,
        .setup = question->setup,
        .output_lines = OUTPUT_LINES,
        .params = question->params,
        .param_count = question->param_count,
    };

    m.deadline = boot_add(clock_now(), time_add_ms(START_MS + MARGIN_MS,
                                                   time_add_ms(m.worst_case_ms, m.stop_grace_ms)));
    message_pack_start(f, &m);
}

static int start_guard(pid_t *ret_pid)
{
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    pid = fork();
    if (pid == 0) {
        /* Should the pair stand there already, dup2 changes nothing, and run_main() sets CLOEXEC
         * anew. */
        if (dup2(pair[1], CONTROL_SOCKET) < 0)
            _exit(EXIT_FAILURE);
        _exit(run_main());
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return -EAGAIN;
    }
    *ret_pid = pid;
    return pair[0];
}

static const char *say_end(const struct message_ended *m, char *buf, size_t size)
{
    static const char *const results[] = {
        [ROTA_SUCCEEDED] = "succeeded", [ROTA_NOTHING] = "nothing to do", [ROTA_FAILED] = "failed",
        [ROTA_REFUSED] = "refused",     [ROTA_DECLINED] = "declined",     [ROTA_LOST] = "lost",
    };
    const char *name;

    switch (m->how) {
    case ENDED_RETURNED:
        return m->result >= 0 && m->result <= ROTA_LOST ? results[m->result] : "failed";
    case ENDED_SIGNALLED:
        name = sigabbrev_np(m->code);
        text_format(buf, size, "killed by signal %d (SIG%s)", m->code, name ? name : "?");
        return buf;
    case ENDED_EXITED:
        text_format(buf, size, "ended its process with exit status %d instead of returning",
                    m->code);
        return buf;
    default:
        return "not started";
    }
}

static int print_ended(const struct message_ended *m)
{
    static const char *const stops[] = {
        [STOP_NONE] = "",
        [STOP_OVERRUN] = ", stopped at its worst case",
        [STOP_DEADLINE] = ", stopped at the end of its lease",
        [STOP_ORDERED] = ", stopped by you",
        [STOP_ORPHANED] = "",
    };
    char end[96], took[UNITS_SIZE], shown[SENTENCE_SIZE];

    text_escape(shown, sizeof(shown), m->detail, strlen(m->detail));
    fprintf(stderr, "%s after %s%s%s%s%s\n", say_end(m, end, sizeof(end)),
            units_say_duration(m->ran_ms, took, sizeof(took)), stops[m->stop],
            m->killed ? " and killed after its grace" : "", shown[0] ? ": " : "", shown);
    if (m->leftovers > 0)
        fprintf(stderr, "%u processes outlived the run and were killed\n", m->leftovers);
    if (!m->clean)
        fprintf(stderr, "something that it started cannot be killed\n");
    return m->how == ENDED_RETURNED && (m->result == ROTA_SUCCEEDED || m->result == ROTA_NOTHING)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

static void print_output(struct frame *f)
{
    struct message_output m;

    if (message_unpack_output(f, &m) < 0)
        return;
    if (m.dropped > 0)
        fprintf(stderr, "(%u lines dropped: more than %d a second)\n", m.dropped,
                REPORT_LINES_PER_SECOND);
    if (m.dropped == 0 || m.text[0])
        say(m.stream == 1 ? "  stdout: " : "  stderr: ", m.text);
}

static void print_log(struct frame *f)
{
    static const char *const levels[] = {
        [ROTA_ERR] = "  err: ",   [ROTA_WARNING] = "  warning: ", [ROTA_NOTICE] = "  notice: ",
        [ROTA_INFO] = "  info: ", [ROTA_DEBUG] = "  debug: ",
    };
    struct message_log m;

    if (message_unpack_log(f, &m) == 0 && m.level >= ROTA_ERR && m.level <= ROTA_DEBUG)
        say(levels[m.level], m.text);
}

static void print_progress(struct frame *f)
{
    struct message_progress m;
    char before[32];

    if (message_unpack_progress(f, &m) < 0)
        return;
    if (m.permille < 0)
        text_format(before, sizeof(before), "  progress: ");
    else
        text_format(before, sizeof(before), "  %3d %% ", m.permille / 10);
    say(before, m.text);
}

/* The exit status once the run ended; NO_WORD where its end will not be told; -1: it goes on. */
static int take_frame(int fd, struct frame *f)
{
    struct message_ended ended;
    int type = frame_receive(fd, f);

    switch (type) {
    case MESSAGE_OUTPUT:
        print_output(f);
        return -1;
    case MESSAGE_LOG:
        print_log(f);
        return -1;
    case MESSAGE_PROGRESS:
        print_progress(f);
        return -1;
    case MESSAGE_ENDED:
        return message_unpack_ended(f, &ended) < 0 ? NO_WORD : print_ended(&ended);
    default:
        return type > 0 || type == -EAGAIN ? -1 : NO_WORD;
    }
}

static int follow(int fd, struct frame *f)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    struct message_stop stop = { 0 };
    sigset_t none;
    int status = -1;

    sigemptyset(&none);
    while (status < 0) {
        if (interrupted) {
            interrupted = 0;
            message_pack_stop(f, &stop);
            frame_send(fd, f);
            fprintf(stderr, "asked to stop; it is killed after its grace\n");
        }
        if (ppoll(&wait, 1, NULL, &none) > 0)
            status = take_frame(fd, f);
    }
    return status;
}

/* Blocked but in ppoll(), so that no Ctrl-C is lost between the look at the flag and the wait. */
static void catch_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int run(const struct message_probe *question, const struct try_options *options)
{
    static struct frame frame;
    int fd, status, death;
    pid_t guard = -1;

    catch_interrupts();
    fd = start_guard(&guard);
    if (fd < 0) {
        fprintf(stderr, "rota-guard: no guard could be started: %s\n", strerror(-fd));
        return EXIT_FAILURE;
    }
    pack_start(&frame, question, options);
    status = frame_send(fd, &frame) < 0 ? NO_WORD : follow(fd, &frame);
    close(fd);
    if (waitpid(guard, &death, 0) < 0)
        death = 0;
    if (status != NO_WORD)
        return status;
    fprintf(stderr, "rota-guard: the guard ended with %s %d before it told the run's end\n",
            WIFSIGNALED(death) ? "signal" : "exit status",
            WIFSIGNALED(death) ? WTERMSIG(death) : WEXITSTATUS(death));
    return EXIT_FAILURE;
}

int try_main(const struct try_options *options)
{
    char path[PATH_MAX];
    struct message_probe question = {
        .plugin_path = path,
        .job = "try",
        .setup = { .user = getenv("USER"),
                   .home = getenv("HOME"),
                   .limits = LIMITS_NONE,
                   .credentials = getenv("CREDENTIALS_DIRECTORY") },
    };
    struct param_value *params;
    const char *bad;
    int status, r;

    if (!realpath(options->file, path)) {
        fprintf(stderr, "rota-guard: %s: %s%s\n", options->file, strerror(errno),
                describe_advice(options->file));
        return EXIT_FAILURE;
    }
    r = settings_parse(options->settings, &params, &question.param_count, &bad);
    if (r == -EINVAL) {
        fprintf(stderr, "rota-guard: '%s' is no parameter; write name=value\n", bad);
        return TRY_EXIT_PARAMS;
    }
    if (r < 0) {
        fprintf(stderr, "rota-guard: %s\n", strerror(-r));
        return EXIT_FAILURE;
    }
    question.params = params;
    status = check(&question);
    if (status == 0)
        status = run(&question, options);
    settings_free(params, question.param_count);
    return status;
}
