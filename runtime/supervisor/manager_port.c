/* SPDX-License-Identifier: MIT
 * The core's wishes, done. */
#include "supervisor/clock.h"
#include "supervisor/control.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"
#include "supervisor/words_clock.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct device_job *device_job_of(struct job *job)
{
    return (struct device_job *)job;
}

static void fill_random(void *context, void *buffer, size_t size)
{
    ssize_t n;

    (void)context;
    do
        n = getrandom(buffer, size, 0);
    while (n < 0 && errno == EINTR);
    assert((size_t)n ==
           size); /* at most 256 bytes are never cut, once the pool is filled (getrandom(2)) */
}

/* --- time --- */

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct manager *m = userdata;

    (void)source;
    (void)usec;
    fleet_tick(&m->fleet, clock_boot());
    return 0;
}

int manager_add_timer(struct manager *m)
{
    int rc = sd_event_add_time(m->event, &m->timer, CLOCK_BOOTTIME, UINT64_MAX, CLOCK_ACCURACY_US,
                               on_timer, m);

    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(m->timer, "jobs");
    rc = sd_event_source_set_priority(m->timer, PRIORITY_TIMER);
    if (rc < 0)
        return rc;
    return sd_event_source_set_enabled(m->timer, SD_EVENT_OFF);
}

static void arm(void *context, struct boot at)
{
    struct manager *m = context;
    int rc;

    if (at.ms == BOOT_NEVER.ms) {
        rc = sd_event_source_set_enabled(m->timer, SD_EVENT_OFF);
    } else {
        rc = sd_event_source_set_time(m->timer, clock_to_us(at));
        if (rc >= 0)
            rc = sd_event_source_set_enabled(m->timer, SD_EVENT_ONESHOT);
    }
    if (rc < 0) /* the watchdog finds what this leaves overdue */
        journal_log(LOG_ERR | MESSAGE_LIMITED, NULL, "a timer could not be set: error %d", -rc);
}

int manager_find_user(struct manager *m)
{
    struct worker_user found;
    int rc;

    if (m->user_known)
        return 0;
    rc = worker_user_find(m->generation->config, &found);
    if (rc < 0) {
        journal_log(LOG_ERR, NULL, "the user of the jobs cannot be found: %s", strerror(-rc));
        return rc;
    }
    if (!worker_user_same(&found, &m->user))
        worker_user_say(m->generation->config, &found);
    m->user = found;
    m->user_known = true;
    return 0;
}

/* --- runs --- */

/* NULL: memory is short. */
static struct past *past_of(struct device_job *d)
{
    if (!d->past)
        d->past = past_new();
    return d->past;
}

static int start(void *context, struct job *job)
{
    struct manager *m = context;
    struct device_job *d = device_job_of(job);
    struct run_entry *entry = malloc(sizeof *entry);
    int rc;

    if (!entry)
        return -ENOMEM;
    rc = past_of(d) ? run_new(&m->run_env, job, d->config, d->past, &entry->run) : -ENOMEM;
    if (rc < 0) {
        free(entry);
        return rc;
    }
    entry->owner = d;
    entry->next = m->runs;
    m->runs = entry;
    d->run = entry->run;
    return 0;
}

void manager_run_over(void *context, struct run *run)
{
    struct manager *m = context;
    struct run_entry **at = &m->runs, *entry;

    while ((*at)->run != run)
        at = &(*at)->next;
    entry = *at;
    *at = entry->next;
    if (entry->owner->run == run)
        entry->owner->run = NULL;
    free(entry);
    run_free(run);
    m->jobs_stale = m->status_stale = true;
}

void manager_unapplied(void *context, struct job *job, const char *sentence)
{
    struct manager *m = context;
    struct device_job *d = device_job_of(job);

    if (strcmp(d->past->unapplied ? d->past->unapplied : "", sentence) == 0)
        return;
    if (sentence[0])
        words_unapplied(job, sentence);
    m->port.keep(m, &d->past->unapplied, sentence);
}

bool manager_is_ours(void *context, pid_t pid)
{
    const struct manager *m = context;

    for (const struct run_entry *e = m->runs; e; e = e->next)
        if (run_pid(e->run) == pid)
            return true;
    return m->ready.pid == pid || resolver_pid(&m->resolver) == pid ||
           (m->probe && probe_owns(m->probe, pid)) || (m->reload && reload_pid(m->reload) == pid);
}

static void extend(void *context, struct job *job)
{
    (void)context;
    if (device_job_of(job)->run)
        run_extend(device_job_of(job)->run);
}

static void stop(void *context, struct job *job, enum stop_reason reason)
{
    (void)context;
    if (device_job_of(job)->run)
        run_stop(device_job_of(job)->run, reason);
}

/* --- texts --- */

static void keep(void *context, char **at, const char *text)
{
    (void)context;
    free(*at);
    *at = text && text[0] ? strdup(text) : NULL;
}

/* --- people --- */

static void report_of_job(struct device_job *d, const struct report *r, struct boot now)
{
    struct advice advice;

    words_report(&d->job, r, now);
    if (past_wants(r->kind) && past_of(d) && past_take(d->past, &d->job, r, now, &advice))
        words_advice(&d->job, &advice);
}

static void report(void *context, struct job *job, const struct report *r)
{
    struct manager *m = context;

    m->status_stale = true;
    m->clock_jumps += r->kind == REPORT_CLOCK_JUMP;
    if (r->kind == REPORT_STATE && r->to == JOB_OFF)
        m->jobs_stale = true;
    if (r->kind == REPORT_ANSWERED)
        words_fault_proven(&m->link_words);
    if (r->kind == REPORT_UNANSWERED || r->kind == REPORT_ANSWERED)
        words_fault_report(job, r, job ? &device_job_of(job)->fault : &m->fault, &m->fault);
    else if (r->kind == REPORT_CLOCK_JUMP)
        words_clock_jump(r->moved_ms, !m->store);
    else if (r->kind == REPORT_TWIN)
        words_twin(m->device);
    else if (r->kind != REPORT_BY_HAND)
        report_of_job(device_job_of(job), r, clock_boot());
    if (job)
        control_report(m->control, job, r);
}

static bool is_paused(void *context, const struct job *job, struct wall turn)
{
    const struct manager *m = context;

    return control_pauses(m->control, job, turn);
}

void manager_port_init(struct manager *m)
{
    m->port = (struct core_port){
        .context = m,
        .random = fill_random,
        .arm = arm,
        .submit = manager_submit,
        .cancel = manager_cancel,
        .start = start,
        .extend = extend,
        .stop = stop,
        .keep = keep,
        .paused = is_paused,
        .report = report,
    };
}
