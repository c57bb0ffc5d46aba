/* SPDX-License-Identifier: MIT */
#include "config/secure.h"
#include "config/address.h"
#include "config/secret.h"
#include <stdlib.h>
#include <unistd.h>

/* In the order of config_source.try_tls. */
enum { CA, CERT, KEY, FILE_COUNT };

static bool is_beyond(const struct redis_config *redis)
{
    for (size_t i = 0; i < redis->address_count; i++)
        if (!address_is_local(&redis->addresses[i]))
            return true;
    return false;
}

static void note_half(struct reading *r, const struct schema_group *g,
                      const struct group_lines *lines)
{
    bool cert = r->config->redis.tls_cert != NULL;

    reading_problem(r, PROBLEM_ERROR, group_line(g, lines, cert ? "tls_cert" : "tls_key"),
                    "redis.%s is given without %s; write both, or neither",
                    cert ? "tls_cert" : "tls_key", cert ? "tls_key" : "tls_cert");
}

static void note_unused(struct reading *r, const struct schema_group *g,
                        const struct group_lines *lines)
{
    static const char *const keys[] = { "tls_ca", "tls_cert", "tls_key", "tls_name" };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (group_line(g, lines, keys[i]) > 0)
            reading_problem(r, PROBLEM_WARNING, group_line(g, lines, keys[i]),
                            "redis.%s has no effect, since tls is false; that is its default where "
                            "all addresses are unix or loopback",
                            keys[i]);
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

static void try_files(struct reading *r, const struct schema_group *g,
                      const struct group_lines *lines)
{
    static const char *const keys[FILE_COUNT] = { "tls_ca", "tls_cert", "tls_key" };
    const struct redis_config *redis = &r->config->redis;
    const char *const given[FILE_COUNT] = { redis->tls_ca, redis->tls_cert, redis->tls_key };
    char *paths[FILE_COUNT] = { 0 }, why[CONFIG_WHY_SIZE];
    bool all = true;
    int wrong;

    for (int i = 0; i < FILE_COUNT; i++) {
        if (given[i])
            paths[i] = find(r, group_line(g, lines, keys[i]), keys[i], given[i]);
        all = all && !given[i] == !paths[i];
    }
    wrong = all ? r->source->try_tls(r->root, (const char *const *)paths, why) : -1;
    if (wrong >= 0)
        reading_problem(r, PROBLEM_ERROR,
                        group_line(g, lines, wrong < FILE_COUNT ? keys[wrong] : "address"), "%s",
                        why);
    for (int i = 0; i < FILE_COUNT; i++)
        free(paths[i]);
}

void secure_check(struct reading *r, const struct schema_group *g, const struct group_lines *lines)
{
    struct redis_config *redis = &r->config->redis;

    if (group_line(g, lines, "tls") == 0)
        redis->tls = is_beyond(redis);
    if (!redis->tls_cert != !redis->tls_key)
        note_half(r, g, lines);
    else if (!redis->tls)
        note_unused(r, g, lines);
    else if (r->source->try_tls)
        try_files(r, g, lines);
}
