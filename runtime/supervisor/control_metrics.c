/* SPDX-License-Identifier: MIT
 * What a monitor is told of rotad itself, and of its Redis. */
#include "supervisor/control_metrics.h"
#include "base/cleanup.h"
#include "redis/traffic.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define GAUGE(text, words)                                                                         \
    &(const struct openmetrics_family)                                                             \
    {                                                                                              \
        .name = (text), .help = (words)                                                            \
    }
#define COUNTER(text, words)                                                                       \
    &(const struct openmetrics_family)                                                             \
    {                                                                                              \
        .name = (text), .help = (words), .counts = true                                            \
    }
#define SECONDS(text, words)                                                                       \
    &(const struct openmetrics_family)                                                             \
    {                                                                                              \
        .name = (text), .unit = "seconds", .help = (words), .in_ms = true                          \
    }

/* --- the process --- */

static void write_info(const struct openmetrics *o, const struct manager *m)
{
    const struct openmetrics_family *f =
        GAUGE("rota_info", "Always 1; the labels name the device, its fleet and its rota.");

    openmetrics_head(o, f);
    openmetrics_sample(
        o, f,
        &(struct openmetrics_sample){ .labels = { { "device", m->device },
                                                  { "fleet", m->generation->config->prefix },
                                                  { "version", ROTA_VERSION } },
                                      .value = 1 });
}

/* In kB, from a line "Rss:   1234 kB" of /proc/self/smaps_rollup; -1: there is none. */
static int64_t find_kb(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    char *end;
    int64_t kb;

    if (!at)
        return -1;
    at += strlen(name);
    kb = strtoll(at, &end, 10);
    return end > at ? kb : -1;
}

static void write_memory(const struct openmetrics *o)
{
    static const struct openmetrics_family family = {
        .name = "rota_memory_bytes", .unit = "bytes", .help = "Memory of rotad, without its jobs."
    };
    static const struct {
        const char *line, *kind;
    } kinds[] = { { "\nRss:", "resident" }, { "\nPrivate_Dirty:", "private_dirty" } };
    CLEANUP_CLOSE int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    char text[2048];
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (got <= 0)
        return;
    text[got] = '\0';
    openmetrics_head(o, &family);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int64_t kb = find_kb(text, kinds[i].line);

        if (kb >= 0)
            openmetrics_sample(o, &family,
                               &(struct openmetrics_sample){
                                   .labels = { { "kind", kinds[i].kind } }, .value = kb * 1024 });
    }
}

static void write_cpu(const struct openmetrics *o)
{
    static const struct openmetrics_family family = {
        .name = "rota_cpu_seconds",
        .unit = "seconds",
        .help = "Time on a processor of rotad, without its jobs.",
        .counts = true,
        .in_ms = true,
    };
    struct rusage used;
    int64_t us;

    if (getrusage(RUSAGE_SELF, &used) < 0)
        return;
    us = used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    openmetrics_alone(o, &family,
                      ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 + us / 1000);
}

static void write_process(const struct openmetrics *o, const struct manager *m, struct boot now)
{
    int64_t wall_ms = control_clock(CLOCK_REALTIME).ms, uptime_ms = control_uptime_ms(now);

    write_info(o, m);
    openmetrics_alone(
        o,
        SECONDS("rota_metrics_timestamp_seconds", "When this was written, by the device's clock."),
        wall_ms);
    if (uptime_ms >= 0)
        openmetrics_alone(o,
                          SECONDS("rota_start_timestamp_seconds",
                                  "When rotad was started, by the device's clock."),
                          wall_ms - uptime_ms);
    write_memory(o);
    write_cpu(o);
    openmetrics_alone(o, GAUGE("rota_draining", "1: this device starts no run, as asked for."),
                      m->draining);
}

/* --- the configuration --- */

static void write_configuration(const struct openmetrics *o, const struct manager *m)
{
    static const char *const words[] = { "runs", "invalid", "disabled", "elsewhere" };
    const struct openmetrics_family *f =
        GAUGE("rota_jobs", "Jobs of the configuration; those of state runs take turns here.");
    const struct config *c = m->generation->config;
    int64_t counts[4] = { 0 };

    for (size_t i = 0; i < c->job_count; i++) {
        const struct job_config *job = &c->jobs[i];

        counts[job->invalid ? 1 : !job->enabled ? 2 : job->elsewhere ? 3 : 0]++;
    }
    openmetrics_head(o, f);
    for (size_t i = 0; i < 4; i++)
        openmetrics_sample(o, f,
                           &(struct openmetrics_sample){ .labels = { { "state", words[i] } },
                                                         .value = counts[i] });
    openmetrics_alone(o,
                      GAUGE("rota_configuration_mistakes",
                            "Mistakes in the files that are in use; what they are about does not "
                            "run."),
                      (int64_t)c->problems.errors);
}

/* --- fleet time --- */

static void write_clock(const struct openmetrics *o, const struct manager *m, struct boot now)
{
    const struct fleet_clock *clock = &m->fleet.clock;

    openmetrics_alone(o, GAUGE("rota_clock_known", "1: the time that turns go by is known."),
                      clock->known);
    openmetrics_alone(
        o, COUNTER("rota_clock_jumps", "How often that time has jumped by more than 2 s."),
        m->clock_jumps);
    if (clock->known)
        openmetrics_alone(o,
                          SECONDS("rota_clock_offset_seconds",
                                  "By how much the device's clock is ahead of that time."),
                          control_clock(CLOCK_REALTIME).ms - time_add_ms(now.ms, clock->offset_ms));
}

/* --- Redis --- */

static void write_faults(const struct openmetrics *o, const struct manager *m)
{
    const struct openmetrics_family *f =
        COUNTER("rota_redis_faults", "Requests that had no answer that counts, by what was wrong.");

    openmetrics_head(o, f);
    for (unsigned fault = FAULT_LINK; fault < FAULT_COUNT; fault++)
        openmetrics_sample(
            o, f,
            &(struct openmetrics_sample){ .labels = { { "fault", fault_name((enum fault)fault) } },
                                          .value = (int64_t)m->fleet.faults[fault] });
}

static void write_traffic(const struct openmetrics *o, const struct redis_traffic *t)
{
    static const struct openmetrics_family sent = {
        .name = "rota_redis_sent_bytes",
        .unit = "bytes",
        .help = "Sent to Redis, with TLS, without what TCP adds.",
        .counts = true,
    };
    static const struct openmetrics_family received = {
        .name = "rota_redis_received_bytes",
        .unit = "bytes",
        .help = "Received from Redis, with TLS, without what TCP adds.",
        .counts = true,
    };

    openmetrics_alone(o,
                      COUNTER("rota_redis_connections",
                              "Connections on which Redis has answered; all but the first were "
                              "made anew."),
                      t->connections);
    openmetrics_alone(o, &sent, (int64_t)t->sent_bytes);
    openmetrics_alone(o, &received, (int64_t)t->received_bytes);
}

static void write_redis(const struct openmetrics *o, const struct manager *m)
{
    struct redis_store_facts facts;

    if (!m->store)
        return;
    openmetrics_alone(
        o, GAUGE("rota_redis_up", "0: Redis cannot be reached; 1: it can, as far as is known."),
        !m->link_words.down);
    openmetrics_alone(
        o, GAUGE("rota_redis_refuses", "1: Redis answers, but refuses what is asked of it."),
        m->fault.said != NULL);
    if (m->fleet.clock.known)
        openmetrics_alone(o,
                          SECONDS("rota_redis_trip_seconds",
                                  "The shortest way to Redis and back of the last time."),
                          2 * m->fleet.clock.error_ms);
    write_faults(o, m);
    redis_store_facts(m->store, &facts);
    if (m->generation->config->redis.server_count > 0) {
        openmetrics_alone(o, GAUGE("rota_redis_servers", "Servers of the quorum."),
                          (int64_t)facts.servers);
        openmetrics_alone(
            o, GAUGE("rota_redis_servers_up", "Those of them that serve, as far as is known."),
            (int64_t)facts.up);
    }
    write_traffic(o, &facts.traffic);
}

/* --- all --- */

void control_metrics_write(const struct openmetrics *o, const struct manager *m)
{
    struct boot now = control_clock(CLOCK_BOOTTIME);

    write_process(o, m, now);
    write_configuration(o, m);
    openmetrics_alone(o,
                      COUNTER("rota_turns_missed",
                              "Turns that fell due and passed while Redis could not be asked."),
                      (int64_t)m->fleet.missed);
    write_clock(o, m, now);
    write_redis(o, m);
    control_metrics_write_jobs(o, m, now);
    openmetrics_end(o);
}

/* As text on the heap, to be freed; NULL: memory is short. */
static char *make_text(const struct manager *m, bool strict)
{
    char *text = NULL;
    size_t size;
    struct openmetrics o = { open_memstream(&text, &size), strict };
    bool bad;

    if (!o.out)
        return NULL;
    control_metrics_write(&o, m);
    bad = ferror(o.out);
    if (fclose(o.out) == 0 && !bad)
        return text;
    free(text);
    return NULL;
}

int control_metrics(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    CLEANUP_FREE char *text = NULL;
    int strict, rc = sd_bus_message_read(m, "b", &strict);

    (void)error;
    if (rc < 0)
        return rc;
    text = make_text(client->control->manager, strict);
    return text ? sd_bus_reply_method_return(m, "s", text) : -ENOMEM;
}
