/* SPDX-License-Identifier: MIT */
#include "supervisor/check_cost.h"

/* As print_parts() says them. */
static const uint32_t devices[CHECK_COST_FLEETS] = { 1, 5000 };

static bool has_network(const struct redis_addresses *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].kind == ADDRESS_TCP)
            return true;
    return false;
}

static bool uses_network(const struct config *c)
{
    const struct redis_config *redis = &c->redis;

    if (c->store != CONFIG_STORE_REDIS)
        return false;
    for (size_t i = 0; i < redis->server_count; i++)
        if (has_network(&redis->servers[i].addresses))
            return true;
    return has_network(&redis->addresses) || redis->sentinels.count > 0;
}

static void add_job(const struct check_cost *cost, const struct job_spec *spec,
                    struct cost sums[CHECK_COST_FLEETS])
{
    struct wall until = wall_add(cost->now, COST_MONTH_MS);
    int64_t turns = schedule_count(&spec->schedule, cost->now, until);

    for (int i = 0; i < CHECK_COST_FLEETS; i++)
        cost_add_job(&sums[i], &cost->terms[i], spec, turns);
}

void check_cost_begin(struct check_cost *cost, const struct config *c, struct wall now)
{
    *cost = (struct check_cost){ .shown = uses_network(c), .now = now };
    for (int i = 0; i < CHECK_COST_FLEETS; i++) {
        cost->terms[i] = (struct cost_terms){
            .fleet = devices[i],
            .turns_all = c->fleet.turns_all,
            .tls = c->redis.tls,
            .checkin_ms = c->fleet.checkin_ms,
            .idle_timeout_ms = c->redis.idle_timeout_ms,
            .keepalive_ms = c->redis.keepalive_ms,
            .servers = (uint32_t)c->redis.server_count,
        };
        cost_add_hello(&cost->all[i], &cost->terms[i], (int64_t)c->job_count);
    }
    for (size_t i = 0; i < c->job_count; i++)
        if (config_job_runs(&c->jobs[i]))
            add_job(cost, &c->jobs[i].spec, cost->all);
    for (int i = 0; i < CHECK_COST_FLEETS; i++)
        cost->terms[i].kept = cost_keeps_connection(&cost->terms[i], &cost->all[i]);
}

/* "12 kB"; from 10 MB on in MB, from 10 GB on in GB. */
static void print_bytes(const char *before, int64_t bytes)
{
    int64_t count = (bytes + 999) / 1000;
    const char *unit = "kMG";

    for (; count >= 10000 && unit[1]; unit++)
        count = (count + 500) / 1000;
    printf("%s%lld %cB", before, (long long)count, *unit);
}

static void print_parts(const struct check_cost *cost, const struct cost parts[CHECK_COST_FLEETS])
{
    print_bytes("", cost_bytes(&cost->terms[0], &parts[0]));
    print_bytes(" a month alone, ", cost_bytes(&cost->terms[1], &parts[1]));
    puts(" among 5,000");
}

void check_cost_print_job(const struct check_cost *cost, const struct job_config *job)
{
    struct cost parts[CHECK_COST_FLEETS] = { 0 };

    if (!cost->shown || !config_job_runs(job))
        return;
    add_job(cost, &job->spec, parts);
    if (parts[0].runs == 0) {
        puts("  cost      nothing is asked of Redis in the next 30 days");
        return;
    }
    /* Alone, a device runs each turn once. */
    printf("  cost      %lld questions a turn: ",
           (long long)((parts[1].passes + parts[1].runs) / parts[0].runs));
    print_parts(cost, parts);
}

void check_cost_print_all(const struct check_cost *cost)
{
    if (!cost->shown)
        return;
    printf("All jobs and hello%s: about ", cost->terms[0].tls ? ", over TLS" : "");
    print_parts(cost, cost->all);
    puts("");
}
