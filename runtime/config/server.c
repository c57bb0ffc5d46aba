/* SPDX-License-Identifier: MIT */
#include "config/server.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "config/address.h"
#include "config/trust.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PASSWORD_BYTES_MAX 4096
#define KEEPALIVE_MIN_MS (10 * SECOND_MS)

static void check_tls(struct reading *r, const struct schema_group *g,
                      const struct group_lines *lines)
{
    struct redis_config *redis = &r->config->redis;
    int line = group_line(g, lines, "tls");

    if (redis->tls) {
        redis->tls = false;
        reading_problem(r, PROBLEM_ERROR, line,
                        "redis.tls is true, but this version has no TLS; it comes with a later "
                        "one. tls = false sends "
                        "all, the password too, in the clear");
        return;
    }
    for (size_t i = 0; line == 0 && i < redis->address_count; i++)
        if (!address_is_local(&redis->addresses[i])) {
            reading_problem(
                r, PROBLEM_ERROR, group_line(g, lines, "address"),
                "redis.address \"%s\" is beyond this machine, and this version has no TLS; it "
                "comes with "
                "a later one. Write tls = false if all, the password too, may be sent in the clear",
                redis->addresses[i].text);
            return;
        }
}

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

/* The first line of `text` becomes the password. */
static void take_password(struct reading *r, int line, char *text)
{
    struct redis_config *redis = &r->config->redis;

    text[strcspn(text, "\n")] = '\0';
    if (text[0] == '\0')
        reading_problem(r, PROBLEM_ERROR, line, "redis.password_file '%s' has an empty first line",
                        redis->password_file);
    else if (text[strlen(text) - 1] == '\r')
        reading_problem(r, PROBLEM_ERROR, line,
                        "redis.password_file '%s' has a carriage return at the end of its first "
                        "line, which would be part of the password; write the file with plain "
                        "line ends",
                        redis->password_file);
    else
        redis->password = reading_copy(r, text);
}

static void read_password(struct reading *r, int line)
{
    const char *file = r->config->redis.password_file;
    CLEANUP_FREE char *path = reading_path(r, file);
    struct trust_text secret = { 0 };
    char why[TRUST_WHY_SIZE];
    int error;

    if (!path)
        return;
    error =
        trust_read(path, &(struct trust_rule){ r->root, PASSWORD_BYTES_MAX, true }, &secret, why);
    if (error == -ENOMEM)
        r->no_memory = true;
    else if (error == -ENOENT && r->root[0] != '\0') /* no image holds secrets */
        reading_problem(r, PROBLEM_WARNING, line,
                        "redis.password_file is \"%s\", and there is no such file in the tree; the "
                        "device needs it before rotad starts",
                        file);
    else if (error < 0)
        reading_problem(r, PROBLEM_ERROR, line, "redis.password_file '%s' is not used: %s", file,
                        why);
    else if (memchr(secret.text, '\0', secret.size))
        reading_problem(r, PROBLEM_ERROR, line, "redis.password_file '%s' holds a NUL byte", file);
    else
        take_password(r, line, secret.text);
    if (secret.text)
        explicit_bzero(secret.text, secret.size);
    free(secret.text);
}

static void check_login(struct reading *r, const struct schema_group *g,
                        const struct group_lines *lines)
{
    const struct redis_config *redis = &r->config->redis;

    if (redis->password_file)
        read_password(r, group_line(g, lines, "password_file"));
    else if (redis->username && group_line(g, lines, "password_file") == 0)
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
    check_tls(r, g, &lines);
    check_backoff(r, g, &lines);
    check_keepalive(r, g, &lines);
    check_login(r, g, &lines);
}

void server_free(struct redis_config *redis)
{
    if (redis->password)
        explicit_bzero(redis->password, strlen(redis->password));
    free(redis->password);
    redis->password = NULL;
    group_free(schema_group(SCHEMA_REDIS), redis);
}
