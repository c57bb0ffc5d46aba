/* SPDX-License-Identifier: MIT */
#include "config/secure.h"
#include "config/address.h"
#include "config/secret.h"
#include <stdlib.h>
#include <unistd.h>

/* In the order of config_source.try_tls. */
enum { CA, CERT, KEY, FILE_COUNT };

/* Servers that are learned may be anywhere, whoever names them. */
static bool is_beyond(const struct redis_config *redis)
{
    const struct redis_addresses *all = &redis->addresses;

    if (redis->sentinels.count > 0 || redis->cluster)
        return true;
    for (size_t i = 0; i < all->count; i++)
        if (!address_is_local(&all->items[i]))
            return true;
    return false;
}

static void note_half(struct reading *r, const struct server_keys *keys)
{
    bool cert = keys->redis->tls_cert != NULL;

    reading_problem(r, PROBLEM_ERROR, server_line(keys, cert ? "tls_cert" : "tls_key"),
                    "redis.%s is given without %s; write both, or neither",
                    cert ? "tls_cert" : "tls_key", cert ? "tls_key" : "tls_cert");
}

/* What a quorum's server has from `redis` may have an effect at another one. */
static void note_unused(struct reading *r, const struct server_keys *keys)
{
    static const char *const names[] = { "tls_ca", "tls_cert", "tls_key", "tls_name" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int line = group_line(schema_group(SCHEMA_REDIS), &keys->own, names[i]);

        if (line > 0)
            reading_problem(r, PROBLEM_WARNING, line,
                            "redis.%s has no effect, since tls is false; that is its default where "
                            "all addresses are unix or loopback",
                            names[i]);
    }
}

void secure_note_late(struct reading *r, int line, const char *key, const char *file)
{
    reading_problem(r, PROBLEM_WARNING, line,
                    "redis.%s is \"%s\", and %s; the device needs it before rotad starts", key,
                    file,
                    secret_is_credential(file) ? "only a rotad that systemd starts can read it"
                                               : "there is no such file in the tree");
}

/* Where it lies, on the heap; NULL: it cannot be tried, which was said. */
static char *find(struct reading *r, int line, const char *key, const char *file)
{
    bool credential = secret_is_credential(file);
    char *path = credential ? reading_copy(r, file) : reading_path(r, file);

    if (!path || (credential ? getenv("CREDENTIALS_DIRECTORY") != NULL
                             : r->root[0] == '\0' || access(path, F_OK) == 0))
        return path;
    secure_note_late(r, line, key, file);
    free(path);
    return NULL;
}

static void try_files(struct reading *r, const struct server_keys *keys)
{
    static const char *const names[FILE_COUNT] = { "tls_ca", "tls_cert", "tls_key" };
    const struct redis_config *redis = keys->redis;
    const char *const given[FILE_COUNT] = { redis->tls_ca, redis->tls_cert, redis->tls_key };
    char *paths[FILE_COUNT] = { 0 }, why[CONFIG_WHY_SIZE];
    bool all = true;
    int wrong;

    for (int i = 0; i < FILE_COUNT; i++) {
        if (given[i])
            paths[i] = find(r, server_line(keys, names[i]), names[i], given[i]);
        all = all && !given[i] == !paths[i];
    }
    wrong = all ? r->source->try_tls(r->root, (const char *const *)paths, why) : -1;
    if (wrong >= 0)
        reading_problem(r, PROBLEM_ERROR,
                        server_line(keys, wrong < FILE_COUNT ? names[wrong] : "address"), "%s",
                        why);
    for (int i = 0; i < FILE_COUNT; i++)
        free(paths[i]);
}

void secure_check(struct reading *r, const struct server_keys *keys)
{
    struct redis_config *redis = keys->redis;

    if (server_line(keys, "tls") == 0)
        redis->tls = is_beyond(redis);
    if (!redis->tls_cert != !redis->tls_key)
        note_half(r, keys);
    else if (!redis->tls)
        note_unused(r, keys);
    else if (r->source->try_tls)
        try_files(r, keys);
}
