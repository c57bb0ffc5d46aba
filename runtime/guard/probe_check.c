/* SPDX-License-Identifier: MIT */
#include "guard/probe_check.h"
#include "guard/channel.h"
#include "guard/clock.h"
#include "guard/host.h"
#include "guard/probe.h"
#include "guard/probe_answer.h"

#include <time.h>
#include <unistd.h>

/* One a process; check() can come back here by a call of the host that ends it. */
static struct {
    const struct plugin *plugin;
    const struct message_probe *question;
    struct params params;
    struct host host;
    struct problems problems;
    struct frame frame;
} job;

static void answer(void) __attribute__((noreturn));

static void answer(void)
{
    probe_answer_pack(&job.frame, job.question->index, job.plugin, &job.problems);
    frame_send(WORKER_SOCKET, &job.frame); /* no answer waits there before this one: it fits */
    _exit(0);
}

static void ignore_log(int level, const char *text)
{
    (void)level;
    (void)text;
}

static void ignore_progress(double fraction, const char *text)
{
    (void)fraction;
    (void)text;
}

static void give_up_for_bug(const char *sentence) __attribute__((noreturn));

static void give_up_for_bug(const char *sentence)
{
    problems_add(&job.problems, -1, "%s", sentence);
    answer();
}

static void describe_run(struct rota_run *run)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    run->job = job.question->job;
    run->device = "";
    run->turn_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    run->attempt = run->attempts = 1;
    run->purpose = ROTA_FOR_CHECK;
    run->stop_fd = WORKER_STOP;
}

static void call_check(void)
{
    static const struct host_port port = { .log = ignore_log,
                                           .progress = ignore_progress,
                                           .give_up = give_up_for_bug };
    const struct rota_plugin *contract = &job.plugin->contract;
    struct boot end = boot_add(clock_now(), PROBE_DEADLINE_MS);
    char said[HOST_FAIL_SIZE];
    int result;

    describe_run(&job.host.run);
    atomic_store(&job.host.overrun_ms, end.ms);
    atomic_store(&job.host.deadline_ms, end.ms);
    host_init(&job.host, &job.params, &port);
    result = host_call(&job.host, contract->check, "check");
    if (result == ROTA_SUCCEEDED)
        return;
    host_fail_text(&job.host, said);
    if (said[0])
        problems_add(&job.problems, -1, "%s", said);
    else
        problems_add(&job.problems, -1,
                     "plugin '%s' does not accept these parameters, and does not say why",
                     contract->name);
}

void probe_check_main(const struct plugin *plugin, const struct message_probe *question, bool loose)
{
    job.plugin = plugin;
    job.question = question;
    if (params_bind(&job.params, plugin, question, loose, &job.problems) == 0 &&
        plugin->contract.check)
        call_check();
    answer();
}
