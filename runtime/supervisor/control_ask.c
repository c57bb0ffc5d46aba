/* SPDX-License-Identifier: MIT */
#include "supervisor/control_ask.h"
#include "base/units.h"
#include "redis/reply.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is said where Redis cannot be asked: longer than any of its faults. */
#define REASON_SIZE 480
#define ERROR_REDIS CONTROL_INTERFACE ".Error.Redis"
#define ERROR_WORDS CONTROL_INTERFACE ".Error.Words"
#define ERROR_BUSY CONTROL_INTERFACE ".Error.Busy"
/* Of the first key in a question's words: EVAL, its script and the number of keys go ahead. */
#define KEY_AT 3

struct control_ask {
    struct manager *manager;
    struct control_client *client;
    sd_bus_message *question;
    const struct control_question *asked; /* the client's, */
    const struct control_question *now;   /* or the one that goes ahead of it */
    struct redis_ask *out;                /* on its way */
    sd_event_source *patience;            /* until it is sent */
    struct control_words words;
};

static void stop_waiting(struct control_ask *ask)
{
    ask->patience = sd_event_source_disable_unref(ask->patience);
}

void control_ask_drop(struct control_ask *ask)
{
    if (!ask)
        return;
    ask->client->ask = NULL;
    redis_ask_free(ask->out);
    stop_waiting(ask);
    sd_bus_message_unref(ask->question);
    free(ask->words.body);
    free(ask);
}

/* --- answers: the end of the question --- */

static void answer(struct control_ask *ask, sd_bus_message *reply)
{
    struct control_client *client = ask->client;

    control_ask_drop(ask);
    control_client_send(client, reply);
}

static void answer_error(struct control_ask *ask, const char *name, const char *sentence)
{
    sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, sentence);
    sd_bus_message *reply = NULL;

    /* Where memory is short the client waits in vain, until its own patience ends. */
    (void)sd_bus_message_new_method_error(ask->question, &reply, &error);
    answer(ask, reply);
    sd_bus_message_unref(reply);
}

static void answer_fault(struct control_ask *ask, const char *reason)
{
    char sentence[REASON_SIZE];

    snprintf(sentence, sizeof sentence,
             "Redis cannot be asked: %s; rotad --check --online says how far it comes", reason);
    answer_error(ask, ERROR_REDIS, sentence);
}

/* It was sent, and no reply has come. */
static void answer_lost(struct control_ask *ask, const char *reason)
{
    char sentence[REASON_SIZE];
    const char *job;

    if (!ask->now->changes || sd_bus_message_rewind(ask->question, true) < 0 ||
        sd_bus_message_read_basic(ask->question, 's', &job) <= 0) {
        answer_fault(ask, reason);
        return;
    }
    snprintf(sentence, sizeof sentence,
             "Redis cannot be asked: %s; rotactl fleet %s says whether it was done all the same",
             reason, job);
    answer_error(ask, ERROR_REDIS, sentence);
}

static int submit(struct control_ask *ask);

/* One that is none of the script's ends the question, not the jobs' connection. */
static void answer_reply(struct control_ask *ask, const struct redisReply *reply)
{
    sd_bus_message *message = NULL;
    int rc = sd_bus_message_new_method_return(ask->question, &message);

    if (rc >= 0)
        rc = control_reply_append(message, reply, ask->now->reply);
    if (rc >= 0)
        answer(ask, message);
    else
        answer_fault(ask, rc == -EBADMSG ? "its reply is not rota's" : "memory is short");
    sd_bus_message_unref(message);
}

static bool goes_on(const struct control_ask *ask, const struct redisReply *reply)
{
    const char *word;
    size_t count, length;

    return ask->now != ask->asked && redis_reply_array(reply, &count) && count > 0 &&
           redis_reply_text(redis_reply_element(reply, 0), &word, &length) &&
           strcmp(word, ask->asked->first_good) == 0;
}

/* --- the question --- */

static void on_sent(void *context)
{
    stop_waiting(context);
}

static void on_done(void *context, const struct redisReply *reply, const char *reason, bool lost)
{
    struct control_ask *ask = context;

    ask->out = NULL;
    stop_waiting(ask);
    if (lost) {
        answer_lost(ask, reason);
    } else if (reason) {
        answer_fault(ask, reason);
    } else if (!goes_on(ask, reply)) {
        answer_reply(ask, reply);
    } else {
        ask->now = ask->asked;
        if (submit(ask) < 0)
            answer_fault(ask, "memory is short");
    }
}

static int on_impatient(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct control_ask *ask = userdata;
    const struct words_fault_link *link = &ask->manager->link_words;

    (void)source;
    (void)usec;
    answer_fault(ask, link->down && link->text[0] ? link->text : "there is no connection yet");
    return 0;
}

/* Where Redis is known to be out of reach, nobody waits for it to be found. */
static int64_t patience_ms(const struct manager *m)
{
    const struct redis_config *redis = &m->generation->config->redis;

    return redis->command_timeout_ms + (m->link_words.down ? 0 : redis->connect_timeout_ms);
}

static int submit(struct control_ask *ask)
{
    struct manager *m = ask->manager;
    const char *why = "";
    int rc = control_question_compose(ask->now, ask->client, ask->question, &ask->words, &why);

    if (rc == -EBADMSG) {
        answer_error(ask, ERROR_WORDS, why);
        return 0;
    }
    if (rc >= 0)
        rc = sd_event_add_time_relative(m->event, &ask->patience, CLOCK_BOOTTIME,
                                        (uint64_t)patience_ms(m) * 1000, 0, on_impatient, ask);
    if (rc < 0)
        return rc;
    (void)sd_event_source_set_priority(ask->patience, PRIORITY_CONTROL);
    (void)sd_event_source_set_description(ask->patience, "control patience");
    return redis_ask_new(
        &(struct redis_ask_plan){
            .store = m->store,
            .command = { ask->words.count, ask->words.words, ask->words.lengths },
            .key = ask->words.words[KEY_AT],
            .timeout_ms = m->generation->config->redis.command_timeout_ms,
            .changes = ask->now->changes,
            .sent = on_sent,
            .done = on_done,
            .context = ask },
        &ask->out);
}

int control_asked(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    const struct control_question *q = control_question_find(sd_bus_message_get_member(m));
    struct control_ask *ask;
    int rc;

    if (!q)
        return -EOPNOTSUPP;
    if (q->changes && client->access != CONTROL_MAY_CHANGE)
        return -EACCES;
    if (client->ask)
        return sd_bus_error_set(error, ERROR_BUSY, "one question at a time");
    if (!client->control->manager->store)
        return sd_bus_error_set(error, ERROR_REDIS,
                                "there is no Redis to ask: no job here takes turns by it");
    ask = calloc(1, sizeof *ask);
    if (!ask)
        return -ENOMEM;
    ask->manager = client->control->manager;
    ask->client = client;
    ask->question = sd_bus_message_ref(m);
    ask->asked = q;
    ask->now = q->first ? q->first : q;
    client->ask = ask;
    rc = submit(ask);
    if (rc < 0)
        control_ask_drop(ask);
    return rc < 0 ? rc : 1;
}
