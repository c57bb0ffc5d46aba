/* SPDX-License-Identifier: MIT
 * The set of jobs follows the configuration: at start, after a reload, while stopping. */
#include "supervisor/clock.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void generation_release(struct manager *m, struct generation *g)
{
    g->users--;
    if (g->users > 0 || g == m->generation)
        return;
    config_free(g->config);
    free(g);
}

/* With the job's use of its configuration. False: memory is short, and it begins anew. */
static bool keep_past(struct manager *m, struct device_job *d)
{
    struct kept_past *k = malloc(sizeof *k);

    if (!k)
        return false;
    *k = (struct kept_past){ m->kept, d->past, d->config, d->generation };
    m->kept = k;
    return true;
}

/* Of the job as it is configured now: the caller's from now on; NULL where nothing was kept, or of
 * another one by that name, which a reload would have replaced. */
static struct past *take_past(struct manager *m, const struct job_config *job)
{
    struct kept_past **at = &m->kept, *k;
    struct past *past;

    while (*at && strcmp((*at)->config->name, job->name) != 0)
        at = &(*at)->next;
    k = *at;
    if (!k)
        return NULL;
    *at = k->next;
    past = k->past;
    if (!config_job_equal(k->config, job)) {
        past_free(past);
        past = NULL;
    }
    generation_release(m, k->generation);
    free(k);
    return past;
}

static void forget_kept(struct manager *m)
{
    while (m->kept)
        past_free(take_past(m, m->kept->config));
}

static void device_job_free(struct manager *m, struct device_job *d)
{
    struct device_job **at = &m->jobs;

    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    if (m->ready.job == &d->job)
        manager_drop_ready(m);
    m->jobs_missing = true; /* one that was changed comes again */
    job_done(&d->job);
    manager_close_job(m, &d->config->spec);
    words_fault_forget(&d->fault);
    if (!d->past || !keep_past(m, d)) {
        past_free(d->past);
        generation_release(m, d->generation);
    }
    free(d);
}

/* At the place in the list where it belongs. */
static int create(struct manager *m, struct device_job **at, const struct job_config *config)
{
    bool alone = config->spec.run_unreachable;
    struct device_job *d = calloc(1, sizeof *d + alone * sizeof *d->alone);
    int rc = d ? 0 : -ENOMEM;

    if (rc >= 0)
        rc = manager_open_job(m, &config->spec);
    if (rc < 0) {
        free(d);
        return rc;
    }
    d->config = config;
    d->past = take_past(m, config);
    d->generation = m->generation;
    d->generation->users++;
    job_init(&d->job, &m->fleet, &config->spec);
    if (alone)
        job_alone_init(d->alone, &d->job);
    d->next = *at;
    *at = d;
    job_begin(&d->job, clock_boot());
    return 0;
}

/* An unchanged job moves over to the present configuration as it is; a changed or removed one takes
 * no more turns, and its run goes on to the end. */
static void follow(struct manager *m, struct device_job *d)
{
    const struct job_config *now;

    if (d->generation == m->generation)
        return;
    now = config_find_job(m->generation->config, d->config->name);
    if (!now || !config_job_runs(now) || !config_job_equal(d->config, now)) {
        if (!d->job.leaving)
            job_leave(&d->job, clock_boot(), false);
        return;
    }
    if (d->job.leaving)
        return;
    generation_release(m, d->generation);
    d->generation = m->generation;
    d->generation->users++;
    d->config = now;
    job_respecify(&d->job, &now->spec);
}

/* An older run's guard may outlive a newer run. */
static bool has_run(const struct manager *m, const struct device_job *d)
{
    for (const struct run_entry *e = m->runs; e; e = e->next)
        if (e->owner == d)
            return true;
    return false;
}

static void remove_those_off(struct manager *m)
{
    struct device_job *next;

    for (struct device_job *d = m->jobs; d; d = next) {
        next = d->next;
        follow(m, d);
        if (d->job.state == JOB_OFF && !has_run(m, d))
            device_job_free(m, d);
    }
}

/* Moves *at on to the job of that name, or to where it would be: both lists are in order of name.
 */
static bool is_there(struct device_job ***at, const char *name)
{
    int order = -1;

    while (**at && (order = strcmp((**at)->config->name, name)) < 0)
        *at = &(**at)->next;
    return **at && order == 0;
}

static void add_those_missing(struct manager *m)
{
    struct config *c = m->generation->config;
    struct device_job **at = &m->jobs;
    int rc;

    m->jobs_missing = false;
    for (size_t i = 0; i < c->job_count; i++) {
        struct job_config *config = &c->jobs[i];

        if (!config_job_runs(config) || is_there(&at, config->name))
            continue;
        rc = manager_prepare(m);
        if (rc >= 0)
            rc = create(m, at, config);
        m->jobs_new = m->jobs_new || rc >= 0;
        if (rc >= 0)
            continue;
        journal_log(LOG_ERR | MESSAGE_JOB_INVALID,
                    (struct journal_field[]){ { "ROTA_JOB", config->name }, { NULL, NULL } },
                    "%s: not started here: %s", config->name, strerror(-rc));
        config->invalid = true;
    }
    forget_kept(m); /* of those that are no more */
}

/* A success that is not recorded makes the turn run again, so it is repeated for as long as its
 * lease lasts (promise 1). */
static bool owes_success(const struct job *j)
{
    return j->state == JOB_CLOSING && outcome_settles(j->lease.end.outcome);
}

/* Nothing runs any more, and only the store is still to be told: one connection and one reply are
 * enough for what others would find out by themselves. */
static void hurry(struct manager *m)
{
    const struct redis_config *r = &m->generation->config->redis;
    struct boot until = boot_add(clock_boot(), r->connect_timeout_ms + r->command_timeout_ms);

    for (const struct device_job *d = m->jobs; d; d = d->next)
        if (owes_success(&d->job))
            until = boot_max(until, d->job.lease.expires);
    if (!m->runs && until.ms < m->stop_at.ms)
        manager_stop_at(m, until);
}

void manager_settle(struct manager *m)
{
    if (!m->jobs_stale)
        return;
    m->jobs_stale = false;
    remove_those_off(m);
    if (!m->stopping) {
        if (m->began && m->jobs_missing && !m->draining)
            add_those_missing(m);
        return;
    }
    if (m->jobs)
        hurry(m);
    else
        (void)sd_event_exit(m->event, 0);
}

void manager_free_jobs(struct manager *m)
{
    struct device_job *next;

    while (m->runs)
        manager_run_over(m, m->runs->run);
    for (struct device_job *d = m->jobs; d; d = next) {
        next = d->next;
        device_job_free(m, d);
    }
    forget_kept(m);
}
