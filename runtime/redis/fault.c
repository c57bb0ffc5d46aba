/* SPDX-License-Identifier: MIT */
#include "redis/fault.h"
#include "base/text.h"
#include "base/units.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Of an error's first word, for people. */
#define TOKEN_SHOWN_SIZE 33

struct row {
    const char *token; /* the error's first word */
    const char *text;  /* how the rest begins; NULL: in any way */
    enum fault class;
    bool closes, wants_body;
    const char *words;
};

#define NO_RIGHT "its ACL does not allow the user what rota needs; rotad --check --online says what"

/* In order of search: what has a text goes before the same token without one. */
static const struct row rows[] = {
    { "LOADING", NULL, FAULT_BUSY, .closes = true, .words = "it still loads its data" },
    { "BUSY", NULL, FAULT_BUSY, .words = "a long script keeps it busy" },
    { "TRYAGAIN", NULL, FAULT_BUSY, .words = "it is moving the job's keys" },
    { "CLUSTERDOWN", NULL, FAULT_BUSY, .words = "its cluster is down" },
    { "NOREPLICAS", NULL, FAULT_BUSY, .words = "too few of its replicas are connected to write" },
    { "NOSCRIPT", NULL, FAULT_BUSY, .wants_body = true,
      .words = "it does not keep rota's scripts" },
    { "ERR", "max number of clients", FAULT_BUSY, .closes = true,
      .words = "it has as many clients as its maxclients allows" },
    { "OOM", NULL, FAULT_STORAGE, .words = "it is out of memory and refuses writes" },
    { "MISCONF", NULL, FAULT_STORAGE, .words = "it cannot save to disk and refuses writes" },
    { "READONLY", NULL, FAULT_REPLICA, .closes = true, .words = "it is a replica" },
    { "MASTERDOWN", NULL, FAULT_REPLICA, .closes = true,
      .words = "it is a replica without its master" },
    { "NOAUTH", NULL, FAULT_OPERATOR, .closes = true,
      .words = "it wants a password; write redis.password_file" },
    { "WRONGPASS", NULL, FAULT_OPERATOR, .closes = true,
      .words = "the password is refused, or the user is not there or off; see redis.username and "
               "password_file" },
    { "ERR", "invalid password", FAULT_OPERATOR, .closes = true,
      .words = "the password is refused; see redis.password_file" },
    { "ERR", "AUTH <password> called without", FAULT_OPERATOR, .closes = true,
      .words = "its user default has no password: write redis.username, or no password_file" },
    { "ERR", "Client sent AUTH, but no password", FAULT_OPERATOR, .closes = true,
      .words = "it wants no password; leave redis.password_file out" },
    { "ERR", "DB index", FAULT_OPERATOR, .closes = true,
      .words = "it has no database of that number; see redis.database" },
    { "ERR", "SELECT is not allowed", FAULT_OPERATOR, .closes = true,
      .words = "it is a Redis Cluster, which has database 0 alone" },
    { "NOPERM", NULL, FAULT_OPERATOR, .words = NO_RIGHT },
    { "ERR", "The user executing the script can't", FAULT_OPERATOR, .words = NO_RIGHT },
    { "ERR", "ACL failure in script", FAULT_OPERATOR, .words = NO_RIGHT },
    { "NOPROTO", NULL, FAULT_OPERATOR, .closes = true, .words = "it does not speak RESP2" },
    { "DENIED", NULL, FAULT_OPERATOR, .closes = true,
      .words = "its protected mode refuses this device; see its bind and requirepass" },
    { "WRONGTYPE", NULL, FAULT_OPERATOR,
      .words = "a key of the job holds something that is not rota's" },
    { "CROSSSLOT", NULL, FAULT_OPERATOR,
      .words = "the job's keys are not in one slot of its cluster" },
    { "MOVED", NULL, FAULT_OPERATOR, .words = "it is a Redis Cluster; write redis.cluster = true" },
    { "ASK", NULL, FAULT_OPERATOR, .words = "it is a Redis Cluster; write redis.cluster = true" },
    { "ERR", "unknown command", FAULT_OPERATOR, .words = "it lacks a command that rota needs" },
    { "ERR", "Unknown Redis command called from", FAULT_OPERATOR,
      .words = "it lacks a command that rota needs" },
};

static const struct row stranger = { .class = FAULT_UNKNOWN,
                                     .words = "an error that rota does not know" };

/* Where the text behind the first word begins, if that is `word`; else NULL. */
static const char *behind(const char *error, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(error, word, len) != 0 || (error[len] != ' ' && error[len] != '\0'))
        return NULL;
    return error + len + (error[len] == ' ' ? 1 : 0);
}

static const struct row *find(const char *error)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        const char *rest = behind(error, row->token);

        if (rest && (!row->text || strncmp(rest, row->text, strlen(row->text)) == 0))
            return row;
    }
    return NULL;
}

/* "ERR Error running script (call to f_...): @user_script:1: ... -READONLY You can't write ...":
 * the inner error, or NULL. */
static const char *unwrap(const char *error)
{
    const char *rest = behind(error, "ERR");

    if (!rest || strncmp(rest, "Error running script", strlen("Error running script")) != 0)
        return NULL;
    for (const char *at = strstr(rest, " -"); at; at = strstr(at + 2, " -"))
        if (find(at + 2))
            return at + 2;
    return NULL;
}

static void say(struct redis_fault *fault, const char *words, const char *token)
{
    char shown[TOKEN_SHOWN_SIZE];

    text_escape(shown, sizeof shown, token, strcspn(token, " "));
    text_format(fault->reason, sizeof fault->reason, "%s (%s)", words, shown);
}

void redis_fault_of_error(const char *error, struct redis_fault *ret_fault)
{
    const char *inner = unwrap(error);
    const char *counts = inner ? inner : error;
    const struct row *row = find(counts);

    row = row ? row : &stranger;
    ret_fault->class = row->class;
    ret_fault->closes = row->closes;
    ret_fault->wants_body = row->wants_body;
    say(ret_fault, row->words, counts);
}

static void fill_lost(struct redis_fault *fault, enum fault class)
{
    fault->class = class;
    fault->closes = true;
    fault->wants_body = false;
}

void redis_fault_of_errno(int error, struct redis_fault *ret_fault)
{
    const char *words = error == -EPIPE ? "the server closed the connection" : strerror(-error);

    fill_lost(ret_fault, FAULT_LINK);
    text_copy(ret_fault->reason, sizeof ret_fault->reason, words);
    ret_fault->reason[0] = (char)tolower((unsigned char)ret_fault->reason[0]);
}

void redis_fault_of_alien(struct redis_fault *ret_fault)
{
    fill_lost(ret_fault, FAULT_ALIEN);
    text_copy(ret_fault->reason, sizeof ret_fault->reason, "a reply that is not rota's");
}

void redis_fault_of_silence(const char *missing, int64_t timeout_ms, struct redis_fault *ret_fault)
{
    char time[UNITS_SIZE];

    fill_lost(ret_fault, FAULT_LINK);
    text_format(ret_fault->reason, sizeof ret_fault->reason, "no %s within %s", missing,
                units_say_duration(timeout_ms, time, sizeof time));
}

void redis_fault_of_name(const char *why, struct redis_fault *ret_fault)
{
    fill_lost(ret_fault, FAULT_LINK);
    text_copy(ret_fault->reason, sizeof ret_fault->reason, why);
}
