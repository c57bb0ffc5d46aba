/* SPDX-License-Identifier: MIT */
#include "supervisor/run.h"
#include "base/fault_point.h"
#include "base/text.h"
#include "ipc/messages.h"
#include "supervisor/clock.h"
#include "supervisor/journal.h"
#include "supervisor/leftovers.h"
#include "supervisor/process.h"
#include "supervisor/run_output.h"
#include "supervisor/words.h"
#include <errno.h>
#include <rota/plugin.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Frames taken in one turn of the loop: a chatty job must not keep the others waiting. */
#define RUN_FRAMES_MAX 64
/* Between two rounds of killing what a guard did not; and once that is known to be stuck. */
#define RUN_SWEEP_MS 20
#define RUN_STUCK_SWEEP_MS 1000
/* What a process may take to go after SIGKILL before it is called stuck. */
#define RUN_DYING_MS 100
/* Of how a run ended, before it is cut for the store. */
#define RUN_DETAIL_SIZE 512

enum run_phase {
    RUN_ALIVE,    /* the guard lives and has not said how it ended */
    RUN_TOLD,     /* ENDED came; the guard goes on only while its tree cannot be killed */
    RUN_KILLED,   /* the guard was too late and has been killed; it is not reaped yet */
    RUN_SWEEPING, /* the guard died without a word; what it left is being killed */
    RUN_OVER
};

struct run {
    struct run_env env;
    struct job *job;
    struct past *past; /* the job's */
    pid_t pid;
    int fd;
    enum run_phase phase;
    sd_event_source *io;
    sd_event_source *wall;      /* D + M/2, then the rounds of killing */
    struct boot spawned, swept; /* KILLED, SWEEPING: since when */
    bool unclean;               /* job_ended() was told so */
    bool started;               /* STARTED came: there was a worker */
    bool stillborn;             /* the guard gave up before there was one */
    char death[64];             /* how the guard died */
};

/* One frame at a time each way, in the one thread: no need for a pair a run. */
static struct frame frame, order;

static struct boot wall_at(const struct run *r)
{
    return boot_add(r->job->lease.deadline, r->job->spec->timing.margin_ms / 2);
}

static int set_wall(struct run *r, struct boot at)
{
    int rc = sd_event_source_set_time(r->wall, clock_to_us(at));

    if (rc < 0)
        return rc;
    return sd_event_source_set_enabled(r->wall, SD_EVENT_ONESHOT);
}

static void send_order(struct run *r)
{
    int rc = frame_send(r->fd, &order);

    /* A guard that is gone is reaped; one that does not read meets its own deadline. */
    if (rc < 0 && rc != -EPIPE)
        words_about(r->job, LOG_WARNING | MESSAGE_LIMITED, "its guard takes no message: %s",
                    strerror(-rc));
}

/* --- ends --- */

static void be_over(struct run *r)
{
    FAULT_POINT(run_is_over);
    r->phase = RUN_OVER;
    r->env.over(r->env.context, r);
}

static void tell_end(struct run *r, const struct run_end *end)
{
    struct run_end told = *end;
    const char *detail = words_end_detail(end);
    char escaped[STORE_TEXT_SIZE];

    /* Who reads it in Redis may be a terminal. */
    told.detail = text_escape(escaped, sizeof escaped, detail, strlen(detail));
    r->unclean = !end->clean;
    job_ended(r->job, clock_boot(), &told);
}

static enum run_exit exit_of(enum ended_how how)
{
    switch (how) {
    case ENDED_RETURNED:
        return RUN_RETURNED;
    case ENDED_UNLOADABLE:
        return RUN_UNLOADABLE;
    case ENDED_UNSTARTED:
        return RUN_UNSTARTED;
    default:
        return RUN_BROKE;
    }
}

static enum run_stop stop_of(enum ended_stop stop)
{
    switch (stop) {
    case STOP_OVERRUN:
        return RUN_STOPPED_OVERRUN;
    case STOP_DEADLINE:
        return RUN_STOPPED_DEADLINE;
    case STOP_NONE:
        return RUN_NOT_STOPPED;
    default:
        return RUN_STOPPED_ORDERED;
    }
}

/* How a worker that did not come back from run() met its end, before what it said last. */
static const char *detail_of(const struct message_ended *m, char *buf, size_t size)
{
    const char *colon = m->detail[0] ? ": " : "";

    if (m->stop != STOP_NONE || (m->how != ENDED_SIGNALLED && m->how != ENDED_EXITED))
        return m->detail;
    if (m->how == ENDED_SIGNALLED)
        text_format(buf, size, "killed by signal %d (%s)%s%s", m->code, strsignal(m->code), colon,
                    m->detail);
    else
        text_format(buf, size, "exit status %d and no result%s%s", m->code, colon, m->detail);
    return buf;
}

static void on_ended(struct run *r)
{
    struct message_ended m;
    char detail[RUN_DETAIL_SIZE];

    if (message_unpack_ended(&frame, &m) < 0 || r->unclean ||
        (r->phase != RUN_ALIVE && r->phase != RUN_KILLED))
        return;
    FAULT_POINT(run_hears_of_the_end);
    r->phase = RUN_TOLD;
    sd_event_source_set_enabled(r->wall, SD_EVENT_OFF);
    /* After a crash there is nothing to wonder about. */
    if (m.leftovers > 0 && m.stop == STOP_NONE && m.how == ENDED_RETURNED)
        words_outlived(r->job, m.leftovers);
    tell_end(r, &(struct run_end){
                    .exit = exit_of(m.how),
                    .stop = stop_of(m.stop),
                    .reason = (enum stop_reason)m.reason,
                    .result = m.result,
                    .ran_ms = m.ran_ms,
                    .clean = m.clean,
                    .detail = detail_of(&m, detail, sizeof detail),
                });
    FAULT_POINT(run_told_the_end);
}

/* The guard did not say what the job said last. */
static void tell_broken(struct run *r, bool clean)
{
    const char *last = run_output_last(&r->past->tail);
    char detail[RUN_DETAIL_SIZE];

    text_format(detail, sizeof detail, "%s%s%s", r->death, last[0] ? ": " : "", last);
    tell_end(r, &(struct run_end){
                    .exit = r->stillborn && clean ? RUN_UNSTARTED : RUN_BROKE,
                    .ran_ms = boot_between(r->spawned, clock_boot()),
                    .clean = clean,
                    .detail = detail,
                });
}

static void next_round(struct run *r, struct boot now)
{
    set_wall(r, boot_add(now, r->unclean ? RUN_STUCK_SWEEP_MS : RUN_SWEEP_MS));
}

/* The worker died with its guard (PDEATHSIG); grandchildren did not, and are ours now. */
static void sweep(struct run *r)
{
    int left = leftovers_kill(r->env.is_ours, r->env.context);
    struct boot now = clock_boot(); /* after it: the next round is due later than this one ended */

    if (left == 0) {
        if (r->unclean)
            job_emptied(r->job, now);
        else
            tell_broken(r, true);
        be_over(r);
        return;
    }
    if (!r->unclean && boot_reached(now, boot_max(wall_at(r), boot_add(r->swept, RUN_DYING_MS))))
        tell_broken(r, false);
    next_round(r, now);
}

/* --- words of the guard --- */

static void on_started(struct run *r)
{
    struct message_started m;

    if (message_unpack_started(&frame, &m) < 0)
        return;
    FAULT_POINT(run_hears_of_the_start);
    r->started = true;
    r->env.unapplied(r->env.context, r->job, m.unapplied ? m.unapplied : "");
    job_started(r->job, clock_boot(), m.started);
}

static void on_output(struct run *r)
{
    struct message_output m;

    if (message_unpack_output(&frame, &m) == 0)
        run_output_take(&r->past->tail, r->job, &m);
}

static void on_log(struct run *r)
{
    struct message_log m;

    if (message_unpack_log(&frame, &m) == 0)
        run_output_take_log(&r->past->tail, r->job, &m);
}

static void on_progress(struct run *r)
{
    struct message_progress m;

    if (message_unpack_progress(&frame, &m) == 0)
        past_progress(r->past, m.permille, m.text);
}

/* False at the end of file, or where what came is no frame of a guard's. */
static bool take_frame(struct run *r, int type)
{
    switch (type) {
    case MESSAGE_STARTED:
        on_started(r);
        return true;
    case MESSAGE_OUTPUT:
        on_output(r);
        return true;
    case MESSAGE_LOG:
        on_log(r);
        return true;
    case MESSAGE_PROGRESS:
        on_progress(r);
        return true;
    case MESSAGE_ENDED:
        on_ended(r);
        return true;
    default:
        return type > 0; /* a newer guard's message */
    }
}

/* True while there may be more to read. */
static bool read_frames(struct run *r)
{
    for (int i = 0; i < RUN_FRAMES_MAX; i++) {
        int type = frame_receive(r->fd, &frame);

        if (type == -EAGAIN)
            return false;
        if (type == -EBADMSG)
            continue;
        if (!take_frame(r, type)) {
            sd_event_source_set_enabled(r->io, SD_EVENT_OFF);
            return false;
        }
    }
    return true;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    (void)source;
    (void)fd;
    (void)events;
    read_frames(userdata);
    return 0;
}

/* --- the last wall --- */

/* Again and again until the guard is reaped. Its tree first: what is below it is known only while
 * it lives. */
static void kill_guards_tree(struct run *r)
{
    struct boot now;

    leftovers_kill_below(r->pid);
    kill(r->pid, SIGKILL);
    now = clock_boot();
    if (!r->unclean && boot_reached(now, boot_add(r->swept, RUN_DYING_MS)))
        tell_broken(r, false);
    next_round(r, now);
}

static void kill_guard(struct run *r)
{
    words_about(r->job, LOG_ERR | MESSAGE_GUARD_KILLED,
                "its guard did not end it in time and is killed");
    text_copy(r->death, sizeof r->death, "its guard did not end it in time");
    r->phase = RUN_KILLED;
    r->swept = clock_boot();
    kill_guards_tree(r);
}

static int on_wall(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct run *r = userdata;

    (void)source;
    (void)usec;
    /* Where this process was stopped for a while, the guard may have done its work meanwhile. */
    while (r->phase == RUN_ALIVE && read_frames(r))
        ;
    if (r->phase == RUN_SWEEPING)
        sweep(r);
    else if (r->phase == RUN_KILLED)
        kill_guards_tree(r);
    else if (r->phase == RUN_ALIVE)
        kill_guard(r);
    return 0;
}

static void note_death(struct run *r, int status)
{
    if (WIFSIGNALED(status))
        text_format(r->death, sizeof r->death, "its guard was killed by signal %d",
                    WTERMSIG(status));
    else
        text_format(r->death, sizeof r->death, "its guard ended with status %d and no word",
                    WEXITSTATUS(status));
}

void run_child_ended(struct run *r, int status)
{
    FAULT_POINT(run_reaped_the_guard);
    r->pid = 0;
    while (read_frames(r)) /* its last words may still be in the socket */
        ;
    /* One that ends well after an unclean end has seen the last of its tree. */
    if (r->phase == RUN_TOLD &&
        (!r->unclean || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS))) {
        if (r->unclean)
            job_emptied(r->job, clock_boot());
        be_over(r);
        return;
    }
    r->stillborn = !r->started && WIFEXITED(status) && WEXITSTATUS(status) != EXIT_SUCCESS;
    if (r->phase != RUN_KILLED)
        note_death(r, status);
    r->phase = RUN_SWEEPING;
    r->swept = clock_boot();
    sweep(r);
}

/* --- orders to the guard --- */

static int send_start(struct run *r, const struct job_config *config)
{
    const struct job *j = r->job;
    const struct timing *t = &j->spec->timing;

    message_pack_start(&order, &(struct message_start){
                                   .plugin_path = config->plugin_path,
                                   .job = j->spec->name,
                                   .device = r->env.device,
                                   .turn_ms = j->turn.ms,
                                   .fence = (int64_t)j->lease.fence,
                                   .attempt = j->lease.attempt,
                                   .attempts = job_attempts(j),
                                   .worst_case_ms = t->worst_case_ms,
                                   .max_runtime_ms = t->max_runtime_ms,
                                   .stop_grace_ms = t->stop_grace_ms,
                                   .margin_ms = t->margin_ms,
                                   .deadline = j->lease.deadline,
                                   .purpose = ROTA_FOR_RUN,
                                   .setup = setup_of_job(r->env.setup, config),
                                   .output_lines = config->output_lines,
                                   .params = config->params,
                                   .param_count = config->param_count,
                               });
    return frame_send(r->fd, &order);
}

static int watch(struct run *r)
{
    int rc = sd_event_add_io(r->env.event, &r->io, r->fd, EPOLLIN, on_io, r);

    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(r->io, "guard's words");
    rc = sd_event_source_set_priority(r->io, r->env.priority);
    if (rc < 0)
        return rc;
    rc = sd_event_add_time(r->env.event, &r->wall, CLOCK_BOOTTIME, clock_to_us(wall_at(r)),
                           CLOCK_ACCURACY_US, on_wall, r);
    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(r->wall, "guard's last wall");
    return sd_event_source_set_priority(r->wall, r->env.priority);
}

static void leave_guard(struct run *r)
{
    r->io = sd_event_source_disable_unref(r->io);
    r->wall = sd_event_source_disable_unref(r->wall);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

int run_make_ready(struct ready_guard *ready, const struct job *job)
{
    ready->job = job;
    return process_spawn_guard(process_guard_path(), "--run", job->spec->name, &ready->fd,
                               &ready->pid);
}

/* -EPIPE: there is none for this job, or it is dead. */
static int take(struct run *r, const struct job_config *config, struct ready_guard *ready)
{
    int rc;

    if (ready->job != r->job || ready->pid == 0)
        return -EPIPE;
    r->fd = ready->fd;
    r->pid = ready->pid;
    *ready = (struct ready_guard){ 0 };
    rc = watch(r);
    return rc < 0 ? rc : send_start(r, config);
}

static int take_new(struct run *r, const struct job_config *config)
{
    struct ready_guard fresh = { 0 };
    int rc;

    FAULT_POINT(run_before_the_spawn);
    rc = run_make_ready(&fresh, r->job);
    if (rc < 0)
        return rc;
    FAULT_POINT(run_spawned);
    rc = take(r, config, &fresh);
    /* It is dead; how it died comes with its exit status, and is the better reason. */
    return rc == -EPIPE ? 0 : rc;
}

int run_new(const struct run_env *env, struct job *job, const struct job_config *config,
            struct past *past, struct run **ret_run)
{
    struct run *r = calloc(1, sizeof *r);
    int rc;

    if (!r)
        return -ENOMEM;
    r->env = *env;
    r->job = job;
    r->past = past;
    r->fd = -1;
    run_output_begin(&past->tail, config->output_lines);
    past_progress(past, -1, "");
    r->spawned = clock_boot();
    rc = take(r, config, env->ready);
    if (rc == -EPIPE) {
        leave_guard(r);
        rc = take_new(r, config);
    }
    if (rc < 0) {
        /* It has no order yet, sees the end of file and goes; the loop reaps it as a stranger. */
        run_free(r);
        return rc;
    }
    FAULT_POINT(run_sent_the_start);
    *ret_run = r;
    return 0;
}

void run_free(struct run *r)
{
    if (!r)
        return;
    leave_guard(r);
    free(r);
}

void run_extend(struct run *r)
{
    FAULT_POINT(run_before_the_extension);
    message_pack_deadline(&order, &(struct message_deadline){ .deadline = r->job->lease.deadline });
    send_order(r);
    if (r->phase == RUN_ALIVE)
        set_wall(r, wall_at(r));
    FAULT_POINT(run_extended);
}

void run_stop(struct run *r, enum stop_reason reason)
{
    message_pack_stop(&order, &(struct message_stop){ .reason = reason });
    send_order(r);
    FAULT_POINT(run_sent_the_stop);
}

pid_t run_pid(const struct run *r)
{
    return r->pid;
}
