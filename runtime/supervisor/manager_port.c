/* SPDX-License-Identifier: MIT
 * The core's wishes, done. */
#include "base/cleanup.h"
#include "supervisor/clock.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"
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

static int on_job_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct device_job *d = userdata;

    (void)source;
    (void)usec;
    job_tick(&d->job, clock_boot());
    return 0;
}

static int on_fleet_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct manager *m = userdata;

    (void)source;
    (void)usec;
    fleet_tick(&m->fleet, clock_boot());
    return 0;
}

static int add_timer(sd_event *event, sd_event_source **ret, sd_event_time_handler_t handler,
                     void *userdata)
{
    int rc = sd_event_add_time(event, ret, CLOCK_BOOTTIME, UINT64_MAX, CLOCK_ACCURACY_US, handler,
                               userdata);

    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(*ret, "job");
    rc = sd_event_source_set_priority(*ret, PRIORITY_TIMER);
    if (rc < 0)
        return rc;
    return sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

int manager_job_timer(struct device_job *d)
{
    return add_timer(d->manager->event, &d->timer, on_job_timer, d);
}

int manager_fleet_timer(struct manager *m)
{
    return add_timer(m->event, &m->fleet_timer, on_fleet_timer, m);
}

static void set_timer(sd_event_source *timer, struct boot at)
{
    int rc;

    if (at.ms == BOOT_NEVER.ms) {
        rc = sd_event_source_set_enabled(timer, SD_EVENT_OFF);
    } else {
        rc = sd_event_source_set_time(timer, clock_to_us(at));
        if (rc >= 0)
            rc = sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
    }
    if (rc < 0) /* the watchdog finds what this leaves overdue */
        journal_log(LOG_ERR, NULL, "a timer could not be set: error %d", -rc);
}

static void arm(void *context, struct job *job, struct boot at)
{
    struct manager *m = context;

    set_timer(job ? device_job_of(job)->timer : m->fleet_timer, at);
}

/* --- store --- */

static void submit(void *context, struct store_call *call, bool urgent)
{
    struct manager *m = context;

    redis_store_submit(m->store, call, urgent);
}

static void cancel(void *context, struct store_call *call)
{
    struct manager *m = context;

    if (m->store)
        redis_store_cancel(m->store, call);
}

static void link_changed(void *context, const struct redis_link_change *change)
{
    struct manager *m = context;

    m->status_stale = true;
    words_fault_link(&m->link_words, change, m->fleet.missed, clock_boot());
}

static int resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    struct manager *m = context;

    return resolver_ask(&m->resolver, host, port, lookup);
}

static void resolve_cancel(void *context, struct redis_lookup *lookup)
{
    struct manager *m = context;

    (void)lookup;
    resolver_cancel(&m->resolver);
}

static int open_store(struct manager *m)
{
    const struct config *c = m->generation->config;
    const struct redis_config *r = &c->redis;
    struct redis_store_env env = { .event = m->event,
                                   .priority = PRIORITY_STORE,
                                   .random = fill_random,
                                   .watch = link_changed,
                                   .resolve = resolve,
                                   .resolve_cancel = resolve_cancel,
                                   .context = m };
    CLEANUP_FREE struct redis_endpoint *endpoints = NULL;

    endpoints = calloc(r->address_count, sizeof *endpoints);
    if (!endpoints)
        return -ENOMEM;
    for (size_t i = 0; i < r->address_count; i++)
        endpoints[i] = (struct redis_endpoint){
            .is_unix = r->addresses[i].kind == ADDRESS_UNIX,
            .host = r->addresses[i].host,
            .port = r->addresses[i].port,
            .text = r->addresses[i].text,
        };
    return redis_store_new(
        &(struct redis_settings){
            .endpoints = endpoints,
            .endpoint_count = r->address_count,
            .prefix = c->prefix,
            .client_name = m->device,
            .username = r->username,
            .password = r->password,
            .database = r->database,
            .connect_timeout_ms = r->connect_timeout_ms,
            .command_timeout_ms = r->command_timeout_ms,
            .backoff_min_ms = r->backoff_min_ms,
            .backoff_max_ms = r->backoff_max_ms,
            .keepalive_ms = r->keepalive_ms,
        },
        &env, &m->store);
}

int manager_find_user(struct manager *m)
{
    int rc;

    if (m->user_known)
        return 0;
    rc = worker_user_find(m->generation->config, &m->user);
    if (rc < 0) {
        journal_log(LOG_ERR, NULL, "the user of the jobs cannot be found: %s", strerror(-rc));
        return rc;
    }
    worker_user_say(m->generation->config, &m->user);
    m->user_known = true;
    return 0;
}

int manager_prepare(struct manager *m)
{
    int rc = manager_find_user(m);

    if (rc < 0)
        return rc;
    return m->store ? 0 : open_store(m);
}

/* --- runs --- */

static int start(void *context, struct job *job)
{
    struct manager *m = context;
    struct device_job *d = device_job_of(job);
    struct run_entry *entry = malloc(sizeof *entry);
    int rc;

    if (!entry)
        return -ENOMEM;
    rc = run_new(&m->run_env, job, d->config, &entry->run);
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
    m->jobs_stale = true;
}

bool manager_is_ours(void *context, pid_t pid)
{
    const struct manager *m = context;

    for (const struct run_entry *e = m->runs; e; e = e->next)
        if (run_pid(e->run) == pid)
            return true;
    return resolver_pid(&m->resolver) == pid || (m->probe && probe_owns(m->probe, pid)) ||
           (m->reload && reload_pid(m->reload) == pid);
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

/* --- people --- */

static void report(void *context, struct job *job, const struct report *r)
{
    struct manager *m = context;

    m->status_stale = true;
    if (r->kind == REPORT_STATE && r->to == JOB_OFF)
        m->jobs_stale = true;
    if (r->kind == REPORT_UNANSWERED || r->kind == REPORT_ANSWERED)
        words_fault_report(job, r, job ? &device_job_of(job)->fault : &m->fault, &m->fault);
    else
        words_report(job, r, clock_boot());
}

void manager_port_init(struct manager *m)
{
    m->port = (struct core_port){
        .context = m,
        .random = fill_random,
        .arm = arm,
        .submit = submit,
        .cancel = cancel,
        .start = start,
        .extend = extend,
        .stop = stop,
        .report = report,
    };
}
