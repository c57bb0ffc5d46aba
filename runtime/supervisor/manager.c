/* SPDX-License-Identifier: MIT */
#include "supervisor/manager.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "supervisor/clock.h"
#include "supervisor/control.h"
#include "supervisor/journal.h"
#include "supervisor/journal_timer.h"
#include "supervisor/leftovers.h"
#include "supervisor/local_module.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How late a timer may be before rotad stops calling itself healthy: far above what a loaded device
 * shows, far below the watchdog's interval of 3 min. */
#define MANAGER_SLACK_MS 20000

/* --- children --- */

static struct run *run_of(const struct manager *m, pid_t pid)
{
    for (const struct run_entry *e = m->runs; e; e = e->next)
        if (run_pid(e->run) == pid)
            return e->run;
    return NULL;
}

static void child_ended(struct manager *m, pid_t pid, int status)
{
    struct run *run = run_of(m, pid);

    if (run) {
        run_child_ended(run, status);
        return;
    }
    /* The first that knows it; nobody knows what a dead guard left. */
    if (!manager_ready_ended(m, pid) && (!m->probe || !probe_child_ended(m->probe, pid, status)) &&
        (!m->reload || !reload_child_ended(m->reload, pid, status)))
        (void)resolver_child_ended(&m->resolver, pid, status);
}

/* rotad is a subreaper, so children come that sd-event was never told of: one loop reaps them all.
 */
static int on_child(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    pid_t pid;
    int status;

    (void)source;
    (void)info;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        child_ended(userdata, pid, status);
    return 0;
}

/* --- signals --- */

static int on_stop_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                          void *userdata)
{
    (void)source;
    (void)info;
    manager_stop(userdata);
    return 0;
}

static int on_reload_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                            void *userdata)
{
    struct manager *m = userdata;

    (void)source;
    (void)info;
    /* Who cannot use rotactl has this way. */
    control_listen(m->control);
    manager_reload(m);
    return 0;
}

static int add_signal(struct manager *m, int number, sd_event_signal_handler_t handler,
                      int64_t priority)
{
    sd_event_source *source;
    int rc = sd_event_add_signal(m->event, &source, number, handler, m);

    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(source, strsignal(number));
    rc = sd_event_source_set_priority(source, priority);
    if (rc >= 0)
        rc = sd_event_source_set_floating(source, true);
    sd_event_source_unref(source);
    return rc;
}

int manager_block_signals(void)
{
    static const int numbers[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
    sigset_t mask;

    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(&mask, numbers[i]);
    return sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ? -errno : 0;
}

static int add_signals(struct manager *m)
{
    int rc;

    rc = add_signal(m, SIGCHLD, on_child, PRIORITY_CHILD);
    if (rc >= 0)
        rc = add_signal(m, SIGTERM, on_stop_signal, PRIORITY_SIGNAL);
    if (rc >= 0)
        rc = add_signal(m, SIGINT, on_stop_signal, PRIORITY_SIGNAL);
    if (rc >= 0)
        rc = add_signal(m, SIGHUP, on_reload_signal, PRIORITY_SIGNAL);
    return rc;
}

/* --- after each event --- */

static int on_after(sd_event_source *source, void *userdata)
{
    struct manager *m = userdata;

    (void)source;
    manager_settle(m);
    manager_settle_drain(m);
    fleet_settle_timer(&m->fleet);
    manager_expect(m);
    manager_settle_ready(m);
    manager_update_status(m);
    journal_timer_arm(m->held_lines);
    return 0;
}

static bool is_sound(void *context, const char **ret_why)
{
    const struct manager *m = context;
    struct boot now = clock_boot();

    if (!fleet_sound(&m->fleet, now, MANAGER_SLACK_MS, ret_why))
        return false;
    if (!m->store || redis_store_sound(m->store, now, MANAGER_SLACK_MS))
        return true;
    *ret_why = "a request to Redis has no timer, or one that is overdue";
    return false;
}

/* --- start --- */

static int add_sources(struct manager *m)
{
    int rc = add_signals(m);

    if (rc >= 0)
        rc = manager_add_timer(m);
    if (rc >= 0)
        rc = sd_event_add_post(m->event, &m->after, on_after, m);
    if (rc >= 0)
        rc = sd_event_source_set_priority(m->after, PRIORITY_STATUS);
    if (rc >= 0)
        rc = journal_timer_new(m->event, PRIORITY_STATUS, &m->held_lines);
    if (rc >= 0)
        rc = health_new(m->event, PRIORITY_WATCHDOG, is_sound, m, &m->health);
    return rc < 0 ? rc : leftovers_adopt();
}

static void take_cgroups(struct manager *m)
{
    const struct delegation_source source = { "/proc/self/cgroup", "/sys/fs/cgroup" };
    int rc = delegation_take(&source, &m->cgroups);

    if (rc < 0)
        journal_log(LOG_WARNING | MESSAGE_NO_CGROUP, NULL,
                    "the control group that systemd delegated to rotad cannot be used: %s; limits "
                    "hold for each process alone",
                    strerror(-rc));
}

int manager_init(struct manager *m, sd_event *event, struct config *config,
                 const struct options *options)
{
    int rc;

    *m = (struct manager){ .event = event, .options = options, .clock_watch.fd = -1 };
    manager_port_init(m);
    resolver_init(&m->resolver, event);
    text_copy(m->device, sizeof m->device, config->device);
    fleet_init(&m->fleet, &m->port, m->device, config->max_running);
    machine_read(m->device, &m->machine);
    fleet_identify(&m->fleet, m->machine.name, m->machine.boot);
    m->generation = calloc(1, sizeof *m->generation);
    if (!m->generation) {
        config_free(config);
        return -ENOMEM;
    }
    m->generation->config = config;
    m->run_env = (struct run_env){
        .event = event,
        .priority = PRIORITY_RUN,
        .device = m->device,
        .setup = &m->setup_env,
        .ready = &m->ready,
        .is_ours = manager_is_ours,
        .over = manager_run_over,
        .unapplied = manager_unapplied,
        .context = m,
    };
    m->setup_env = (struct setup_env){ .user = &m->user, .cgroups = &m->cgroups };
    take_cgroups(m);
    rc = add_sources(m);
    if (rc < 0)
        return rc;
    return control_new(m, &m->control);
}

void manager_done(struct manager *m)
{
    control_free(m->control);
    m->control = NULL; /* jobs end after it */
    probe_free(m->probe);
    reload_free(m->reload);
    manager_free_jobs(m);
    fleet_done(&m->fleet);
    words_fault_forget(&m->fault);
    redis_store_free(m->store);
    if (m->local)
        m->local_module->free(m->local);
    wall_clock_done(&m->clock_watch);
    free(m->room);
    resolver_done(&m->resolver);
    health_free(m->health);
    manager_drop_ready(m);
    sd_event_source_disable_unref(m->timer);
    sd_event_source_disable_unref(m->stop_timer);
    sd_event_source_disable_unref(m->after);
    sd_event_source_disable_unref(m->held_lines);
    delegation_done(&m->cgroups);
    if (m->generation)
        config_free(m->generation->config);
    free(m->generation);
}

/* The first mistake of an invalid job is said with the job's state, not twice. The problem's text
 * begins "job 'NAME': ", the job's own reason with the place instead. */
static bool is_told_with_job(const struct config *c, const struct problem *p)
{
    for (size_t i = 0; i < c->job_count; i++) {
        const struct job_config *job = &c->jobs[i];
        char start[JOB_NAME_MAX + 16];

        if (!job->invalid || !job->invalid_why)
            continue;
        text_format(start, sizeof start, "job '%s': ", job->name);
        if (strncmp(p->text, start, strlen(start)) == 0 &&
            text_ends_with(job->invalid_why, p->text + strlen(start)))
            return true;
    }
    return false;
}

static size_t count_good(const struct config *c)
{
    size_t good = 0;

    for (size_t i = 0; i < c->job_count; i++)
        good += config_job_runs(&c->jobs[i]);
    return good;
}

static void say_invalid(const struct config *c)
{
    char others[48] = "no other job runs";

    if (count_good(c) > 0)
        text_format(others, sizeof others, "the other %zu job%s", count_good(c),
                    count_good(c) == 1 ? " runs" : "s run");
    for (size_t i = 0; i < c->job_count; i++)
        if (c->jobs[i].invalid)
            journal_log(LOG_ERR | MESSAGE_JOB_INVALID,
                        (struct journal_field[]){ { "ROTA_JOB", c->jobs[i].name }, { NULL, NULL } },
                        "%s is invalid, %s: %s", c->jobs[i].name, others,
                        c->jobs[i].invalid_why ? c->jobs[i].invalid_why : "memory is short");
}

void manager_say_problems(const struct config *c)
{
    for (size_t i = 0; i < c->problems.count; i++) {
        const struct problem *p = &c->problems.items[i];
        CLEANUP_FREE char *text = config_problem_text(p);

        if (text && !is_told_with_job(c, p))
            journal_log(p->level == PROBLEM_ERROR ? LOG_ERR : LOG_WARNING, NULL, "%s", text);
    }
    say_invalid(c);
}

/* Said once, when it is known which jobs are good. */
static void say_ready(const struct manager *m, const struct config *c)
{
    size_t good = count_good(c);

    if (good < c->job_count)
        journal_log(LOG_INFO | MESSAGE_READY, NULL, "%zu of %zu jobs run here; ready as %s", good,
                    c->job_count, m->device);
    else
        journal_log(LOG_INFO | MESSAGE_READY, NULL, "%zu job%s; ready as %s", good,
                    good == 1 ? "" : "s", m->device);
}

static void on_probed(void *context, struct config *config)
{
    struct manager *m = context;

    /* NULL where there was nobody to probe as: then no job starts either, and each says so. */
    probe_free(m->probe);
    m->probe = NULL;
    m->began = true;
    m->jobs_stale = m->jobs_missing = m->status_stale = true;
    manager_say_problems(config);
    say_ready(m, config);
    if (m->reload_again)
        manager_reload(m);
}

static int begin_probe(struct manager *m)
{
    struct probe_env env = {
        .event = m->event, .setup = &m->setup_env, .done = on_probed, .context = m
    };

    if (manager_find_user(m) < 0) {
        on_probed(m, m->generation->config);
        return 0;
    }
    return probe_new(&env, m->generation->config, &m->probe);
}

int manager_begin(struct manager *m)
{
    struct config *c = m->generation->config;

    m->status_stale = true;
    manager_update_status(m);
    (void)health_ready(m->health);
    if (c->job_count == 0) {
        if (c->problems.errors == 0)
            journal_log(LOG_INFO | MESSAGE_READY, NULL, "no jobs yet; ready as %s", m->device);
        manager_say_problems(c);
        m->began = true;
        return 0;
    }
    return begin_probe(m);
}

/* --- stop --- */

/* Of a job that is not yet off when the loop ends. */
static const char *what_is_left(const struct device_job *d)
{
    if (d->run)
        return "still ran when rotad's time to stop was over";
    if (d->job.state == JOB_CLOSING)
        return "was not yet told to Redis when rotad stopped";
    return "had no answer from Redis when rotad stopped";
}

static int on_stop_time(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct manager *m = userdata;

    (void)source;
    (void)usec;
    for (const struct device_job *d = m->jobs; d; d = d->next)
        words_about(&d->job, LOG_WARNING | MESSAGE_STOPPED_EARLY, "%s%s", what_is_left(d),
                    m->store ? "; its lock, if any, is left to expire" : "");
    (void)sd_event_exit(m->event, 0);
    return 0;
}

void manager_stop_at(struct manager *m, struct boot at)
{
    int rc;

    m->stop_at = at;
    sd_event_source_disable_unref(m->stop_timer);
    m->stop_timer = NULL;
    rc = sd_event_add_time(m->event, &m->stop_timer, CLOCK_BOOTTIME, clock_to_us(at),
                           CLOCK_ACCURACY_US, on_stop_time, m);
    if (rc < 0)
        (void)sd_event_exit(m->event, 0);
    else
        (void)sd_event_source_set_description(m->stop_timer, "stop");
}

void manager_stop(struct manager *m)
{
    int64_t limit_ms = m->generation->config->stop_timeout_ms;

    if (m->stopping)
        return;
    m->stopping = true;
    journal_log(LOG_INFO | MESSAGE_STOPPING, NULL, "stopping");
    (void)health_stopping(m->health, limit_ms);
    probe_free(m->probe);
    m->probe = NULL;
    manager_stop_at(m, boot_add(clock_boot(), limit_ms));
    manager_leave_jobs(m, true);
}

/* --- reload --- */

static int swap_generation(struct manager *m, struct config *config)
{
    struct generation *g = calloc(1, sizeof *g), *old = m->generation;

    if (!g)
        return -ENOMEM;
    /* Before the first job nobody has been told who we are. */
    if (!manager_has_store(m)) {
        text_copy(m->device, sizeof m->device, config->device);
        machine_read(m->device, &m->machine);
    }
    g->config = config;
    m->generation = g;
    m->user_known = false;
    if (manager_has_store(m))
        (void)manager_find_user(m); /* else the former one stays */
    if (m->store) {
        (void)manager_introduce(m); /* it has its room already */
        manager_take_password(m);
    }
    if (old->users == 0) {
        config_free(old->config);
        free(old);
    }
    return 0;
}

/* The fleet knows a rotad that runs by the name that it began with. */
static const char *running_name(const struct manager *m)
{
    return manager_has_store(m) ? m->device : NULL;
}

/* How a reload went. why: it was refused; NULL: it was taken. */
static void say_reload(const struct manager *m, const char *why)
{
    size_t jobs = m->generation->config->job_count;
    char text[192];

    if (why)
        text_format(text, sizeof text, "reload: %s; the old configuration stays", why);
    else
        text_format(text, sizeof text, "reloaded: %zu job%s", jobs, jobs == 1 ? "" : "s");
    journal_log(why ? LOG_ERR | MESSAGE_RELOAD_REFUSED : LOG_NOTICE | MESSAGE_RELOADED, NULL, "%s",
                text);
    control_reload_line(m->control, text);
    control_answer(m->control, CONTROL_HEARS_RELOAD, !why);
}

/* NULL where `config` may take the place of the present one, else why not: a constant, or buf. */
static const char *find_obstacle(const struct manager *m, const struct config *config, char *buf,
                                 size_t size)
{
    /* Before the first job nothing of it is in use. */
    const char *fixed =
        manager_has_store(m) ? config_fixed_change(m->generation->config, config) : NULL;

    if (config->problems.errors > 0)
        return "the files have changed meanwhile";
    if (!fixed)
        return NULL;
    text_format(buf, size, "%s has changed, which takes a restart", fixed);
    return buf;
}

/* In this process, after the child has read the same files without harm. NULL where it was taken,
 * else why not, as above. */
static const char *take_new_config(struct manager *m, char *buf, size_t size)
{
    struct config_source source = { .file = m->options->config_file,
                                    .plugin_dir_default = ROTA_PLUGINDIR,
                                    .device = running_name(m) };
    struct config *config;
    const char *why;
    int rc = config_load(&source, &config);

    if (rc < 0)
        return strerror(-rc);
    why = find_obstacle(m, config, buf, size);
    if (!why && swap_generation(m, config) < 0)
        why = "memory is short";
    if (why) {
        config_free(config);
        return why;
    }
    m->fleet.slots = m->generation->config->max_running;
    fleet_slot_freed(&m->fleet, clock_boot());
    journal_set_level(m->generation->config->log_level);
    m->jobs_stale = m->jobs_missing = true;
    return NULL;
}

static void on_reloaded(void *context, bool good)
{
    struct manager *m = context;
    char buf[128];

    reload_free(m->reload);
    m->reload = NULL;
    if (m->stopping)
        return;
    say_reload(m, good ? take_new_config(m, buf, sizeof buf) : "refused for the mistakes above");
    m->status_stale = true;
    (void)health_ready(m->health);
    if (m->reload_again)
        manager_reload(m);
}

void manager_reload(struct manager *m)
{
    int rc;

    /* The files may have changed since the reload under way, or the probe, has read them. */
    m->reload_again = m->reload || !m->began;
    if (m->stopping)
        return;
    (void)health_reloading(m->health, RELOAD_LIMIT_MS);
    if (m->reload_again)
        return;
    control_reload_begins(m->control);
    rc = reload_new(&(struct reload_env){ .event = m->event,
                                          .config_file = m->options->config_file,
                                          .device = running_name(m),
                                          .running = m->generation->config,
                                          .done = on_reloaded,
                                          .control = m->control,
                                          .context = m },
                    &m->reload);
    if (rc >= 0)
        return;
    say_reload(m, strerror(-rc));
    (void)health_ready(m->health);
}
