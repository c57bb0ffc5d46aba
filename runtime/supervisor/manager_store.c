/* SPDX-License-Identifier: MIT
 * Which store this rotad has: Redis, or its own memory; or both, where some jobs' turns are this
 * device's alone. */
#include "base/cleanup.h"
#include "base/units.h"
#include "config/fleet_summary.h"
#include "config/secret.h"
#include "core/fleet_need.h"
#include "supervisor/clock.h"
#include "supervisor/journal.h"
#include "supervisor/local_module.h"
#include "supervisor/manager.h"
#include "supervisor/process.h"
#include "supervisor/server_settings.h"
#include "supervisor/topology_module.h"
#include "supervisor/words_clock.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Keys of jobs in one hello: some hundred, by the length of their names. */
#define HELLO_ROOM_SIZE 4096
/* No question so soon: all jobs have asked their first. */
#define CALM_MS SECOND_MS

void manager_submit(void *context, struct store_call *call, bool urgent)
{
    struct manager *m = context;

    if (!m->store || call->local)
        m->local_module->submit(m->local, call);
    else
        redis_store_submit(m->store, call, urgent);
}

void manager_cancel(void *context, struct store_call *call)
{
    struct manager *m = context;

    if (m->store && !call->local)
        redis_store_cancel(m->store, call);
    else if (m->local)
        m->local_module->cancel(m->local, call);
}

/* While Redis was never reached, and cannot be, some jobs go by this device's own clock. */
static void offer_own_time(struct manager *m)
{
    struct boot now = clock_boot();
    struct wall own;

    if (m->store && m->local && m->link_words.down && !m->fleet.clock.known &&
        m->local_module->time(m->local, now, &own))
        fleet_own_time(&m->fleet, now, own);
}

/* A password of the store. */
struct store_password {
    char **text; /* in the configuration */
    const char *key, *file;
    size_t of; /* as redis_store_set_password() has it */
};

/* The i-th: each server's of a quorum, else the one server's and that of the sentinels. */
static bool password_at(struct redis_config *redis, size_t i, struct store_password *ret_password)
{
    static const char server[] = "redis.password_file";

    if (i < redis->server_count)
        *ret_password = (struct store_password){ &redis->servers[i].password, server,
                                                 redis->servers[i].password_file, i };
    else if (i == 0)
        *ret_password =
            (struct store_password){ &redis->password, server, redis->password_file, 0 };
    else if (i == 1 && redis->sentinels.count > 0)
        *ret_password =
            (struct store_password){ &redis->sentinel_password, "redis.sentinel_password_file",
                                     redis->sentinel_password_file, REDIS_PASSWORD_OF_SENTINELS };
    else
        return false;
    return true;
}

static void read_password_again(struct manager *m, const struct store_password *p)
{
    char why[TRUST_WHY_SIZE], *password = NULL;
    int rc = secret_read("", p->file, &password, why);

    if (rc >= 0)
        rc = redis_store_set_password(m->store, p->of, password);
    secret_free(password);
    if (rc > 0)
        journal_log(LOG_NOTICE | MESSAGE_PASSWORD_CHANGED, NULL,
                    "%s '%s' has another password now; it is tried", p->key, p->file);
    if (rc >= 0 || rc == -ENOMEM || m->password_missed)
        return;
    m->password_missed = true;
    journal_log(LOG_ERR | MESSAGE_PASSWORD_UNREADABLE, NULL,
                "%s '%s' is not used: %s; the password that rotad has is tried on", p->key, p->file,
                why);
}

/* After a rotation a file may have the new password by the time that Redis refuses the old. */
void manager_read_passwords(struct manager *m)
{
    struct store_password p;

    for (size_t i = 0; password_at(&m->generation->config->redis, i, &p); i++)
        if (p.file)
            read_password_again(m, &p);
}

static void clock_was_set(void *context)
{
    const struct manager *m = context;

    redis_store_retry(m->store);
}

/* A certificate that is not valid yet, or that seems to have expired, may be good as soon as the
 * clock is right. Where the watch cannot be had, the next try comes in its time. */
static void watch_clock(struct manager *m, bool wanted)
{
    bool watched = m->clock_watch.source != NULL;

    if (wanted && !watched)
        (void)wall_clock_watch(&m->clock_watch, m->event, PRIORITY_STORE, clock_was_set, m);
    else if (!wanted)
        wall_clock_done(&m->clock_watch);
}

static void link_changed(void *context, const struct redis_link_change *change)
{
    struct manager *m = context;

    m->status_stale = true;
    words_fault_link(&m->link_words, change, m->fleet.missed, clock_boot());
    if (change->state == REDIS_LINK_UP || change->state == REDIS_LINK_WAITING)
        watch_clock(m, change->fault == FAULT_CLOCK || change->fault == FAULT_OPERATOR);
    if (change->state == REDIS_LINK_UP)
        m->password_missed = false;
    else if (change->state == REDIS_LINK_WAITING && change->fault == FAULT_OPERATOR)
        manager_read_passwords(m);
    offer_own_time(m);
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

/* The store has its own. */
static void forget_passwords(struct manager *m)
{
    struct store_password p;

    for (size_t i = 0; password_at(&m->generation->config->redis, i, &p); i++) {
        secret_free(*p.text);
        *p.text = NULL;
    }
}

/* One server, or what a module makes of several. */
static int make_store(struct manager *m, const struct redis_settings *settings,
                      const struct redis_store_env *env)
{
    const struct topology_module *module;
    char why[LIBRARY_WHY_SIZE];

    if (settings->sentinel_count == 0 && !settings->cluster && settings->server_count == 0)
        return redis_node_new(settings, env, &m->store);
    module = (const void *)module_load(process_topology_path(), TOPOLOGY_SYMBOL, why);
    if (module)
        return module->make(settings, env, &m->store);
    journal_log(LOG_ERR | MESSAGE_JOB_INVALID, NULL,
                "redis.sentinels, cluster and quorum cannot be used: %s; " MODULE_ADVICE, why);
    return -ELIBACC;
}

static int open_redis(struct manager *m)
{
    struct redis_store_env env = { .event = m->event,
                                   .priority = PRIORITY_STORE,
                                   .random = m->port.random,
                                   .watch = link_changed,
                                   .resolve = resolve,
                                   .resolve_cancel = resolve_cancel,
                                   .context = m };
    CLEANUP_FREE struct redis_endpoint *endpoints = NULL;
    struct redis_settings settings;
    int rc;

    endpoints = server_settings_fill(m->generation->config, m->device, &settings);
    if (!endpoints)
        return -ENOMEM;
    rc = make_store(m, &settings, &env);
    if (rc >= 0)
        forget_passwords(m);
    return rc;
}

void manager_take_password(struct manager *m)
{
    struct store_password p;

    /* Where memory is short, the old one is refused, and the file read again. */
    for (size_t i = 0; password_at(&m->generation->config->redis, i, &p); i++)
        (void)redis_store_set_password(m->store, p.of, *p.text);
    forget_passwords(m);
    redis_store_retry(m->store);
}

/* What reading, probing and the first questions took, which is not needed for the years to come. */
static void give_back_memory(struct manager *m, struct boot next)
{
    if (!m->jobs_new || !m->fleet.clock.known ||
        boot_reached(boot_add(clock_boot(), CALM_MS), next))
        return;
    m->jobs_new = false;
    (void)malloc_trim(0);
}

void manager_expect(struct manager *m)
{
    struct store_need need = fleet_need(&m->fleet);

    give_back_memory(m, need.next);
    if (m->store)
        redis_store_expect(m->store, &need);
}

static void clock_moved(void *context, const struct store_reply *sample)
{
    struct manager *m = context;

    m->status_stale = true;
    if (m->store)
        offer_own_time(m);
    else
        fleet_sample(&m->fleet, sample);
}

static void clock_news(void *context, enum device_clock_news news)
{
    struct manager *m = context;

    m->status_stale = true;
    /* Beside Redis nobody waits for it; what does is said to wait for the fleet's clock. */
    if (!m->store)
        words_clock_news(m->local_module->clock(m->local), news, clock_boot());
    else if (news == DEVICE_CLOCK_BELIEVED)
        offer_own_time(m);
}

static bool fleet_time(void *context, struct boot now, struct wall *ret_time)
{
    const struct manager *m = context;

    if (!m->fleet.clock.known)
        return false;
    *ret_time = fleet_clock_at(&m->fleet.clock, now);
    return true;
}

/* Tried anew for each job: what is missing may be there again. */
static bool has_local_module(struct manager *m)
{
    char why[LIBRARY_WHY_SIZE];

    if (m->local_module)
        return true;
    m->local_module = (const void *)module_load(process_local_path(), LOCAL_SYMBOL, why);
    if (!m->local_module && !m->local_missed)
        journal_log(LOG_ERR | MESSAGE_JOB_INVALID, NULL,
                    "turns of this device alone cannot be kept: %s; " MODULE_ADVICE, why);
    m->local_missed = !m->local_module;
    return m->local_module;
}

static int open_local(struct manager *m)
{
    struct local_store_env env = { .event = m->event,
                                   .priority = PRIORITY_STORE,
                                   .moved = clock_moved,
                                   .fleet_time = m->store ? fleet_time : NULL,
                                   .clock_news = clock_news,
                                   .context = m };

    return has_local_module(m) ? m->local_module->make(&env, &m->local) : -ELIBACC;
}

bool manager_has_store(const struct manager *m)
{
    return m->store || m->local;
}

static void describe(void *context, char **at)
{
    const struct manager *m = context;

    free(*at);
    *at = NULL;
    (void)fleet_summary_text(m->generation->config, at); /* where memory is short, it is not told */
}

int manager_introduce(struct manager *m)
{
    const struct config *c = m->generation->config;
    char before[FINGERPRINT_SIZE];

    memcpy(before, m->digest, sizeof before);
    fleet_summary_digest(c, m->digest);
    if (m->room && strcmp(before, m->digest) == 0)
        return 0;
    if (!m->room)
        m->room = malloc(HELLO_ROOM_SIZE);
    if (!m->room)
        return -ENOMEM;
    fleet_introduce(&m->fleet,
                    &(struct fleet_self){ .version = ROTA_VERSION,
                                          .digest = m->digest,
                                          .checkin_ms = c->fleet.checkin_ms,
                                          .turns_all = c->fleet.turns_all,
                                          .describe = describe,
                                          .room = m->room,
                                          .room_size = HELLO_ROOM_SIZE },
                    clock_boot());
    return 0;
}

static int open_shared(struct manager *m)
{
    int rc = manager_introduce(m);

    return rc < 0 ? rc : open_redis(m);
}

int manager_prepare(struct manager *m)
{
    int rc = manager_find_user(m);

    if (rc < 0)
        return rc;
    if (manager_has_store(m))
        return 0;
    return m->generation->config->store == CONFIG_STORE_LOCAL ? open_local(m) : open_shared(m);
}

static bool is_kept_here(const struct manager *m, const struct job_spec *spec)
{
    return !m->store || spec->lock == LOCK_NONE || spec->run_unreachable;
}

int manager_open_job(struct manager *m, const struct job_spec *spec)
{
    int rc = 0;

    if (!is_kept_here(m, spec))
        return 0;
    if (!m->local)
        rc = open_local(m);
    return rc < 0 ? rc : m->local_module->open(m->local, spec->key);
}

void manager_close_job(struct manager *m, const struct job_spec *spec)
{
    if (is_kept_here(m, spec))
        m->local_module->close(m->local, spec->key);
}
