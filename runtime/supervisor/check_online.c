/* SPDX-License-Identifier: MIT */
#include "supervisor/check_online.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "supervisor/check_online_words.h"
#include "supervisor/resolver.h"
#include "supervisor/server_settings.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

struct online {
    struct redis_settings settings; /* of the one server that is tried */
    struct redis_store_env env;
    struct resolver resolver;
    bool ended;
    int status; /* of that server */
    const char *keys[REDIS_SURVEY_KEYS_MAX];
    size_t key_count, keys_left; /* those that are looked up, and the others */
};

static void on_end(void *context, const struct redis_survey_end *end)
{
    struct online *o = context;

    o->status = check_online_words_print(&o->settings, end, o->keys_left);
    o->ended = true;
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

static int try_one(struct online *o)
{
    struct redis_survey_plan plan = { .settings = &o->settings,
                                      .env = &o->env,
                                      .script = &redis_script_survey,
                                      .keys = o->keys,
                                      .key_count = o->key_count,
                                      .done = on_end };
    struct redis_survey *survey = NULL;
    int r = redis_survey_new(&plan, &survey);

    o->ended = false;
    while (r >= 0 && !o->ended)
        r = sd_event_run(o->env.event, UINT64_MAX);
    redis_survey_free(survey);
    return r;
}

/* Each server in turn. An exit status, or a negative errno. */
static int try_all(struct online *o, size_t count)
{
    int status = 0;
    bool any = false;

    o->settings.endpoint_count = 1;
    for (size_t i = 0; i < count; i++, o->settings.endpoints++) {
        int r = try_one(o);

        if (r < 0)
            return r;
        any = any || o->status == 0;
        status = status != 0 ? status : o->status;
    }
    return any ? 0 : status;
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
    CLEANUP_FREE struct redis_endpoint *endpoints = NULL;
    int r = -ENOMEM;

    if (c->store == CONFIG_STORE_LOCAL || !c->redis.configured) {
        puts("There is no Redis to ask.");
        return 0;
    }
    o.env.context = &o;
    find_keys(&o, c);
    endpoints = server_settings_fill(c, device, &o.settings);
    if (endpoints)
        r = open_loop(&o);
    if (r >= 0)
        r = try_all(&o, c->redis.address_count);
    resolver_done(&o.resolver);
    sd_event_unref(o.env.event);
    return r;
}
