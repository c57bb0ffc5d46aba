/* SPDX-License-Identifier: MIT */
#include "guard/probe_child.h"
#include "base/text.h"
#include "guard/channel.h"
#include "guard/clock.h"
#include "guard/host.h"
#include "guard/probe.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* One a process; check() can come back here by a call of the host that ends it. */
static struct {
    const struct message_probe *question;
    struct plugin plugin;
    struct params params;
    struct host host;
    struct problems problems;
    bool loaded;
    struct frame frame;
} child;

/* What is shown of a plugin's own texts; they may be of any length, and a frame is not. */
#define VERSION_SIZE 64
#define SUMMARY_SIZE 512

static void answer(void) __attribute__((noreturn));

static void answer(void)
{
    struct message_probed m = { .index = child.question->index, .loaded = child.loaded };
    char version[VERSION_SIZE], summary[SUMMARY_SIZE];

    if (child.loaded) {
        text_copy(version, sizeof(version), child.plugin.contract.version);
        text_copy(summary, sizeof(summary), child.plugin.contract.summary);
        m.name = child.plugin.contract.name;
        m.version = version;
        m.summary = summary;
    }
    for (uint32_t i = 0; i < child.problems.count; i++)
        m.errors[m.error_count++] = (struct probe_error){ .param = child.problems.param[i],
                                                          .text = child.problems.text[i] };
    message_pack_probed(&child.frame, &m);
    frame_send(WORKER_SOCKET, &child.frame); /* the first frame on a fresh socket: it fits */
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
    problems_add(&child.problems, -1, "%s", sentence);
    answer();
}

static void describe_run(struct rota_run *run)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    run->job = child.question->job;
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
    const struct rota_plugin *contract = &child.plugin.contract;
    struct boot end = boot_add(clock_now(), PROBE_DEADLINE_MS);
    char said[HOST_FAIL_SIZE];
    int result;

    describe_run(&child.host.run);
    child.host.overrun_at = end;
    atomic_store(&child.host.deadline_ms, end.ms);
    host_init(&child.host, &child.params, &port);
    result = host_call(&child.host, contract->check, "check");
    if (result == ROTA_SUCCEEDED)
        return;
    host_fail_text(&child.host, said);
    if (said[0])
        problems_add(&child.problems, -1, "%s", said);
    else
        problems_add(&child.problems, -1,
                     "plugin '%s' does not accept these parameters, and does not say why",
                     contract->name);
}

void probe_child_main(const struct probe_child *c)
{
    const struct sandbox sandbox = {
        .parent = c->parent,
        .fds = { -1, -1, -1, c->socket, c->stop },
        .fd_count = 5,
        .switch_user = c->question->switch_user,
        .uid = c->question->uid,
        .gid = c->question->gid,
        .user = c->question->user,
        .home = c->question->home,
    };
    char sentence[SENTENCE_SIZE];
    const char *step;
    int r;

    child.question = c->question;
    r = sandbox_place_descriptors(&sandbox);
    if (r < 0)
        _exit(1);
    r = sandbox_enter(&sandbox, &step);
    if (r < 0) {
        problems_add(&child.problems, -1, "the probe cannot %s: %s", step, strerror(-r));
        answer();
    }
    if (loader_load(c->path, &child.plugin, sentence) < 0) {
        problems_add(&child.problems, -1, "%s", sentence);
        answer();
    }
    child.loaded = true;
    r = params_bind(&child.params, &child.plugin, c->question, c->loose, &child.problems);
    if (r == 0 && child.plugin.contract.check)
        call_check();
    answer();
}
