/* SPDX-License-Identifier: MIT */
#include "redis/survey.h"
#include "redis/codec_read.h"
#include "redis/link.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* EVAL, its script, no keys (they are looked up, not used), the prefix. */
#define ARGUMENTS_FIXED 4
#define ARGUMENTS_MAX (ARGUMENTS_FIXED + REDIS_SURVEY_KEYS_MAX)

struct redis_survey {
    struct redis_link_request request;
    struct redis_survey_plan plan;
    struct redis_link *link;
    const char *arguments[ARGUMENTS_MAX];
    size_t lengths[ARGUMENTS_MAX];
    char *body;
    struct boot began, sent;
    struct redis_survey_end end;
    bool asked, ended;
};

static const struct redis_codec_shape shapes[] = { { "survey", "xnxnnxxxxooooo", 0 },
                                                   { NULL, NULL, 0 } };

static struct redis_survey *survey_of(struct redis_link_request *request)
{
    return (struct redis_survey *)((char *)request - offsetof(struct redis_survey, request));
}

static void finish(struct redis_survey *s, enum fault fault, const char *reason)
{
    const struct redis_route *route = redis_link_route(s->link);

    if (s->ended)
        return;
    s->ended = true;
    s->end.fault = fault;
    s->end.reason = reason;
    s->end.address = redis_route_target(route).host;
    s->end.addresses = route->names.count;
    s->plan.done(s->plan.env->context, &s->end);
}

static bool take_facts(struct redis_survey *s, const redisReply *reply)
{
    struct redis_codec_reading reading = { 0 };
    struct wall server;

    if (!redis_codec_read(shapes, reply, &server, &reading))
        return false;
    s->end.facts = (struct redis_survey_facts){
        .time_ms = server.ms,
        .server = reading.text[0],
        .replica = reading.number[1] == 1,
        .cluster = reading.number[1] == 2,
        .mute = reading.number[1] == 3,
        .policy = reading.text[2],
        .saved = (enum redis_survey_saved)reading.number[3],
        .age_s = reading.number[4],
        .barred = reading.text[5],
        .rights = reading.text[6],
        .people_barred = reading.text[7],
        .people_rights = reading.text[8],
        .full_bytes = reading.number[9],
        .replicas = reading.number[10],
        .close_replicas = reading.number[11],
        .crowded = reading.number[12],
        .fork_ms = reading.number[13],
    };
    return reading.number[3] <= REDIS_SAVED_OVERDUE;
}

/* NOAUTH is what a login that was left out gets, NOPERM a command. */
static enum redis_survey_step step_of(const struct redis_fault *fault, const char *error)
{
    if (fault->class == FAULT_OPERATOR && fault->closes)
        return REDIS_SURVEY_LOGIN;
    return strncmp(error, "NOPERM", strlen("NOPERM")) == 0 ? REDIS_SURVEY_RIGHTS
                                                           : REDIS_SURVEY_SERVER;
}

static bool on_reply(struct redis_link_request *request, const redisReply *reply,
                     const struct redis_fault *fault)
{
    struct redis_survey *s = survey_of(request);

    if (!reply)
        return true; /* on_change() has said so */
    s->end.answered_ms = boot_between(s->sent, redis_link_now());
    if (!fault &&
        !(s->plan.script ? take_facts(s, reply) : s->plan.take(s->plan.env->context, reply)))
        return false;
    s->end.step = fault ? step_of(fault, reply->str) : REDIS_SURVEY_DONE;
    finish(s, fault ? fault->class : FAULT_NONE, fault ? fault->reason : NULL);
    return true;
}

static void on_ready(void *context)
{
    struct redis_survey *s = context;
    const struct redis_command script = { ARGUMENTS_FIXED + s->plan.key_count, s->arguments,
                                          s->lengths };
    struct tls_facts tls;

    if (s->asked || !redis_link_has_room(s->link))
        return;
    s->asked = true;
    s->end.step = REDIS_SURVEY_LOGIN;
    if (redis_link_facts(s->link, &tls)) {
        s->end.tls_version = tls.version;
        s->end.tls_expires_s = tls.expires_s;
    }
    s->sent = redis_link_now();
    s->request.done = on_reply;
    s->request.deadline = boot_add(s->sent, s->plan.settings->command_timeout_ms);
    if (redis_link_send(s->link, s->plan.script ? &script : s->plan.command, &s->request) < 0)
        finish(s, FAULT_OURS, "memory is short");
}

static bool on_wants(void *context)
{
    const struct redis_survey *s = context;

    return !s->asked;
}

static void on_step(void *context, enum redis_link_step step)
{
    struct redis_survey *s = context;
    int64_t since_ms = boot_between(s->began, redis_link_now());

    switch (step) {
    case REDIS_LINK_NAMED:
        s->end.step = REDIS_SURVEY_CONNECTION;
        s->end.named_ms = since_ms;
        break;
    case REDIS_LINK_CONNECTED:
        s->end.step = REDIS_SURVEY_TLS;
        s->end.connected_ms = since_ms - s->end.named_ms;
        break;
    case REDIS_LINK_LOGGED_IN:
        s->end.step = REDIS_SURVEY_SERVER;
        break;
    }
}

static void on_change(void *context, const struct redis_link_change *change)
{
    struct redis_survey *s = context;

    if (change->state == REDIS_LINK_WAITING)
        finish(s, change->fault, change->reason);
}

static int resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    const struct redis_survey *s = context;

    return s->plan.env->resolve(s->plan.env->context, host, port, lookup);
}

static void resolve_cancel(void *context, struct redis_lookup *lookup)
{
    const struct redis_survey *s = context;

    s->plan.env->resolve_cancel(s->plan.env->context, lookup);
}

/* For the pause before another try, which is not made. */
static void no_random(void *context, void *buffer, size_t size)
{
    (void)context;
    memset(buffer, 0, size);
}

static int open_link(struct redis_survey *s)
{
    struct redis_link_owner owner = {
        .ready = on_ready, .wants = on_wants, .changed = on_change, .step = on_step, .context = s
    };
    struct redis_store_env env = *s->plan.env;
    int r;

    env.random = no_random;
    env.resolve = resolve;
    env.resolve_cancel = resolve_cancel;
    env.context = s;
    r = redis_link_new(s->plan.settings, &env, &owner, &s->link);
    if (r < 0)
        return r;
    if (!redis_route_needs_names(redis_link_route(s->link)))
        s->end.step = REDIS_SURVEY_CONNECTION;
    redis_link_kick(s->link, false);
    return 0;
}

static void compose(struct redis_survey *s)
{
    s->arguments[0] = "EVAL";
    s->arguments[1] = s->body;
    s->arguments[2] = "0";
    s->arguments[3] = s->plan.settings->prefix;
    memcpy(s->arguments + ARGUMENTS_FIXED, s->plan.keys, s->plan.key_count * sizeof(char *));
    for (size_t i = 0; i < ARGUMENTS_FIXED + s->plan.key_count; i++)
        s->lengths[i] = strlen(s->arguments[i]);
}

int redis_survey_new(const struct redis_survey_plan *plan, struct redis_survey **ret_survey)
{
    struct redis_survey *s = calloc(1, sizeof *s);
    int r = -ENOMEM;

    assert(plan->key_count <= REDIS_SURVEY_KEYS_MAX);
    if (!s)
        return -ENOMEM;
    s->plan = *plan;
    s->began = redis_link_now();
    if (plan->script)
        s->body = redis_scripts_body(plan->script);
    if (s->body)
        compose(s);
    if (s->body || !plan->script)
        r = open_link(s);
    if (r < 0) {
        redis_survey_free(s);
        return r;
    }
    *ret_survey = s;
    return 0;
}

void redis_survey_free(struct redis_survey *survey)
{
    if (!survey)
        return;
    survey->ended = true;
    redis_link_free(survey->link);
    free(survey->body);
    free(survey);
}
