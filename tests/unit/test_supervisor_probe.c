/* SPDX-License-Identifier: MIT
 * The probe against guards that behave well and badly. The guard here is a fork of this program,
 * which does what the plugin's name says; PROBE_SILENCE_MS is short in this build. */
#include "base/text.h"
#include "ipc/messages.h"
#include "supervisor/probe.h"
#include "supervisor/process.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 8
#define DEADLINE_US 20000000

struct scene {
    sd_event *event;
    struct probe *probe;
    struct config config;
    struct job_config jobs[JOBS_MAX];
    char *said[JOBS_MAX]; /* the problems of each job, one a line */
    int param[JOBS_MAX];
    unsigned done;
    unsigned alive, most_alive, started;
    int spawn_error;
    bool stillborn; /* guards die before they can be asked */
    bool guard_has_child;
};

static struct scene scene;

/* In every question. */
static const struct worker_user job_user = {
    .other = true, .user = { .uid = 4711, .gid = 4712, .name = "rota-job", .home = "/home/job" }
};
static const struct setup_env setup = { .user = &job_user };

/* The guard side. */

static struct frame guard_frame;

static bool be(const struct message_probe *m, const char *behaviour)
{
    return strcmp(m->plugin_path, behaviour) == 0;
}

static void misbehave(const struct message_probe *m)
{
    if (be(m, "crash")) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (be(m, "quit") || (be(m, "quits after two") && m->index > 3))
        _exit(3);
    if (be(m, "hangs with a child") && fork() == 0)
        prctl(PR_SET_PDEATHSIG, 0);
    if (be(m, "hang") || be(m, "hangs with a child"))
        for (;;)
            pause();
    if (be(m, "mute")) {
        close(3);
        for (;;)
            pause();
    }
    if (be(m, "sees the user") &&
        (m->setup.switch_user != user_may_switch() || m->setup.uid != 4711 ||
         m->setup.gid != 4712 || strcmp(m->setup.user, "rota-job") != 0 ||
         strcmp(m->setup.home, "/home/job") != 0))
        _exit(8);
    if (be(m, "noise"))
        send(3, "noise", 5, MSG_NOSIGNAL);
}

static void answer(const struct message_probe *m)
{
    struct message_probed reply = {
        .index = m->index, .loaded = true, .name = "x", .version = "1", .summary = "s"
    };

    if (be(m, "of another job"))
        reply.index += 1;
    if (be(m, "unloadable")) {
        reply.loaded = false;
        reply.errors[reply.error_count++] = (struct probe_error){ -1, "it has no\nrota_plugin" };
    }
    if (be(m, "picky")) {
        reply.errors[reply.error_count++] = (struct probe_error){ 1, "second is wrong" };
        reply.errors[reply.error_count++] = (struct probe_error){ 99, "far is wrong" };
    }
    message_pack_probed(&guard_frame, &reply);
    if (frame_send(3, &guard_frame) < 0)
        _exit(4);
}

static void be_guard(void)
{
    static struct frame question;
    struct pollfd readable = { .fd = 3, .events = POLLIN };
    struct message_probe m;
    bool lingers = false;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (poll(&readable, 1, -1) == 1 && frame_receive(3, &question) == MESSAGE_PROBE) {
        if (message_unpack_probe(&question, &m) < 0)
            _exit(5);
        lingers = be(&m, "lingers");
        misbehave(&m);
        answer(&m);
        if (be(&m, "answers and dies"))
            _exit(6);
        message_free_params(m.params, m.param_count);
        message_free_setup(&m.setup);
    }
    while (lingers)
        pause();
    _exit(0);
}

/* Until a child is dead; it is not reaped. */
static void wait_for_a_death(void)
{
    siginfo_t info;

    assert_return_code(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), errno);
}

/* What probe.c calls. */

int process_spawn_guard(const char *guard_path, const char *mode, const char *name, int *ret_fd,
                        pid_t *ret_pid)
{
    int pair[2];
    pid_t pid;

    (void)name;
    assert_string_equal(guard_path, "the guard");
    assert_string_equal(mode, "--probe");
    if (scene.spawn_error)
        return scene.spawn_error;
    assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
                       errno);
    pid = fork();
    assert_return_code(pid, errno);
    if (pid == 0) {
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        dup2(pair[1], 3);
        close_range(4, ~0u, 0);
        if (scene.stillborn)
            _exit(7);
        be_guard();
    }
    close(pair[1]);
    if (scene.stillborn)
        wait_for_a_death();
    *ret_fd = pair[0];
    *ret_pid = pid;
    scene.started++;
    scene.alive++;
    if (scene.alive > scene.most_alive)
        scene.most_alive = scene.alive;
    return 0;
}

const char *process_guard_path(void)
{
    return "the guard";
}

int config_job_problem(struct config *c, struct job_config *job, int param, const char *format, ...)
{
    size_t i = (size_t)(job - c->jobs);
    char *text, *all;
    va_list args;

    va_start(args, format);
    text = text_vprint(format, args);
    va_end(args);
    assert_non_null(text);
    all = text_print("%s%s\n", scene.said[i] ? scene.said[i] : "", text);
    assert_non_null(all);
    free(scene.said[i]);
    free(text);
    scene.said[i] = all;
    scene.param[i] = param;
    job->invalid = true;
    return 0;
}

const char *config_job_probe_path(const struct config *c, const struct job_config *job)
{
    (void)c;
    return job->invalid ? NULL : job->plugin_path;
}

/* The test side. */

static int on_child(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    pid_t pid;
    int status;

    (void)source;
    (void)info;
    (void)context;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        scene.alive--;
        if (!probe_child_ended(scene.probe, pid, status))
            assert_true(scene.guard_has_child);
        assert_false(probe_child_ended(scene.probe, pid, status));
    }
    return 0;
}

static void on_done(void *context, struct config *config)
{
    assert_ptr_equal(context, &scene);
    assert_ptr_equal(config, &scene.config);
    scene.done++;
}

static int on_late(sd_event_source *source, uint64_t due_us, void *context)
{
    (void)source;
    (void)due_us;
    (void)context;
    fail_msg("the probe has no end");
    return 0;
}

static void add_job(const char *plugin_path)
{
    static const struct param_value params[] = {
        { .name = "first", .kind = PARAM_TEXT, .text = "1" },
        { .name = "second", .kind = PARAM_TEXT, .text = "2" },
    };
    static struct job_setup plain = { .network = true, .limits = LIMITS_NONE };
    struct job_config *job = &scene.jobs[scene.config.job_count++];

    *job = (struct job_config){ .plugin = (char *)(uintptr_t)plugin_path,
                                .plugin_path = (char *)(uintptr_t)plugin_path,
                                .params = (struct param_value *)(uintptr_t)params,
                                .param_count = 2,
                                .setup = &plain };
    job->name = job->plugin;
}

static int begin(void **state)
{
    sigset_t child;

    (void)state;
    memset(&scene, 0, sizeof(scene));
    scene.config.jobs = scene.jobs;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    if (sd_event_new(&scene.event) < 0 ||
        sd_event_add_signal(scene.event, NULL, SIGCHLD, on_child, NULL) < 0)
        return -1;
    return sd_event_add_time_relative(scene.event, NULL, CLOCK_MONOTONIC, DEADLINE_US, 1, on_late,
                                      NULL) < 0;
}

/* Nothing stays: no process, no descriptor that the next test would meet. */
static int end(void **state)
{
    (void)state;
    probe_free(scene.probe);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    sd_event_unref(scene.event);
    for (int i = 0; i < JOBS_MAX; i++)
        free(scene.said[i]);
    return 0;
}

static void start(void)
{
    const struct probe_env env = {
        .event = scene.event, .setup = &setup, .done = on_done, .context = &scene
    };

    assert_return_code(probe_new(&env, &scene.config, &scene.probe), 0);
    assert_int_equal(scene.started, 0);
    assert_int_equal(scene.done, 0);
}

/* Until done, and all guards are reaped. */
static void run(void)
{
    start();
    while (scene.done == 0 || scene.alive > 0)
        assert_return_code(sd_event_run(scene.event, UINT64_MAX), 0);
    while (sd_event_run(scene.event, 0) > 0)
        continue;
    assert_int_equal(scene.done, 1);
}

static void assert_said(size_t job, const char *part)
{
    if (!scene.said[job] || !strstr(scene.said[job], part))
        fail_msg("'%s' is not in '%s'", part, scene.said[job] ? scene.said[job] : "nothing");
}

static void test_good_plugins(void **state)
{
    (void)state;
    add_job("good");
    add_job("good");
    add_job("also good");
    add_job("sees the user");
    add_job("skipped");
    scene.jobs[4].invalid = true;
    scene.jobs[4].plugin_path = NULL;
    run();
    assert_int_equal(scene.started, 3); /* one a file */
    assert_int_equal(scene.most_alive, PROBE_GUARDS_MAX);
    for (int i = 0; i < 5; i++)
        assert_null(scene.said[i]);
}

static void test_no_jobs(void **state)
{
    (void)state;
    run();
    assert_int_equal(scene.started, 0);
}

static void test_what_the_guard_says(void **state)
{
    (void)state;
    add_job("unloadable");
    add_job("picky");
    add_job("good");
    run();
    assert_string_equal(scene.said[0], "it has no\\x0arota_plugin\n");
    assert_int_equal(scene.param[0], -1);
    assert_string_equal(scene.said[1], "second is wrong\nfar is wrong\n");
    assert_int_equal(scene.param[1], -1); /* of the last */
    assert_null(scene.said[2]);
}

static void test_guards_that_die(void **state)
{
    (void)state;
    add_job("crash");
    add_job("quit");
    add_job("quits after two");
    add_job("quits after two");
    add_job("quits after two");
    add_job("good");
    run();
    assert_said(0, "plugin 'crash' could not be checked: rota-guard was ended by signal 11");
    assert_said(1, "plugin 'quit' could not be checked: rota-guard ended with exit status 3");
    assert_null(scene.said[2]);
    assert_null(scene.said[3]);
    assert_said(4, "exit status 3");
    assert_null(scene.said[5]);
}

/* Its death is heard of before its answer is read; the answer still counts. */
static void test_a_guard_that_answers_and_dies(void **state)
{
    (void)state;
    add_job("answers and dies");
    start();
    while (scene.started == 0)
        assert_return_code(sd_event_run(scene.event, UINT64_MAX), 0);
    wait_for_a_death();
    assert_int_equal(on_child(NULL, NULL, NULL), 0);
    while (sd_event_run(scene.event, 0) > 0)
        continue;
    assert_int_equal(scene.done, 1);
    assert_null(scene.said[0]);
}

static void test_a_guard_that_is_dead_before_the_question(void **state)
{
    (void)state;
    scene.stillborn = true;
    add_job("good");
    run();
    assert_said(0, "rota-guard ended with exit status 7");
}

static void test_guards_that_hang(void **state)
{
    (void)state;
    add_job("hang");
    add_job("mute");
    add_job("lingers");
    add_job("good");
    run();
    assert_said(0, "rota-guard gave no answer within");
    assert_said(1, "rota-guard gave no answer within");
    assert_null(scene.said[2]); /* it had answered: only its end was late */
    assert_null(scene.said[3]);
}

static void test_guards_that_talk_nonsense(void **state)
{
    (void)state;
    add_job("noise");
    add_job("of another job");
    add_job("good");
    run();
    assert_said(0, "rota-guard sent something else than an answer");
    assert_said(1, "rota-guard sent something else than an answer");
    assert_null(scene.said[2]);
}

static void test_no_guard(void **state)
{
    (void)state;
    scene.spawn_error = -ENOENT;
    add_job("good");
    add_job("also good");
    add_job("and this");
    run();
    for (size_t i = 0; i < 3; i++)
        assert_said(i, "the guard cannot be started: No such file or directory");
}

static void test_params_that_are_too_long(void **state)
{
    char *text = calloc(1, FRAME_MAX);
    struct param_value params[2];

    (void)state;
    assert_non_null(text);
    memset(text, 'a', FRAME_MAX - 1);
    add_job("good");
    add_job("good");
    memcpy(params, scene.jobs[0].params, sizeof(params));
    params[1].text = text;
    scene.jobs[0].params = params;
    run();
    assert_said(0, "params and environment are longer than 95 KiB together");
    assert_null(scene.said[1]);
    free(text);
}

/* A question that fits exactly would be a start that does not. */
static void test_a_start_has_room_where_a_question_had(void **state)
{
    char *text = calloc(1, FRAME_MAX);
    struct param_value params[2];

    (void)state;
    assert_non_null(text);
    memset(text, 'a', FRAME_MAX - 700);
    add_job("good");
    memcpy(params, scene.jobs[0].params, sizeof(params));
    params[1].text = text;
    scene.jobs[0].params = params;
    run();
    assert_said(0, "params and environment are longer than 95 KiB together");
    free(text);
}

/* What a guard that hangs has below it is no longer there once the jobs are told. */
static void test_what_is_below_a_guard_that_hangs(void **state)
{
    (void)state;
    assert_return_code(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), errno);
    scene.guard_has_child = true;
    add_job("hangs with a child");
    start();
    while (scene.done == 0)
        assert_return_code(sd_event_run(scene.event, UINT64_MAX), 0);
    assert_said(0, "rota-guard gave no answer within");
    /* Guard and child come here to be reaped: this would hang for ever if one were alive. */
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

static void test_freed_while_it_runs(void **state)
{
    (void)state;
    add_job("hang");
    add_job("good");
    start();
    while (scene.started < 2)
        assert_return_code(sd_event_run(scene.event, UINT64_MAX), 0);
    probe_free(scene.probe);
    scene.probe = NULL;
    assert_int_equal(scene.done, 0);
    /* Would hang here for ever if it had left one alive. */
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good_plugins, begin, end),
        cmocka_unit_test_setup_teardown(test_no_jobs, begin, end),
        cmocka_unit_test_setup_teardown(test_what_the_guard_says, begin, end),
        cmocka_unit_test_setup_teardown(test_guards_that_die, begin, end),
        cmocka_unit_test_setup_teardown(test_a_guard_that_answers_and_dies, begin, end),
        cmocka_unit_test_setup_teardown(test_a_guard_that_is_dead_before_the_question, begin, end),
        cmocka_unit_test_setup_teardown(test_guards_that_hang, begin, end),
        cmocka_unit_test_setup_teardown(test_guards_that_talk_nonsense, begin, end),
        cmocka_unit_test_setup_teardown(test_no_guard, begin, end),
        cmocka_unit_test_setup_teardown(test_params_that_are_too_long, begin, end),
        cmocka_unit_test_setup_teardown(test_a_start_has_room_where_a_question_had, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_below_a_guard_that_hangs, begin, end),
        cmocka_unit_test_setup_teardown(test_freed_while_it_runs, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
