/* SPDX-License-Identifier: MIT */
#include "supervisor/probe.h"

#include "base/text.h"
#include "base/units.h"
#include "ipc/frame.h"
#include "ipc/messages.h"
#include "supervisor/leftovers.h"
#include "supervisor/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Lateness that a deadline of seconds bears, for fewer wake-ups. */
#define TIMER_ACCURACY_US 100000
/* What a START may have besides what a PROBE has: what was accepted must be fit to be started. */
#define START_SPARE 1024

/* One question is out at a time, so a guard's socket always has room, and the answer needs no
 * matching. */
enum guard_state {
    GUARD_WAITING, /* for its turn */
    GUARD_ASKED,   /* a question is out */
    GUARD_ENDING,  /* every job has its answer; the process is about to exit */
    GUARD_OVER
};

struct guard {
    struct probe *probe;
    const char *plugin_path; /* or its description: config_job_probe_path() */
    enum guard_state state;
    size_t job; /* GUARD_ASKED: index of the job that the question is about */
    pid_t pid;  /* 0: not started, or reaped */
    int fd;     /* -1: not open */
    sd_event_source *io, *timer;
};

struct probe {
    struct probe_env env;
    sd_event_source *step; /* starts guards, and says done: both from the loop only */
    struct config *config;
    struct guard *guards; /* one a distinct plugin file */
    size_t count;
    struct frame frame;
};

static struct job_config *next_job(const struct guard *g, size_t *index)
{
    struct config *c = g->probe->config;

    for (; *index < c->job_count; (*index)++) {
        const char *path = config_job_probe_path(c, &c->jobs[*index]);

        if (path && strcmp(path, g->plugin_path) == 0)
            return &c->jobs[*index];
    }
    return NULL;
}

static void wake_step(struct probe *p)
{
    /* Enabling a source that exists cannot fail but in a forked child. */
    sd_event_source_set_enabled(p->step, SD_EVENT_ONESHOT);
}

static void close_guard(struct guard *g)
{
    g->io = sd_event_source_disable_unref(g->io);
    if (g->fd >= 0)
        close(g->fd);
    g->fd = -1;
}

/* A guard that is killed is not waited for: a process in uninterruptible sleep must not keep
 * the jobs back. Its tree first: what is below it is known only while it lives. */
static void end_guard(struct guard *g)
{
    close_guard(g);
    g->timer = sd_event_source_disable_unref(g->timer);
    if (g->pid > 0) {
        leftovers_kill_below(g->pid);
        kill(g->pid, SIGKILL);
    }
    g->state = GUARD_OVER;
    wake_step(g->probe);
}

/* The jobs that have no answer yet get this one. */
static void fail_guard(struct guard *g, const char *why)
{
    struct job_config *job;

    for (; (job = next_job(g, &g->job)); g->job++)
        config_job_problem(g->probe->config, job, -1, "plugin '%s' could not be checked: %s",
                           job->plugin, why);
    end_guard(g);
}

static int arm(struct guard *g)
{
    int r = sd_event_source_set_time_relative(g->timer, PROBE_SILENCE_MS * UINT64_C(1000));

    return r < 0 ? r : sd_event_source_set_enabled(g->timer, SD_EVENT_ONESHOT);
}

static int send_question(struct guard *g, const struct job_config *job)
{
    const struct setup_env *env = g->probe->env.setup;
    struct message_probe m = {
        .plugin_path = g->plugin_path,
        .job = job->name,
        .index = (uint32_t)g->job,
        .setup = env ? setup_of_job(env, job) : (struct message_setup){ .limits = LIMITS_NONE },
        .params = job->params,
        .param_count = job->param_count,
    };

    message_pack_probe(&g->probe->frame, &m);
    if (g->probe->frame.length > FRAME_MAX - START_SPARE)
        return -EMSGSIZE;
    return frame_send(g->fd, &g->probe->frame);
}

/* Asks about the next job at or after g->job, or lets the guard go where there is none. */
static void ask(struct guard *g)
{
    struct job_config *job;
    int r;

    while ((job = next_job(g, &g->job))) {
        r = send_question(g, job);
        if (r != -EMSGSIZE)
            break;
        config_job_problem(g->probe->config, job, -1,
                           "params and environment are longer than %d KiB together; put long texts "
                           "into a file",
                           (FRAME_MAX - START_SPARE) / 1024);
        g->job++;
    }
    if (!job) {
        g->state = GUARD_ENDING;
        close_guard(g); /* end of file: it exits */
        r = arm(g);
    } else if (r == 0) {
        g->state = GUARD_ASKED;
        r = arm(g);
    }
    /* -EPIPE: it is dead; how it died comes with its exit status, and is the better reason. */
    if (r < 0 && r != -EPIPE)
        fail_guard(g, strerror(-r));
}

/* A plugin's own check begins with "NAME: " what it says of that parameter. */
static int32_t find_param(const struct job_config *job, const char *text)
{
    size_t length = strcspn(text, ":");

    for (uint32_t i = 0; i < job->param_count; i++)
        if (text[length] == ':' && strncmp(job->params[i].name, text, length) == 0 &&
            job->params[i].name[length] == '\0')
            return (int32_t)i;
    return -1;
}

static void take_errors(struct config *c, struct job_config *job, const struct message_probed *m)
{
    char text[512];

    for (uint32_t i = 0; i < m->error_count; i++) {
        int32_t param = m->errors[i].param;
        const char *said = m->errors[i].text;

        if (param < 0 || (uint32_t)param >= job->param_count)
            param = find_param(job, said);
        text_escape(text, sizeof(text), said, strlen(said));
        config_job_problem(c, job, param, "%s", text);
    }
    if (!m->loaded && m->error_count == 0)
        config_job_problem(c, job, -1, "plugin '%s' cannot be loaded", job->plugin);
}

/* 0: taken; -EAGAIN: nothing there; else it is no answer to the question. */
static int take_answer(struct guard *g)
{
    struct message_probed m;
    int r = frame_receive(g->fd, &g->probe->frame);

    if (r < 0)
        return r;
    if (r == 0)
        return -EPIPE;
    if (r != MESSAGE_PROBED)
        return -EBADMSG;
    r = message_unpack_probed(&g->probe->frame, &m);
    if (r < 0)
        return r;
    if (g->state != GUARD_ASKED || m.index != g->job)
        return -EBADMSG;
    take_errors(g->probe->config, &g->probe->config->jobs[g->job], &m);
    g->job++;
    return 0;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
    struct guard *g = context;
    int r = take_answer(g);

    (void)source;
    (void)fd;
    (void)events;
    if (r == 0)
        ask(g);
    else if (r == -EPIPE)
        g->io = sd_event_source_disable_unref(g->io); /* its exit status says more */
    else if (r != -EAGAIN)
        fail_guard(g, "rota-guard sent something else than an answer");
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t due_us, void *context)
{
    char silence[UNITS_SIZE], why[96];
    struct guard *g = context;

    (void)source;
    (void)due_us;
    /* Where this process itself was late, the answer may be there. */
    if (g->state == GUARD_ASKED && take_answer(g) == 0) {
        ask(g);
        return 0;
    }
    units_say_duration(PROBE_SILENCE_MS, silence, sizeof(silence));
    text_format(why, sizeof(why), "rota-guard gave no answer within %s", silence);
    fail_guard(g, why);
    return 0;
}

static int watch_guard(struct guard *g)
{
    struct probe *p = g->probe;
    int r;

    r = sd_event_add_io(p->env.event, &g->io, g->fd, EPOLLIN, on_io, g);
    if (r < 0)
        return r;
    r = sd_event_source_set_description(g->io, "probe");
    if (r < 0)
        return r;
    r = sd_event_add_time_relative(p->env.event, &g->timer, CLOCK_BOOTTIME,
                                   PROBE_SILENCE_MS * UINT64_C(1000), TIMER_ACCURACY_US, on_timer,
                                   g);
    return r < 0 ? r : sd_event_source_set_description(g->timer, "probe's end");
}

static void start_guard(struct guard *g)
{
    const char *path = process_guard_path();
    char why[512];
    int r;

    g->state = GUARD_ASKED;
    r = process_spawn_guard(path, "--probe", NULL, &g->fd, &g->pid);
    if (r < 0) {
        text_format(why, sizeof(why), "%s cannot be started: %s", path, strerror(-r));
        fail_guard(g, why);
        return;
    }
    r = watch_guard(g);
    if (r < 0)
        fail_guard(g, strerror(-r));
    else
        ask(g);
}

static int on_step(sd_event_source *source, void *context)
{
    struct probe *p = context;
    size_t running = 0, over = 0;

    (void)source;
    for (size_t i = 0; i < p->count; i++)
        running += p->guards[i].state == GUARD_ASKED || p->guards[i].state == GUARD_ENDING;
    for (size_t i = 0; i < p->count; i++) {
        if (p->guards[i].state == GUARD_WAITING && running < PROBE_GUARDS_MAX) {
            start_guard(&p->guards[i]);
            running += p->guards[i].state != GUARD_OVER;
        }
        over += p->guards[i].state == GUARD_OVER;
    }
    if (over == p->count) {
        /* Those that failed at once have woken this source again. */
        sd_event_source_set_enabled(p->step, SD_EVENT_OFF);
        p->env.done(p->env.context, p->config);
    }
    return 0;
}

static struct guard *find_guard(struct probe *p, const char *plugin_path)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->guards[i].plugin_path, plugin_path) == 0)
            return &p->guards[i];
    return NULL;
}

static void list_plugins(struct probe *p)
{
    for (size_t i = 0; i < p->config->job_count; i++) {
        const char *path = config_job_probe_path(p->config, &p->config->jobs[i]);

        if (path && !find_guard(p, path))
            p->guards[p->count++] =
                (struct guard){ .probe = p, .plugin_path = path, .state = GUARD_WAITING, .fd = -1 };
    }
}

int probe_new(const struct probe_env *env, struct config *config, struct probe **ret_probe)
{
    struct probe *p = calloc(1, sizeof(*p));
    int r = -ENOMEM;

    if (!p)
        return -ENOMEM;
    *p = (struct probe){ .env = *env, .config = config };
    p->guards = calloc(config->job_count + 1, sizeof(*p->guards));
    if (!p->guards)
        goto fail;
    list_plugins(p);
    r = sd_event_add_defer(env->event, &p->step, on_step, p);
    if (r < 0)
        goto fail;
    r = sd_event_source_set_description(p->step, "probe's step");
    if (r < 0)
        goto fail;
    *ret_probe = p;
    return 0;
fail:
    probe_free(p);
    return r;
}

static void fail_by_status(struct guard *g, int status)
{
    char why[96];

    if (WIFSIGNALED(status))
        text_format(why, sizeof(why), "rota-guard was ended by signal %d (%s)", WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    else
        text_format(why, sizeof(why), "rota-guard ended with exit status %d", WEXITSTATUS(status));
    fail_guard(g, why);
}

bool probe_owns(const struct probe *p, pid_t pid)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->guards[i].pid == pid)
            return true;
    return false;
}

bool probe_child_ended(struct probe *p, pid_t pid, int status)
{
    for (size_t i = 0; i < p->count; i++) {
        struct guard *g = &p->guards[i];

        if (g->pid != pid)
            continue;
        g->pid = 0;
        /* What it said before it died still counts. */
        if (g->state == GUARD_ASKED)
            while (g->fd >= 0 && take_answer(g) == 0)
                continue;
        if (g->state != GUARD_OVER)
            fail_by_status(g, status);
        return true;
    }
    return false;
}

void probe_free(struct probe *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->guards && i < p->count; i++)
        if (p->guards[i].state != GUARD_WAITING)
            end_guard(&p->guards[i]);
    sd_event_source_disable_unref(p->step);
    free(p->guards);
    free(p);
}
