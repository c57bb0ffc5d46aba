/* SPDX-License-Identifier: MIT */
#include "supervisor/check_online.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "redis/outbox.h"
#include "supervisor/check_online_internal.h"
#include "supervisor/server_settings.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

static void on_end(void *context, const struct redis_survey_end *end)
{
    struct online *o = context;

    o->done = end->step == REDIS_SURVEY_DONE;
    o->cluster = o->done && end->facts.cluster;
    o->tells = o->done && end->facts.server && end->facts.server[0] != '\0';
    o->status = o->question ? o->question->say(o->question, o->server, end)
                            : check_online_words_print(o->server, end, o->role, o->keys_left);
    o->ended = true;
}

static bool on_take(void *context, const struct redisReply *reply)
{
    const struct online *o = context;

    return !o->question->take || o->question->take(o->question, reply);
}

static int on_child(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    struct online *o = context;
    pid_t pid = resolver_pid(&o->resolver);
    int status;

    (void)source;
    (void)info;
    if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid)
        resolver_child_ended(&o->resolver, pid, status);
    return 0;
}

static int resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    struct online *o = context;

    return resolver_ask(&o->resolver, host, port, lookup);
}

static void resolve_cancel(void *context, struct redis_lookup *lookup)
{
    struct online *o = context;

    (void)lookup;
    resolver_cancel(&o->resolver);
}

/* Jobs may share one: each is counted by its first job that runs here. */
static bool adds_key(const struct config *c, size_t job)
{
    const char *key = c->jobs[job].spec.lock_key;

    if (!key || !config_job_runs(&c->jobs[job]))
        return false;
    for (size_t i = 0; i < job; i++)
        if (config_job_runs(&c->jobs[i]) && text_same(c->jobs[i].spec.lock_key, key))
            return false;
    return true;
}

static void find_keys(struct online *o, const struct config *c)
{
    for (size_t i = 0; i < c->job_count; i++) {
        if (!adds_key(c, i))
            continue;
        if (o->key_count < REDIS_SURVEY_KEYS_MAX)
            o->keys[o->key_count++] = c->jobs[i].spec.lock_key;
        else
            o->keys_left++;
    }
}

/* A negative errno, or the status. */
static int survey(struct online *o, const struct redis_survey_plan *plan)
{
    struct redis_survey *survey = NULL;
    int r = redis_survey_new(plan, &survey);

    o->ended = false;
    while (r >= 0 && !o->ended)
        r = sd_event_run(o->env.event, UINT64_MAX);
    redis_survey_free(survey);
    return r < 0 ? r : o->status;
}

int online_try_server(struct online *o, const struct redis_settings *server,
                      enum check_online_role role)
{
    const struct redis_survey_plan plan = { .settings = server,
                                            .env = &o->env,
                                            .script = &redis_script_survey,
                                            .keys = o->keys,
                                            .key_count = o->key_count,
                                            .done = on_end };

    o->server = server;
    o->role = role;
    o->question = NULL;
    return survey(o, &plan);
}

int online_ask(struct online *o, const struct redis_settings *server,
               const struct online_question *question)
{
    size_t lengths[ONLINE_WORDS_MAX], count = 0;
    struct redis_command command = { .arguments = question->words, .lengths = lengths };
    const struct redis_survey_plan plan = {
        .settings = server, .env = &o->env, .command = &command, .take = on_take, .done = on_end
    };

    for (; count < ONLINE_WORDS_MAX && question->words[count]; count++)
        lengths[count] = strlen(question->words[count]);
    command.count = count;
    o->server = server;
    o->question = question;
    return survey(o, &plan);
}

static int say_right(const struct online_question *q, const struct redis_settings *server,
                     const struct redis_survey_end *end)
{
    if (end->step != REDIS_SURVEY_RIGHTS)
        return 0;
    check_online_words_line("rights", ONLINE_BAD, "write at Redis: ACL SETUSER %s %s",
                            server->username ? server->username : "default",
                            (const char *)q->context);
    return EX_NOPERM;
}

int online_may(struct online *o, const struct redis_settings *server, const char *command,
               const char *right)
{
    const struct online_question question = { .words = { command },
                                              .say = say_right,
                                              .context = (void *)(uintptr_t)right };

    return online_ask(o, server, &question);
}

struct redis_settings online_alone(const struct redis_settings *settings,
                                   const struct redis_endpoint *endpoint)
{
    struct redis_settings alone = *settings;

    alone.endpoints = endpoint;
    alone.endpoint_count = 1;
    alone.sentinels = NULL;
    alone.sentinel_count = 0;
    alone.cluster = false;
    return alone;
}

/* Each server in turn. */
static int try_all(struct online *o)
{
    int status = 0;
    bool any = false;

    for (size_t i = 0; i < o->settings.endpoint_count; i++) {
        const struct redis_settings one = online_alone(&o->settings, &o->settings.endpoints[i]);
        int r = online_try_server(o, &one, ONLINE_ALONE);

        if (r < 0)
            return r;
        any = any || r == 0;
        status = status != 0 ? status : r;
    }
    return any ? 0 : status;
}

static int try_by_kind(struct online *o)
{
    if (o->settings.server_count > 0)
        return online_quorum(o);
    if (o->settings.sentinel_count > 0)
        return online_sentinels(o);
    return o->settings.cluster ? online_cluster(o) : try_all(o);
}

static int open_loop(struct online *o)
{
    sigset_t child;
    int r = sd_event_new(&o->env.event);

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    if (r >= 0)
        r = sd_event_add_signal(o->env.event, NULL, SIGCHLD, on_child, o);
    resolver_init(&o->resolver, o->env.event);
    return r;
}

int check_online(const struct config *c, const char *device)
{
    struct online o = { .env = { .resolve = resolve, .resolve_cancel = resolve_cancel } };
    CLEANUP_FREE void *block = NULL;
    int r = -ENOMEM;

    if (c->store == CONFIG_STORE_LOCAL || !c->redis.configured) {
        puts("There is no Redis to ask.");
        return 0;
    }
    o.env.context = &o;
    find_keys(&o, c);
    block = server_settings_fill(c, device, &o.settings);
    if (block)
        r = open_loop(&o);
    if (r >= 0)
        r = try_by_kind(&o);
    resolver_done(&o.resolver);
    sd_event_unref(o.env.event);
    return r;
}
