/* SPDX-License-Identifier: MIT */
#include "redis/sentinel_answer.h"
#include "base/text.h"
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#define PORT_DIGITS_MAX 5
#define SWITCH_CHANNEL "+switch-master"

/* Of host names and addresses, and nothing that could be an option, or begin a line. */
static bool is_host(const redisReply *text)
{
    return text->type == REDIS_REPLY_STRING && redis_host_is_plain(text->str, (size_t)text->len);
}

/* 0: none. */
static uint16_t port_of(const redisReply *text)
{
    size_t digits;
    unsigned long port;

    if (text->type != REDIS_REPLY_STRING)
        return 0;
    digits = strspn(text->str, "0123456789");
    if (digits == 0 || digits > PORT_DIGITS_MAX || digits != (size_t)text->len)
        return 0;
    port = strtoul(text->str, NULL, 10);
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

int sentinel_answer_read(const redisReply *reply, struct sentinel_address *ret_address)
{
    uint16_t port;

    if (reply->type == REDIS_REPLY_NIL)
        return 0;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || !is_host(reply->element[0]))
        return -EBADMSG;
    port = port_of(reply->element[1]);
    if (port == 0)
        return -EBADMSG;
    text_copy(ret_address->host, sizeof ret_address->host, reply->element[0]->str);
    ret_address->port = port;
    return 1;
}

static bool is_text(const redisReply *reply, const char *text)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, text) == 0;
}

bool sentinel_answer_is_news(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
           is_text(reply->element[0], "message");
}

/* "NAME old-host old-port new-host new-port" */
bool sentinel_answer_is_switch(const redisReply *news, const char *master)
{
    const redisReply *text = news->element[2];
    size_t len = strlen(master);

    return is_text(news->element[1], SWITCH_CHANNEL) && text->type == REDIS_REPLY_STRING &&
           strncmp(text->str, master, len) == 0 && text->str[len] == ' ';
}

bool sentinel_address_same(const struct sentinel_address *a, const struct sentinel_address *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

void sentinel_address_text(const struct sentinel_address *a, char text[SENTINEL_TEXT_SIZE])
{
    text_format(text, SENTINEL_TEXT_SIZE, strchr(a->host, ':') ? "[%s]:%u" : "%s:%u", a->host,
                (unsigned)a->port);
}

/* What redis/fault.c says of a server's keys and rights, for a sentinel; else `reason` itself. */
static const char *words_of(enum fault class, const char *reason)
{
    static const struct {
        const char *begins, *ends, *words;
    } table[] = {
        { "", "(NOAUTH)", "it wants a password; write redis.sentinel_password_file (NOAUTH)" },
        { "", "(WRONGPASS)",
          "it refuses rota; see redis.sentinel_username and sentinel_password_file (WRONGPASS)" },
        { "", "(NOPERM)",
          "its user may not ask for the master; rotad --check --online says what to write "
          "(NOPERM)" },
        { "it lacks a command", "(ERR)", "it is no sentinel; is that the port of a server? (ERR)" },
        { "", "(ERR)",
          "it refuses rota; see redis.sentinel_username and sentinel_password_file (ERR)" },
    };

    for (size_t i = 0; class == FAULT_OPERATOR && i < sizeof table / sizeof table[0]; i++)
        if (strncmp(reason, table[i].begins, strlen(table[i].begins)) == 0 &&
            text_ends_with(reason, table[i].ends))
            return table[i].words;
    return reason;
}

void sentinel_round_failed(struct sentinel_round *round, const char *text, enum fault class,
                           const char *reason)
{
    if (class == FAULT_OPERATOR)
        round->refused++;
    else if (round->refused > 0)
        return;
    text_copy(round->server, sizeof round->server, text);
    text_copy(round->reason, sizeof round->reason, words_of(class, reason));
}

static void say_unknown(const char *master, struct redis_fault *fault)
{
    char shown[SENTINEL_NAME_SHOWN_SIZE];

    text_format(fault->reason, sizeof fault->reason,
                "no sentinel that answers knows a master '%s'; write into redis.master the name "
                "that \"sentinel monitor\" gives it in their sentinel.conf",
                text_escape(shown, sizeof shown, master, strlen(master)));
}

void sentinel_round_fault(const struct sentinel_round *round, const char *master,
                          struct redis_fault *ret_fault)
{
    ret_fault->closes = true;
    ret_fault->wants_body = false;
    ret_fault->class = round->unknown > 0 || round->refused > 0 ? FAULT_OPERATOR : FAULT_LINK;
    if (round->unknown > 0)
        say_unknown(master, ret_fault);
    else
        text_format(ret_fault->reason, sizeof ret_fault->reason,
                    "no sentinel answers; %.80s: %.200s", round->server, round->reason);
}
