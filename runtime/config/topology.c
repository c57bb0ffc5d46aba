/* SPDX-License-Identifier: MIT */
#include "config/topology.h"
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX 7

/* Pairs of keys that exclude each other. An address beside sentinels is only not needed. */
static void check_pairs(struct reading *r, const struct server_keys *keys)
{
    static const char *const pairs[][2] = { { "address", "sentinels" },
                                            { "address", "quorum" },
                                            { "cluster", "sentinels" },
                                            { "cluster", "quorum" },
                                            { "sentinels", "quorum" } };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        int line = server_line(keys, pairs[i][0]), other = server_line(keys, pairs[i][1]);

        if (line > 0 && other > 0 && (pairs[i][0][0] != 'c' || keys->redis->cluster))
            reading_problem(r, i == 0 ? PROBLEM_WARNING : PROBLEM_ERROR, line,
                            "redis.%s is not used with %s (line %d); leave one of them out",
                            pairs[i][0], pairs[i][1], other);
    }
}

static void check_sentinels(struct reading *r, const struct server_keys *keys)
{
    static const char *const names[] = { "master", "sentinel_username", "sentinel_password_file" };
    const struct schema_group *g = schema_group(SCHEMA_REDIS);
    int line = server_line(keys, "sentinels");

    if (line > 0 && group_is_missed(g, &keys->lines, "master"))
        group_note_missing(r, schema_find(g, "master"), line);
    if (!group_is_missed(g, &keys->lines, "sentinels"))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (server_line(keys, names[i]) > 0)
            reading_problem(r, PROBLEM_ERROR, server_line(keys, names[i]),
                            "redis.%s is given without sentinels; write sentinels = "
                            "[ \"sentinel-1.example:26379\" ] too, or leave it out",
                            names[i]);
}

static void check_cluster(struct reading *r, const struct server_keys *keys)
{
    const struct redis_config *redis = keys->redis;

    if (redis->cluster && redis->database != 0)
        reading_problem(r, PROBLEM_ERROR, server_line(keys, "database"),
                        "redis.database is %d, but a Redis Cluster has database 0 alone; leave it "
                        "out",
                        redis->database);
}

/* Of its group and, where that leaves it out, of `redis`; what the group may not say is noted. */
static void read_keys(struct reading *r, const struct server_keys *redis, struct server_keys *keys,
                      const config_setting_t *s)
{
    const struct schema_group *g = schema_group(SCHEMA_REDIS);

    group_read(r, g, s, keys->redis, &keys->own);
    keys->lines = keys->own;
    for (size_t i = 0; i < g->count; i++) {
        const struct schema_key *k = &g->keys[i];
        bool each = k->flags & SCHEMA_EACH;

        if (keys->own.line[i] > 0 && !each)
            reading_problem(r, PROBLEM_ERROR, keys->own.line[i],
                            "%s is not of one server of a quorum; what all have stands in redis "
                            "itself",
                            k->path);
        if (keys->own.line[i] > 0 || k->type == SCHEMA_ADDRESSES || k->type == SCHEMA_SERVERS ||
            (k->type == SCHEMA_TEXT && !each))
            continue;
        value_copy(r, k, redis->redis, keys->redis);
        keys->lines.line[i] = redis->own.line[i];
    }
}

static bool same_address(const struct redis_address *a, const struct redis_address *b)
{
    return a->kind == b->kind && a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* Two that are one are found where they are asked: rotad --check --online. */
static void check_address(struct reading *r, const struct redis_config *redis,
                          const struct server_keys *keys, int line)
{
    const struct schema_group *g = schema_group(SCHEMA_REDIS);
    const struct redis_addresses *mine = &keys->redis->addresses;

    if (group_is_missed(g, &keys->own, "address"))
        group_note_missing(r, schema_find(g, "address"), line);
    else if (mine->count > 1)
        reading_problem(r, PROBLEM_ERROR, server_line(keys, "address"),
                        "redis.address has %zu servers, but each group of a quorum is one",
                        mine->count);
    for (const struct redis_config *other = redis->servers; other < keys->redis; other++)
        if (mine->count == 1 && other->addresses.count == 1 &&
            same_address(mine->items, other->addresses.items))
            reading_problem(r, PROBLEM_ERROR, server_line(keys, "address"),
                            "redis.address is \"%s\", as of another server of the quorum; each is "
                            "one of its own",
                            mine->items->text);
}

static void read_server(struct reading *r, const struct server_keys *redis,
                        struct redis_config *server, const config_setting_t *s)
{
    struct server_keys keys = { .redis = server };
    char quoted[PARSE_QUOTE_SIZE];

    if (!config_setting_is_group(s)) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "a server of redis.quorum is %s; write a group, such as "
                        "{ address = \"redis-1.example:6379\"; }",
                        parse_quote(s, quoted, sizeof(quoted)));
        return;
    }
    read_keys(r, redis, &keys, s);
    server->configured = true;
    check_address(r, redis->redis, &keys, parse_line(s));
    server_check_access(r, &keys);
}

static void read_quorum(struct reading *r, const struct server_keys *keys,
                        const config_setting_t *s)
{
    struct redis_config *redis = keys->redis;
    int count = config_setting_length(s);
    char quoted[PARSE_QUOTE_SIZE];
    bool tls = false;

    if (config_setting_type(s) != CONFIG_TYPE_LIST) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "redis.quorum is %s; write 3, 5 or 7 groups, such as quorum = ( "
                        "{ address = \"redis-1.example:6379\"; }, { address = ... }, ... )",
                        parse_quote(s, quoted, sizeof(quoted)));
        return;
    }
    if (count < 3 || count > SERVERS_MAX || count % 2 == 0) {
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "redis.quorum has %d server%s%s; write 3, 5 or 7", count,
                        count == 1 ? "" : "s",
                        count % 2 == 0 && count > 0 ? ", and an even number gains nothing" : "");
        return;
    }
    redis->servers = calloc((size_t)count, sizeof(*redis->servers));
    if (!redis->servers) {
        r->no_memory = true;
        return;
    }
    redis->server_count = (size_t)count;
    for (int i = 0; i < count; i++) {
        read_server(r, keys, &redis->servers[i], config_setting_get_elem(s, (unsigned)i));
        tls = tls || redis->servers[i].tls;
    }
    if (server_line(keys, "tls") == 0)
        redis->tls = tls;
}

void topology_read(struct reading *r, const struct server_keys *keys,
                   const config_setting_t *quorum)
{
    check_pairs(r, keys);
    check_sentinels(r, keys);
    keys->redis->configured = server_line(keys, "address") || server_line(keys, "sentinels") ||
                              server_line(keys, "quorum");
    if (quorum)
        read_quorum(r, keys, quorum);
    else
        server_check_access(r, keys);
    check_cluster(r, keys);
}

bool topology_servers_equal(const void *a, const void *b, size_t size)
{
    const struct redis_config *x = a, *y = b;

    (void)size;
    if (x->server_count != y->server_count)
        return false;
    for (size_t i = 0; i < x->server_count; i++)
        if (group_difference(schema_group(SCHEMA_REDIS), &x->servers[i], &y->servers[i], 0))
            return false;
    return true;
}

void topology_servers_free(void *dest)
{
    struct redis_config *redis = dest;

    for (size_t i = 0; i < redis->server_count; i++)
        server_free(&redis->servers[i]);
    free(redis->servers);
    redis->servers = NULL;
    redis->server_count = 0;
}
