/* SPDX-License-Identifier: MIT
 * Nodes of a Redis Cluster, and the servers of a quorum: each, and all of them together. */
#include "supervisor/check_online_internal.h"

#include "base/text.h"
#include "redis/reply.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define SERVERS_MAX 7
#define RUN_ID_SIZE 41
#define SLOTS 16384

/* A line "NAME:value" of a text as INFO's. Whether it is there. */
static bool find_field(const struct redisReply *reply, const char *name, char *value, size_t size)
{
    size_t length = strlen(name), all;
    const char *text;

    if (!redis_reply_text(reply, &text, &all))
        return false;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            return snprintf(value, size, "%.*s", (int)strcspn(line + length + 1, "\r\n"),
                            line + length + 1) < (int)size;
    }
    return false;
}

/* --- a cluster --- */

struct cluster {
    char state[16], masters[16], served[16]; /* as CLUSTER INFO says */
};

static bool take_cluster(const struct online_question *q, const struct redisReply *reply)
{
    struct cluster *c = q->context;

    return find_field(reply, "cluster_state", c->state, sizeof(c->state)) &&
           find_field(reply, "cluster_size", c->masters, sizeof(c->masters)) &&
           find_field(reply, "cluster_slots_ok", c->served, sizeof(c->served));
}

static int say_cluster(const struct online_question *q, const struct redis_settings *server,
                       const struct redis_survey_end *end)
{
    const struct cluster *c = q->context;
    bool good = end->step == REDIS_SURVEY_DONE && strcmp(c->state, "ok") == 0;

    if (end->step == REDIS_SURVEY_RIGHTS)
        check_online_words_line("cluster", ONLINE_LOOK,
                                "its state cannot be checked; write at Redis: ACL SETUSER %s "
                                "+cluster|info",
                                server->username ? server->username : "default");
    else if (end->step != REDIS_SURVEY_DONE)
        check_online_words_line("cluster", ONLINE_LOOK, "its state cannot be checked: %s",
                                end->reason);
    else if (good)
        check_online_words_line(
            "cluster", strtol(c->served, NULL, 10) < SLOTS ? ONLINE_LOOK : ONLINE_GOOD,
            "it works: %s masters, %s of %d slots", c->masters, c->served, SLOTS);
    else
        check_online_words_line("cluster", ONLINE_BAD,
                                "it is down: %s of %d slots are served; see CLUSTER INFO there",
                                c->served, SLOTS);
    return good || end->step != REDIS_SURVEY_DONE ? 0 : EX_UNAVAILABLE;
}

static int try_node(struct online *o, const struct redis_settings *node)
{
    struct cluster state = { 0 };
    int status = online_try_server(o, node, ONLINE_NODE);

    if (status != 0 || !o->cluster)
        return status;
    status = online_may(o, node, "ASKING", "+asking");
    if (status != 0)
        return status;
    return online_ask(o, node,
                      &(struct online_question){ .words = { "CLUSTER", "INFO" },
                                                 .take = take_cluster,
                                                 .say = say_cluster,
                                                 .context = &state });
}

int online_cluster(struct online *o)
{
    int status = 0;
    bool any = false;

    for (size_t i = 0; i < o->settings.endpoint_count; i++) {
        const struct redis_settings node = online_alone(&o->settings, &o->settings.endpoints[i]);
        int r = try_node(o, &node);

        if (r < 0)
            return r;
        any = any || r == 0;
        status = status != 0 ? status : r;
    }
    return any ? 0 : status;
}

/* --- a quorum --- */

struct quorum {
    char run_id[SERVERS_MAX][RUN_ID_SIZE]; /* "": not known */
    size_t at, usable, unknown;
    int status; /* of the first that cannot be used */
};

static bool take_run_id(const struct online_question *q, const struct redisReply *reply)
{
    struct quorum *all = q->context;

    return find_field(reply, "run_id", all->run_id[all->at], RUN_ID_SIZE);
}

static int say_nothing(const struct online_question *q, const struct redis_settings *server,
                       const struct redis_survey_end *end)
{
    (void)q;
    (void)server;
    (void)end;
    return 0;
}

static int try_voice(struct online *o, struct quorum *q)
{
    const struct redis_settings *server = &o->settings.servers[q->at];
    int r = online_try_server(o, server, ONLINE_VOICE);

    if (r < 0)
        return r;
    if (r == 0)
        q->usable++;
    else
        q->status = q->status ? q->status : r;
    if (o->done && o->tells)
        r = online_ask(o, server,
                       &(struct online_question){ .words = { "INFO", "server" },
                                                  .take = take_run_id,
                                                  .say = say_nothing,
                                                  .context = q });
    if (q->run_id[q->at][0] == '\0')
        q->unknown++;
    return r < 0 ? r : 0;
}

/* Of one run, a server has one id, whatever leads to it. */
static bool are_apart(const struct redis_settings *s, const struct quorum *q)
{
    bool apart = true;

    for (size_t i = 1; i < s->server_count; i++)
        for (size_t j = 0; j < i; j++)
            if (q->run_id[i][0] != '\0' && strcmp(q->run_id[i], q->run_id[j]) == 0) {
                check_online_words_line("apart", ONLINE_BAD,
                                        "%s and %s are one server, which would count twice; write "
                                        "servers that are independent of each other",
                                        s->servers[j].endpoints->text,
                                        s->servers[i].endpoints->text);
                apart = false;
            }
    return apart;
}

static int sum(const struct redis_settings *s, const struct quorum *q)
{
    size_t needed = s->server_count / 2 + 1;
    unsigned int level = q->usable < needed            ? ONLINE_BAD
                         : q->usable < s->server_count ? ONLINE_LOOK
                                                       : ONLINE_GOOD;

    printf("\nthe quorum of %zu\n", s->server_count);
    check_online_words_line("servers", level, "%zu of %zu can be used; %zu are needed", q->usable,
                            s->server_count, needed);
    if (!are_apart(s, q))
        return EX_CONFIG;
    if (q->unknown == 0)
        check_online_words_line("apart", ONLINE_GOOD, "each is a server of its own");
    else
        check_online_words_line("apart", ONLINE_LOOK,
                                "cannot be checked of %zu, whose run_id could not be asked for",
                                q->unknown);
    return q->usable < needed ? q->status : 0;
}

int online_quorum(struct online *o)
{
    const struct redis_settings *s = &o->settings;
    struct quorum q = { 0 };

    for (; q.at < s->server_count && q.at < SERVERS_MAX; q.at++) {
        int r = try_voice(o, &q);

        if (r < 0)
            return r;
    }
    return sum(s, &q);
}
