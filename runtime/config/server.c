/* SPDX-License-Identifier: MIT */
#include "config/server.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "config/address.h"
#include "config/secret.h"
#include "config/secure.h"
#include "config/topology.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEEPALIVE_MIN_MS (10 * SECOND_MS)

int server_line(const struct server_keys *keys, const char *name)
{
    return group_line(schema_group(SCHEMA_REDIS), &keys->lines, name);
}

static void check_backoff(struct reading *r, const struct server_keys *keys)
{
    const struct redis_config *redis = keys->redis;
    char least[UNITS_SIZE], most[UNITS_SIZE];
    int line = server_line(keys, "backoff_min");

    if (redis->backoff_min_ms > redis->backoff_max_ms)
        reading_problem(r, PROBLEM_ERROR, line ? line : server_line(keys, "backoff_max"),
                        "redis.backoff_min is \"%s\", more than backoff_max, which is \"%s\"; "
                        "write at most that",
                        units_write_duration(redis->backoff_min_ms, least, sizeof(least)),
                        units_write_duration(redis->backoff_max_ms, most, sizeof(most)));
}

/* The range has a hole: 0s is off, and less than this would be asking all the time. */
static void check_keepalive(struct reading *r, const struct server_keys *keys)
{
    int64_t keepalive_ms = keys->redis->keepalive_ms;
    char written[UNITS_SIZE];

    if (keepalive_ms == 0 || keepalive_ms >= KEEPALIVE_MIN_MS)
        return;
    reading_problem(r, PROBLEM_ERROR, server_line(keys, "keepalive"),
                    "redis.keepalive is \"%s\"; write at least \"10s\", or \"0s\" for none",
                    units_write_duration(keepalive_ms, written, sizeof(written)));
}

/* What the running rotad can read may be out of reach for who only looks at the files. */
static bool may_come_later(const struct reading *r, const char *file, int error)
{
    if (secret_is_credential(file))
        return error == -ENOKEY && r->source->only_checks;
    return error == -ENOENT && r->root[0] != '\0'; /* no image holds secrets */
}

/* One of the logins: at the servers, or at the sentinels. */
struct login {
    const char *username_key, *file_key;
    const char *username, *file;
    char **password;
};

static void read_password(struct reading *r, const struct login *login, int line)
{
    bool credential = secret_is_credential(login->file);
    CLEANUP_FREE char *path =
        credential ? reading_copy(r, login->file) : reading_path(r, login->file);
    char why[TRUST_WHY_SIZE];
    int error;

    if (!path)
        return;
    error = secret_read(credential ? "" : r->root, path, login->password, why);
    if (error == -ENOMEM)
        r->no_memory = true;
    else if (may_come_later(r, login->file, error))
        secure_note_late(r, line, login->file_key, login->file);
    else if (error < 0)
        reading_problem(r, PROBLEM_ERROR, line, "redis.%s '%s' is not used: %s", login->file_key,
                        login->file, why);
}

static void check_login(struct reading *r, const struct server_keys *keys,
                        const struct login *login)
{
    if (login->file)
        read_password(r, login, server_line(keys, login->file_key));
    else if (login->username &&
             group_is_missed(schema_group(SCHEMA_REDIS), &keys->lines, login->file_key))
        reading_problem(r, PROBLEM_ERROR, server_line(keys, login->username_key),
                        "redis.%s is given without a password; write %s = "
                        "\"%s\" too",
                        login->username_key, login->file_key,
                        schema_find(schema_group(SCHEMA_REDIS), login->file_key)->example);
}

void server_check_access(struct reading *r, const struct server_keys *keys)
{
    struct redis_config *redis = keys->redis;

    secure_check(r, keys);
    check_login(r, keys,
                &(struct login){ "username", "password_file", redis->username, redis->password_file,
                                 &redis->password });
    check_login(r, keys,
                &(struct login){ "sentinel_username", "sentinel_password_file",
                                 redis->sentinel_username, redis->sentinel_password_file,
                                 &redis->sentinel_password });
}

void server_read(struct reading *r, const config_setting_t *s)
{
    const struct schema_group *g = schema_group(SCHEMA_REDIS);
    struct server_keys keys = { .redis = &r->config->redis };
    char quoted[PARSE_QUOTE_SIZE];

    group_defaults(r, g, keys.redis);
    if (!s)
        return;
    if (!config_setting_is_group(s)) {
        reading_problem(
            r, PROBLEM_ERROR, parse_line(s),
            "redis is %s; write a group, such as redis = { address = \"127.0.0.1:6379\"; };",
            parse_quote(s, quoted, sizeof(quoted)));
        return;
    }
    group_read(r, g, s, keys.redis, &keys.own);
    keys.lines = keys.own;
    check_backoff(r, &keys);
    check_keepalive(r, &keys);
    topology_read(r, &keys, config_setting_get_member(s, "quorum"));
}

void server_free(struct redis_config *redis)
{
    secret_free(redis->password);
    redis->password = NULL;
    secret_free(redis->sentinel_password);
    redis->sentinel_password = NULL;
    group_free(schema_group(SCHEMA_REDIS), redis);
}
