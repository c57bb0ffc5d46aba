/* SPDX-License-Identifier: MIT */
#include "supervisor/check_unknown.h"

#include <string.h>

/* What the names have in common: separated by spaces, with one before and behind each. */
struct advice {
    enum schema_group_id group;
    const char *key; /* of the group, or NULL: one of several */
    const char *names, *words;
};

static const struct advice table[] = {
    { SCHEMA_TOP, "device", " name hostname host node id ", "write this device's name as device" },
    { SCHEMA_TOP, "prefix", " namespace fleet key_prefix ", "write the fleet's name as prefix" },
    { SCHEMA_TOP, "plugin_dir", " plugins plugin_path plugin_dirs ",
      "write plugin_dir = [ \"/usr/lib/rota\" ];" },
    { SCHEMA_TOP, "jobs", " job tasks task ", "write jobs = { NAME = { ... }; };" },
    { SCHEMA_REDIS, "address", " host hostname server servers url uri port ",
      "server and port stand in one text: address = \"HOST:PORT\";" },
    { SCHEMA_REDIS, "password_file", " password pass passwd secret auth requirepass ",
      "a password stands in a file of its own: password_file = \"/etc/rota/redis.password\";" },
    { SCHEMA_REDIS, "username", " user login ", "write it as username" },
    { SCHEMA_REDIS, "database", " db ", "write it as database" },
    { SCHEMA_REDIS, "tls", " ssl use_tls ", "write it as tls" },
    { SCHEMA_REDIS, "tls_ca", " ca cacert ca_file ca_cert cafile ", "write it as tls_ca" },
    { SCHEMA_REDIS, "tls_cert", " cert client_cert ", "write it as tls_cert" },
    { SCHEMA_REDIS, "tls_key", " key client_key ", "write it as tls_key" },
    { SCHEMA_REDIS, "sentinels", " sentinel sentinel_hosts sentinel_addresses ",
      "write them as sentinels = [ \"HOST:PORT\" ]; master = \"NAME\";" },
    { SCHEMA_REDIS, "master", " master_name service_name sentinel_master ",
      "the name by which sentinels know the master is master" },
    { SCHEMA_REDIS, "sentinel_password_file", " sentinel_password sentinel_auth ",
      "a password stands in a file of its own: sentinel_password_file = "
      "\"/etc/rota/sentinel.password\";" },
    { SCHEMA_REDIS, "cluster", " nodes startup_nodes seeds cluster_nodes ",
      "some nodes of a Redis Cluster stand in address = [ \"HOST:PORT\" ]; cluster = true;" },
    { SCHEMA_REDIS, "quorum", " redlock majority ",
      "write it as quorum = ( { address = \"HOST:PORT\"; }, ... );" },
    { SCHEMA_REDIS, NULL, " timeout ", "write it as connect_timeout or command_timeout" },
    { SCHEMA_JOB, "every", " interval period frequency repeat each delay ",
      "how often a job is due is every, such as every = \"5m\";" },
    { SCHEMA_JOB, "cron", " schedule crontab calendar when time at hour minute ",
      "when a job is due is cron, such as cron = \"30 2 * * *\"; or every, such as every = "
      "\"5m\";" },
    { SCHEMA_JOB, "worst_case", " timeout time_limit max_time duration runtime max_duration ",
      "the longest that a healthy run takes is worst_case, such as worst_case = \"10m\";" },
    { SCHEMA_JOB, "attempts", " retries retry max_retries tries max_attempts ",
      "how often a turn is tried, the first try too, is attempts, such as attempts = 3;" },
    { SCHEMA_JOB, "params", " command cmd exec script program run shell args argv ",
      "what its plugin takes stands in params, such as params = { command = [ \"/usr/bin/true\" "
      "]; };" },
    { SCHEMA_JOB, "lease", " ttl lock_ttl lock_timeout expire expiry lock_for ",
      "the lock's time to live is lease, such as lease = \"1m\";" },
    { SCHEMA_JOB, "splay", " jitter random_delay randomized_delay ",
      "the random delay is splay, such as splay = \"10s\";" },
    { SCHEMA_JOB, "environment", " env ", "write it as environment = [ \"NAME=value\" ];" },
    { SCHEMA_JOB, "working_dir", " cwd dir directory workdir chdir ", "write it as working_dir" },
    { SCHEMA_JOB, "devices", " hosts nodes host on ", "write it as devices = [ \"NAME-*\" ];" },
    { SCHEMA_JOB, "enabled", " disabled ", "write enabled = false;" },
    { SCHEMA_LIMITS, "memory", " ram mem rss memory_max ", "write it as memory" },
    { SCHEMA_LIMITS, "cpu_time", " cpu ", "write it as cpu_time" },
    { SCHEMA_LIMITS, "open_files", " nofile files fds ", "write it as open_files" },
    { SCHEMA_LIMITS, "processes", " nproc tasks ", "write it as processes" },
};

static bool has_name(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; length > 0 && (at = strstr(at, name)); at++)
        if (at > names && at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

static bool has_key(const struct schema_group *g, const char *name)
{
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(schema_name(&g->keys[i]), name) == 0)
            return true;
    return false;
}

/* Where a key of that name is at home. */
static const char *find_home(const char *name)
{
    static const char *const homes[SCHEMA_GROUP_COUNT] = {
        [SCHEMA_TOP] = "write it outside of redis and jobs",
        [SCHEMA_REDIS] = "write it in redis = { ... }",
        [SCHEMA_JOB] = "write it in a job",
        [SCHEMA_LIMITS] = "write it in limits = { ... } of a job",
    };

    for (int id = 0; id < SCHEMA_GROUP_COUNT; id++)
        if (has_key(schema_group((enum schema_group_id)id), name))
            return homes[id];
    return NULL;
}

/* A job that is not where jobs are. */
static const char *advise_group(const struct schema_group *g)
{
    if (schema_group(SCHEMA_TOP) == g)
        return "a job stands within jobs = { ... };";
    if (schema_group(SCHEMA_JOB) == g)
        return "a job stands beside others; write the }; that is missing before it";
    return NULL;
}

const char *check_unknown_advise(const struct schema_group *g, const char *name, bool is_group,
                                 const char **ret_key)
{
    const char *home;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (schema_group(table[i].group) == g && has_name(table[i].names, name)) {
            *ret_key = table[i].key;
            return table[i].words;
        }
    *ret_key = NULL;
    home = find_home(name);
    return home || !is_group ? home : advise_group(g);
}
