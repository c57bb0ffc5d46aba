/* SPDX-License-Identifier: MIT */
#include "config/server.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "config/address.h"
#include "config/secret.h"
#include "config/secure.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEEPALIVE_MIN_MS (10 * SECOND_MS)

static void check_backoff(struct reading *r, const struct schema_group *g,
                          const struct group_lines *lines)
{
    const struct redis_config *redis = &r->config->redis;
    char least[UNITS_SIZE], most[UNITS_SIZE];
    int line = group_line(g, lines, "backoff_min");

    if (redis->backoff_min_ms > redis->backoff_max_ms)
        reading_problem(r, PROBLEM_ERROR, line ? line : group_line(g, lines, "backoff_max"),
                        "redis.backoff_min is \"%s\", more than backoff_max, which is \"%s\"; "
                        "write at most that",
                        units_write_duration(redis->backoff_min_ms, least, sizeof(least)),
                        units_write_duration(redis->backoff_max_ms, most, sizeof(most)));
}

/* The range has a hole: 0s is off, and less than this would be asking all the time. */
static void check_keepalive(struct reading *r, const struct schema_group *g,
                            const struct group_lines *lines)
{
    int64_t keepalive_ms = r->config->redis.keepalive_ms;
    char written[UNITS_SIZE];

    if (keepalive_ms == 0 || keepalive_ms >= KEEPALIVE_MIN_MS)
        return;
    reading_problem(r, PROBLEM_ERROR, group_line(g, lines, "keepalive"),
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

static void read_password(struct reading *r, int line)
{
    struct redis_config *redis = &r->config->redis;
    const char *file = redis->password_file;
    bool credential = secret_is_credential(file);
    CLEANUP_FREE char *path = credential ? reading_copy(r, file) : reading_path(r, file);
    char why[TRUST_WHY_SIZE];
    int error;

    if (!path)
        return;
    error = secret_read(credential ? "" : r->root, path, &redis->password, why);
    if (error == -ENOMEM)
        r->no_memory = true;
    else if (may_come_later(r, file, error))
        secure_note_late(r, line, "password_file", file);
    else if (error < 0)
        reading_problem(r, PROBLEM_ERROR, line, "redis.password_file '%s' is not used: %s", file,
                        why);
}

static void check_login(struct reading *r, const struct schema_group *g,
                        const struct group_lines *lines)
{
    const struct redis_config *redis = &r->config->redis;

    if (redis->password_file)
        read_password(r, group_line(g, lines, "password_file"));
    else if (redis->username && group_is_missed(g, lines, "password_file"))
        reading_problem(r, PROBLEM_ERROR, group_line(g, lines, "username"),
                        "redis.username is given without a password; write password_file = "
                        "\"/etc/rota/redis.password\" too");
}

void server_read(struct reading *r, const config_setting_t *s)
{
    const struct schema_group *g = schema_group(SCHEMA_REDIS);
    struct redis_config *redis = &r->config->redis;
    char quoted[PARSE_QUOTE_SIZE];
    struct group_lines lines;

    group_defaults(r, g, redis);
    if (!s)
        return;
    if (!config_setting_is_group(s)) {
        reading_problem(
            r, PROBLEM_ERROR, parse_line(s),
            "redis is %s; write a group, such as redis = { address = \"127.0.0.1:6379\"; };",
            parse_quote(s, quoted, sizeof(quoted)));
        return;
    }
    group_read(r, g, s, redis, &lines);
    redis->configured = group_line(g, &lines, "address") != 0;
    secure_check(r, g, &lines);
    check_backoff(r, g, &lines);
    check_keepalive(r, g, &lines);
    check_login(r, g, &lines);
}

void server_free(struct redis_config *redis)
{
    secret_free(redis->password);
    redis->password = NULL;
    group_free(schema_group(SCHEMA_REDIS), redis);
}
