/* SPDX-License-Identifier: MIT */
#include "redis/login.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARGUMENTS_MAX 3

/* The arguments end with a NULL or with the array. */
static int add(struct redis_login *login, struct redis_outbox *outbox,
               const char *const arguments[ARGUMENTS_MAX])
{
    size_t lengths[ARGUMENTS_MAX];
    struct redis_command command;
    size_t count = 0;
    int r;

    for (; count < ARGUMENTS_MAX && arguments[count]; count++)
        lengths[count] = strlen(arguments[count]);
    command = (struct redis_command){ .count = count, .arguments = arguments, .lengths = lengths };
    r = redis_outbox_add(outbox, &command);
    if (r == 0)
        login->left++;
    return r;
}

static int add_auth(struct redis_login *login, struct redis_outbox *outbox,
                    const struct redis_settings *settings)
{
    const char *const with_name[] = { "AUTH", settings->username, settings->password };
    const char *const without[] = { "AUTH", settings->password, NULL };

    return add(login, outbox, settings->username ? with_name : without);
}

static int add_select(struct redis_login *login, struct redis_outbox *outbox, int database)
{
    char number[16];
    const char *const arguments[] = { "SELECT", number, NULL };

    snprintf(number, sizeof number, "%d", database);
    return add(login, outbox, arguments);
}

static int add_name(struct redis_login *login, struct redis_outbox *outbox, const char *name)
{
    const char *const arguments[] = { "CLIENT", "SETNAME", name };

    return add(login, outbox, arguments);
}

static int add_role(struct redis_login *login, struct redis_outbox *outbox)
{
    const char *const arguments[] = { "ROLE", NULL, NULL };

    login->role = true;
    return add(login, outbox, arguments);
}

int redis_login_begin(const struct redis_settings *settings, struct redis_outbox *outbox,
                      struct redis_login *ret_login)
{
    struct redis_login login = { 0 };
    int r = 0;

    if (settings->password)
        r = add_auth(&login, outbox, settings);
    if (r == 0 && settings->database != 0)
        r = add_select(&login, outbox, settings->database);
    if (r == 0 && settings->finder)
        r = add_role(&login, outbox);
    if (r == 0 && settings->client_name) {
        r = add_name(&login, outbox, settings->client_name);
        login.named = true;
    }
    if (r == 0)
        *ret_login = login;
    return r;
}

static bool is_word(const redisReply *reply, int type, const char *word)
{
    return reply->type == type && strcmp(reply->str, word) == 0;
}

static int take_role(const redisReply *reply, struct redis_fault *ret_fault)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0)
        return -EBADMSG;
    if (is_word(reply->element[0], REDIS_REPLY_STRING, "master"))
        return 0;
    redis_fault_of_error("READONLY", ret_fault);
    return -EACCES;
}

int redis_login_take(struct redis_login *login, const redisReply *reply,
                     struct redis_fault *ret_fault)
{
    bool only_name = login->named && login->left == 1;
    bool role = login->role && login->left == (login->named ? 2 : 1);
    struct redis_fault fault;

    login->left--;
    if (role && reply->type != REDIS_REPLY_ERROR)
        return take_role(reply, ret_fault);
    if (reply->type != REDIS_REPLY_ERROR)
        return is_word(reply, REDIS_REPLY_STATUS, "OK") ? 0 : -EBADMSG;
    redis_fault_of_error(reply->str, &fault);
    if (only_name && !fault.closes)
        return 0;
    *ret_fault = fault;
    return -EACCES;
}
