/* SPDX-License-Identifier: MIT
 * The method Status: how rotad is, and each of its jobs. What is not known is left out. */
#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "supervisor/control_hand.h"
#include "supervisor/control_internal.h"
#include "supervisor/manager.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct boot control_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (struct boot){ (int64_t)t.tv_sec * SECOND_MS + t.tv_nsec / 1000000 };
}

/* --- rotad --- */

/* By the kernel: the 22nd field of its stat, in ticks since boot. The second field is the program's
 * name, in parentheses. */
int64_t control_uptime_ms(struct boot now)
{
    CLEANUP_CLOSE int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    char text[1024];
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    long ticks = sysconf(_SC_CLK_TCK);
    unsigned long long begun;
    const char *at;
    char *end;

    if (got <= 0 || ticks <= 0)
        return -1;
    text[got] = '\0';
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return -1;
    begun = strtoull(at, &end, 10);
    if (end == at)
        return -1;
    return now.ms - (int64_t)(begun * 1000 / (uint64_t)ticks);
}

/* A mistake that is none of a job, for which a file is not in use. */
static const char *unread_file(const struct config *c)
{
    for (size_t i = 0; i < c->problems.count; i++) {
        const struct problem *p = &c->problems.items[i];

        if (p->level == PROBLEM_ERROR && strncmp(p->text, "job '", 5) != 0)
            return p->file;
    }
    return NULL;
}

bool control_uses_tls(const struct config *c)
{
    const struct redis_addresses *all = &c->redis.addresses;

    return c->redis.tls && (c->redis.sentinels.count > 0 || c->redis.server_count > 0 ||
                            (all->count > 0 && all->items[0].kind != ADDRESS_UNIX));
}

/* By the samples of fleet time: the best one's error is half of the way there and back. */
static int add_clock(sd_bus_message *reply, const struct fleet_clock *c, struct boot now)
{
    struct wall at;
    int rc;

    if (!c->known)
        return 0;
    at = wall_add((struct wall){ now.ms }, c->offset_ms);
    rc = control_add_number(reply, "now", at.ms);
    if (rc >= 0)
        rc = control_add_number(reply, "ours_ms", control_clock(CLOCK_REALTIME).ms - at.ms);
    return rc < 0 ? rc : control_add_number(reply, "trip_ms", 2 * c->error_ms);
}

/* As it is written, the first of them; but the master as its sentinels name it, of a cluster that
 * it is one, and of a quorum how many of its servers have answered. */
static int add_server(sd_bus_message *reply, const struct manager *m)
{
    const struct redis_config *redis = &m->generation->config->redis;
    struct redis_store_facts facts = { 0 };
    char words[48];
    int rc;

    if (m->store)
        redis_store_facts(m->store, &facts);
    if (redis->sentinels.count > 0) {
        rc = control_add_text(reply, "server", facts.endpoint ? facts.endpoint : redis->master);
        return rc < 0 ? rc : control_add_text(reply, "master", facts.endpoint);
    }
    if (redis->cluster)
        return control_add_text(reply, "server", "a cluster");
    if (redis->server_count == 0)
        return control_add_text(reply, "server",
                                redis->addresses.count > 0 ? redis->addresses.items[0].text : NULL);
    (void)snprintf(words, sizeof(words), "a quorum of %zu", redis->server_count);
    rc = control_add_text(reply, "server", words);
    if (rc >= 0)
        rc = control_add_number(reply, "servers", (int64_t)redis->server_count);
    return rc < 0 ? rc : control_add_number(reply, "servers_ok", (int64_t)facts.up);
}

static int add_redis(sd_bus_message *reply, const struct manager *m, struct boot now)
{
    const struct words_fault_link *link = &m->link_words;
    const char *state = m->fleet.clock.known ? "ok" : "not yet reached";
    const char *why = m->fault.said ? m->fault.said->text : NULL;
    int rc;

    if (link->down) {
        state = "unreachable";
        why = link->text;
    } else if (why) {
        state = "refuses";
    }
    rc = add_server(reply, m);
    if (rc >= 0)
        rc = control_add_text(reply, "redis", state);
    if (rc >= 0)
        rc = control_add_text(reply, "redis_why", why);
    if (rc >= 0 && link->down)
        rc = control_add_number(reply, "redis_down_ms", boot_between(link->since, now));
    if (rc >= 0)
        rc = control_add_flag(reply, "tls", control_uses_tls(m->generation->config));
    return rc < 0 ? rc : add_clock(reply, &m->fleet.clock, now);
}

static int add_rotad(sd_bus_message *reply, const struct manager *m, struct boot now)
{
    const struct config *c = m->generation->config;
    int64_t uptime_ms = control_uptime_ms(now);
    int rc = control_add_text(reply, "version", ROTA_VERSION);

    if (rc >= 0 && uptime_ms >= 0)
        rc = control_add_number(reply, "uptime_ms", uptime_ms);
    if (rc >= 0)
        rc = control_add_text(reply, "fleet", c->prefix);
    if (rc >= 0)
        rc = control_add_text(reply, "unread", unread_file(c));
    if (rc >= 0)
        rc = control_add_flag(reply, "draining", m->draining);
    if (rc >= 0)
        rc = control_add_flag(reply, "busy", m->runs != NULL);
    if (rc >= 0)
        rc = control_add_number(reply, "missed", (int64_t)m->fleet.missed);
    if (rc >= 0 && m->store)
        rc = add_redis(reply, m, now);
    else if (rc >= 0 && m->local)
        rc = control_add_text(reply, "store", "local");
    return rc;
}

/* --- a job --- */

const char *control_bar_word(const struct job *j)
{
    static const char *const words[] = {
        [JOB_MISMATCHED] = "mismatch", [JOB_PAUSED] = "paused", [JOB_BLOCKED] = "blocked",
        [JOB_OUTDATED] = "outdated",   [JOB_NEWER] = "newer",
    };

    if (j->apart)
        return "mismatch";
    return j->bar < sizeof words / sizeof words[0] ? words[j->bar] : NULL;
}

bool control_has_lease(const struct job *j)
{
    return j->spec->lock != LOCK_NONE && j->lease.way != LEASE_WITHOUT_LOCK;
}

static bool is_running(const struct job *j)
{
    return j->state == JOB_STARTING || j->state == JOB_RUNNING || j->state == JOB_STOPPING;
}

static bool has_turn(const struct job *j)
{
    return j->state != JOB_WAITING && j->state != JOB_NO_CLOCK && j->state != JOB_OFF;
}

/* The newest turn that this device has to do with, or had. One that was run by hand without its
 * lock is a turn that the store, and so the job's state, knows nothing of. */
static struct wall last_turn(const struct device_job *d)
{
    const struct job *j = &d->job;

    if (has_turn(j))
        return j->turn;
    if (d->past && d->past->runs[0].turn.ms > j->settled.ms)
        return d->past->runs[0].turn;
    return j->settled;
}

/* The run under way, or the newest one. */
static int add_run(sd_bus_message *reply, const struct device_job *d, struct boot now)
{
    const struct job *j = &d->job;
    const struct past_run *last = d->past && d->past->runs[0].attempt ? &d->past->runs[0] : NULL;
    int rc = 0;

    if (j->state == JOB_RUNNING || j->state == JOB_STOPPING)
        rc = control_add_number(reply, "ran_ms", boot_between(j->since, now));
    if (rc >= 0 && is_running(j))
        rc = control_add_number(reply, "attempt", j->lease.attempt);
    if (rc < 0 || !last)
        return rc;
    rc = control_add_text(reply, "outcome", outcome_name(last->outcome));
    if (rc >= 0)
        rc = control_add_text(reply, "outcome_why", last->why);
    if (rc >= 0)
        rc = control_add_number(reply, "outcome_turn", last->turn.ms);
    if (rc >= 0)
        rc = control_add_number(reply, "outcome_attempt", last->attempt);
    return rc < 0 ? rc : control_add_number(reply, "outcome_ms", last->ran_ms);
}

/* The newest turn, where this device has nothing to do with it any more by what the store said. */
static int add_settled(sd_bus_message *reply, const struct device_job *d)
{
    const struct job *j = &d->job;
    enum acquire_answer answer = (enum acquire_answer)j->lease.answer;
    int rc;

    /* One that nobody was asked for, or that a jump of the clock led over. */
    if (has_turn(j) || j->settled.ms != j->turn.ms || last_turn(d).ms != j->settled.ms)
        return 0;
    if (answer == ACQUIRE_EXHAUSTED)
        return control_add_text(reply, "turn_went", "given up");
    /* Settled, but by nobody that is known: perhaps nobody has run it. */
    if (!j->holder || (answer != ACQUIRE_DONE && answer != ACQUIRE_HELD))
        return 0;
    rc = control_add_text(reply, "turn_went", answer == ACQUIRE_DONE ? "done" : "taken");
    return rc < 0 ? rc : control_add_text(reply, "turn_by", j->holder);
}

/* In wall time, which is by the clock that the job goes by. */
static int add_times(sd_bus_message *reply, const struct device_job *d, struct boot now)
{
    const struct job *j = &d->job;
    const struct fleet_clock *clock = job_time(j);
    struct wall last = last_turn(d), next;
    int64_t to_wall = clock->offset_ms;
    int rc = 0;

    if (last.ms > 0)
        rc = control_add_number(reply, "turn", last.ms);
    if (rc < 0 || !clock->known || j->state == JOB_OFF)
        return rc;
    next = wall_add((struct wall){ now.ms }, to_wall);
    next = schedule_next(&j->spec->schedule, next.ms > j->settled.ms ? next : j->settled);
    rc = control_add_number(reply, "next", next.ms);
    if (rc >= 0 && j->state == JOB_WATCHING)
        rc = control_add_number(reply, "again", time_add_ms(j->at.ms, to_wall));
    return rc;
}

int control_add_job(sd_bus_message *reply, const struct device_job *d, struct boot now)
{
    const struct job *j = &d->job;
    int rc = add_times(reply, d, now);

    if (rc >= 0)
        rc = add_settled(reply, d);
    if (rc >= 0)
        rc = add_run(reply, d, now);
    if (rc >= 0)
        rc = control_add_number(reply, "attempts", j->spec->attempts);
    if (rc >= 0)
        rc = control_add_number(reply, "limit_ms", j->spec->timing.worst_case_ms);
    if (rc >= 0 && j->state == JOB_WATCHING)
        rc = control_add_text(reply, "holder", j->holder);
    if (rc >= 0)
        rc = control_add_text(reply, "bar", control_bar_word(j));
    if (rc >= 0)
        rc = control_add_flag(reply, "mixed", j->mixed);
    if (rc >= 0)
        rc = control_add_flag(reply, "stuck", j->tree_left);
    if (rc >= 0)
        rc = control_add_flag(reply, "slow", d->past && d->past->advice.kind == ADVICE_SHORT);
    return rc < 0 ? rc
                  : control_add_text(reply, "fault", d->fault.said ? d->fault.said->text : NULL);
}

const char *control_job_state(const struct job_config *c, const struct device_job *d)
{
    if (c->invalid)
        return "INVALID";
    if (!config_job_runs(c))
        return c->enabled ? "ELSEWHERE" : "DISABLED";
    return d ? job_state_name(d->job.state) : "OFF";
}

/* d: NULL where it takes no turns here. */
static int append_job(sd_bus_message *reply, const struct manager *m, const struct job_config *c,
                      const struct device_job *d, struct boot now)
{
    int rc = sd_bus_message_open_container(reply, 'r', "sa{sv}");

    if (rc >= 0)
        rc = sd_bus_message_append(reply, "s", c->name);
    if (rc >= 0)
        rc = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (rc >= 0)
        rc = control_add_text(reply, "state", control_job_state(c, d));
    if (rc >= 0 && c->invalid)
        rc = control_add_text(reply, "why", c->invalid_why);
    if (rc >= 0 && d)
        rc = control_add_job(reply, d, now);
    if (rc >= 0)
        rc = control_add_text(reply, "paused_here", control_pause_text(m->control, c->name));
    if (rc >= 0)
        rc = sd_bus_message_close_container(reply);
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

const struct device_job *control_find_job(const struct device_job **at, const char *name)
{
    int order = -1;

    while (*at && (order = strcmp((*at)->config->name, name)) < 0)
        *at = (*at)->next;
    return *at && order == 0 ? *at : NULL;
}

static int append_jobs(sd_bus_message *reply, const struct manager *m, struct boot now)
{
    const struct config *c = m->generation->config;
    const struct device_job *at = m->jobs;
    int rc = sd_bus_message_open_container(reply, 'a', "(sa{sv})");

    for (size_t i = 0; i < c->job_count && rc >= 0; i++)
        rc = append_job(reply, m, &c->jobs[i], control_find_job(&at, c->jobs[i].name), now);
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

static int append_status(sd_bus_message *reply, const struct manager *m)
{
    struct boot now = control_clock(CLOCK_BOOTTIME);
    int rc = sd_bus_message_append(reply, "ss", m->device, health_text(m->health));

    if (rc >= 0)
        rc = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (rc >= 0)
        rc = add_rotad(reply, m, now);
    if (rc >= 0)
        rc = sd_bus_message_close_container(reply);
    return rc < 0 ? rc : append_jobs(reply, m, now);
}

int control_status(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    sd_bus_message *reply = NULL;
    int rc = sd_bus_message_new_method_return(m, &reply);

    (void)error;
    if (rc >= 0)
        rc = append_status(reply, client->control->manager);
    if (rc >= 0)
        rc = sd_bus_send(client->bus, reply, NULL);
    sd_bus_message_unref(reply);
    return rc;
}
