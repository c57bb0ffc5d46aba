/* SPDX-License-Identifier: MIT
 * What each sentinel says of the master, and what the master does. */
#include "supervisor/check_online_internal.h"

#include "base/text.h"
#include "redis/reply.h"
#include "redis/sentinel_answer.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define SENTINELS_MAX 16

struct named {
    struct sentinel_address address;
    size_t by; /* so many sentinels */
};

struct sentinels {
    struct named named[SENTINELS_MAX];
    size_t count, answered, failed;
    struct sentinel_address address; /* what the present one says */
    bool known;                      /* it says one */
    char able[128];                  /* what it says of a failover */
    int status;                      /* of the first that gave no answer */
};

static const char *sentinel_user(const struct redis_settings *s)
{
    return s->username ? s->username : "default";
}

static bool take_address(const struct online_question *q, const struct redisReply *reply)
{
    struct sentinels *all = q->context;
    int r = sentinel_answer_read(reply, &all->address);

    all->known = r > 0;
    return r >= 0;
}

static void add_named(struct sentinels *all)
{
    size_t i = 0;

    while (i < all->count && !sentinel_address_same(&all->named[i].address, &all->address))
        i++;
    if (i == all->count)
        all->named[all->count++].address = all->address;
    all->named[i].by++;
}

/* Of one that was reached. */
static int say_refused(const struct redis_settings *s, const struct redis_survey_end *end)
{
    if (end->step == REDIS_SURVEY_RIGHTS)
        check_online_words_line("master", ONLINE_BAD,
                                "may not be asked for; write at the sentinel: ACL SETUSER %s "
                                "+sentinel|get-master-addr-by-name +subscribe "
                                "+unsubscribe &+switch-master",
                                sentinel_user(s));
    else if (strstr(end->reason, "unknown command") || end->fault == FAULT_OPERATOR ||
             end->fault == FAULT_ALIEN)
        check_online_words_line("master", ONLINE_BAD,
                                "what answers there is no sentinel; is that the port of a server?");
    else
        check_online_words_line("master", ONLINE_BAD, "%s", end->reason);
    return end->step == REDIS_SURVEY_RIGHTS ? EX_NOPERM : EX_UNAVAILABLE;
}

static int say_address(const struct online_question *q, const struct redis_settings *server,
                       const struct redis_survey_end *end)
{
    struct sentinels *all = q->context;
    char text[SENTINEL_TEXT_SIZE];
    int status = check_online_words_sentinel(server, end);

    if (status != 0) {
        check_online_words_line("master", ONLINE_GOOD, "not reached");
        return status;
    }
    if (end->step != REDIS_SURVEY_DONE)
        return say_refused(server, end);
    all->answered++;
    if (!all->known) {
        check_online_words_line("master", ONLINE_BAD,
                                "it knows no %s; write into redis.master the name that \"sentinel "
                                "monitor\" gives it in sentinel.conf",
                                server->master);
        return EX_UNAVAILABLE;
    }
    sentinel_address_text(&all->address, text);
    check_online_words_line("master", ONLINE_GOOD, "%s is %s", server->master, text);
    add_named(all);
    return 0;
}

static bool take_able(const struct online_question *q, const struct redisReply *reply)
{
    struct sentinels *all = q->context;
    const char *text = "";
    bool told = redis_reply_status(reply, &text) && strncmp(text, "OK ", 3) == 0;

    if (told)
        text_copy(all->able, sizeof(all->able), text + 3);
    return told;
}

/* CKQUORUM's words are its own: "3 usable Sentinels. Quorum and failover authorization can be
 * reached"; and NOQUORUM is the first word of its refusal. */
static int say_able(const struct online_question *q, const struct redis_settings *server,
                    const struct redis_survey_end *end)
{
    const struct sentinels *all = q->context;

    if (end->step == REDIS_SURVEY_DONE)
        check_online_words_line("failover", ONLINE_GOOD, "%s", all->able);
    else if (end->step == REDIS_SURVEY_RIGHTS)
        check_online_words_line("failover", ONLINE_LOOK,
                                "cannot be checked; write at the sentinel: ACL SETUSER %s "
                                "+sentinel|ckquorum",
                                sentinel_user(server));
    else if (strstr(end->reason, "(NOQUORUM)"))
        check_online_words_line("failover", ONLINE_LOOK,
                                "it cannot bring one about: too few of the sentinels that it knows "
                                "answer it");
    else
        check_online_words_line("failover", ONLINE_LOOK, "cannot be checked: %s", end->reason);
    return 0;
}

/* Without it all works, but for what docs/redis.md has in its table of two masters. */
static int say_heard(const struct online_question *q, const struct redis_settings *server,
                     const struct redis_survey_end *end)
{
    (void)q;
    if (end->step == REDIS_SURVEY_RIGHTS)
        check_online_words_line("switch", ONLINE_LOOK,
                                "may not be listened to, so that the old master is left later; "
                                "write at the sentinel: ACL SETUSER %s +subscribe +unsubscribe "
                                "&+switch-master",
                                sentinel_user(server));
    return 0;
}

static int ask_one(struct online *o, struct sentinels *all, const struct redis_endpoint *endpoint)
{
    struct redis_settings s = online_alone(&o->settings, endpoint);
    int r;

    s.username = s.sentinel_username;
    s.password = s.sentinel_password;
    s.database = 0;
    r = online_ask(
        o, &s,
        &(struct online_question){ .words = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.master },
                                   .take = take_address,
                                   .say = say_address,
                                   .context = all });
    if (r != 0) {
        all->failed++;
        all->status = all->status ? all->status : r;
        return r < 0 ? r : 0;
    }
    r = online_ask(
        o, &s,
        &(struct online_question){ .words = { "SUBSCRIBE", "+switch-master" }, .say = say_heard });
    if (r < 0)
        return r;
    return online_ask(o, &s,
                      &(struct online_question){ .words = { "SENTINEL", "CKQUORUM", s.master },
                                                 .take = take_able,
                                                 .say = say_able,
                                                 .context = all });
}

/* The address that most of them name. */
static const struct named *sum(const struct redis_settings *s, const struct sentinels *all)
{
    const struct named *most = all->named;
    char text[SENTINEL_TEXT_SIZE];

    printf("\n%s, by its sentinels\n", s->master);
    if (all->count == 0) {
        check_online_words_line("sentinels", ONLINE_BAD, "none of %zu %s", s->sentinel_count,
                                all->answered > 0 ? "knows it" : "can be asked");
        return NULL;
    }
    for (size_t i = 1; i < all->count; i++)
        if (all->named[i].by > most->by)
            most = &all->named[i];
    sentinel_address_text(&most->address, text);
    if (all->count > 1)
        check_online_words_line("sentinels", ONLINE_LOOK,
                                "%zu of %zu name %s, others another one: a failover is under way, "
                                "or they do not watch the same servers",
                                most->by, s->sentinel_count, text);
    else
        check_online_words_line("sentinels", all->failed > 0 ? ONLINE_LOOK : ONLINE_GOOD,
                                "%zu of %zu name %s", most->by, s->sentinel_count, text);
    return most;
}

int online_sentinels(struct online *o)
{
    const struct redis_settings *s = &o->settings;
    struct sentinels all = { 0 };
    struct redis_endpoint endpoint;
    struct redis_settings master;
    const struct named *most;
    char text[SENTINEL_TEXT_SIZE];
    int r;

    for (size_t i = 0; i < s->sentinel_count && i < SENTINELS_MAX; i++) {
        r = ask_one(o, &all, &s->sentinels[i]);
        if (r < 0)
            return r;
    }
    most = sum(s, &all);
    if (!most)
        return all.status;
    sentinel_address_text(&most->address, text);
    endpoint = (struct redis_endpoint){ .host = most->address.host,
                                        .port = most->address.port,
                                        .text = text,
                                        .tls = s->sentinels[0].tls };
    master = online_alone(s, &endpoint);
    r = online_try_server(o, &master, ONLINE_MASTER);
    return r == 0 ? online_may(o, &master, "ROLE", "+role") : r;
}
