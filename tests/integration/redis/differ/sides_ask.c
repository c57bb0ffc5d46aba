/* SPDX-License-Identifier: MIT */
#include "redis/differ/sides.h"

#include "base/text.h"
#include "base/units.h"
#include "core/memory_internal.h"
#include "redis/codec.h"
#include "redis/differ/sides_compare.h"
#include <inttypes.h>
#include <string.h>

#define PREFIX "differ:"
/* A command's first key, and how many there are before it. */
#define FIRST_KEY 3

struct question {
    struct job_spec spec;
    struct store_request request;
    char token[TOKEN_SIZE], device[MEMORY_NAME_SIZE], boot[MEMORY_BOOT_SIZE];
    char digest[MEMORY_DIGEST_SIZE];
    char jobs[100];
};

static bool is_fleets(enum store_verb verb)
{
    return verb == STORE_HELLO || verb == STORE_INDEX || verb == STORE_CONFIG_GET ||
           verb == STORE_CONFIG_PUT;
}

static struct job_spec make_spec(const int64_t *f)
{
    const char *name = sides_job_name((size_t)f[FIELD_JOB]);
    struct job_spec spec = { .name = name,
                             .key = name,
                             .attempts = (uint32_t)f[FIELD_ATTEMPTS],
                             .history = (uint32_t)f[FIELD_HISTORY],
                             .retention_ms = f[FIELD_KEEP],
                             .retry_delay_ms = f[FIELD_DELAY],
                             .timing = { .lease_ms = f[FIELD_LEASE] },
                             .scope = f[FIELD_SCOPE] ? SCOPE_DEVICE : SCOPE_FLEET,
                             .concurrency = (uint32_t)f[FIELD_MOST],
                             .stop_after_failures = (uint32_t)f[FIELD_BRAKE],
                             .version = (uint32_t)f[FIELD_VERSION] };

    text_format(spec.fingerprint, sizeof spec.fingerprint, "%08" PRIx32, (uint32_t)f[FIELD_CONFIG]);
    text_format(spec.schedule_print, sizeof spec.schedule_print, "%08" PRIx32,
                (uint32_t)f[FIELD_PRINT]);
    return spec;
}

static void list_jobs(int64_t bits, char *list, size_t size)
{
    static const char *const unknown = "unheard-of";

    list[0] = '\0';
    for (size_t i = 0; i <= SIDES_JOBS; i++)
        if (bits & INT64_C(1) << i)
            text_format(list + strlen(list), size - strlen(list), "%s%s", list[0] ? " " : "",
                        i < SIDES_JOBS ? sides_job_name(i) : unknown);
}

static void make_texts(const int64_t *f, struct question *q)
{
    sides_token(f[FIELD_TOKEN], q->token);
    sides_device(f[FIELD_DEVICE], q->device);
    text_copy(q->boot, sizeof q->boot, "-");
    if (f[FIELD_BOOT])
        text_format(q->boot, sizeof q->boot, "boot-%" PRId64, f[FIELD_BOOT]);
    q->digest[0] = '\0';
    if (f[FIELD_DIGEST])
        text_format(q->digest, sizeof q->digest, "%08" PRIx64, f[FIELD_DIGEST]);
    list_jobs(f[FIELD_JOBS], q->jobs, sizeof q->jobs);
}

/* Those of the verb. */
static void make_part(const int64_t *f, struct question *q)
{
    static const char *const configs[] = { "", "a = 1", "b = 2; c = 3" };
    struct store_request *r = &q->request;

    switch (r->verb) {
    case STORE_HELLO:
        r->hello.weight_ms = f[FIELD_WEIGHT];
        r->hello.retention_ms = f[FIELD_KEEP];
        r->hello.used_ms = f[FIELD_WEIGHT] > 0 ? 4 * f[FIELD_WEIGHT] : DAY_MS;
        r->hello.version = "0.1.0";
        r->hello.digest = q->digest;
        r->hello.jobs = q->jobs;
        break;
    case STORE_CONFIG_GET:
    case STORE_CONFIG_PUT:
        r->config.digest = q->digest;
        r->config.text = configs[f[FIELD_VALUE]];
        r->config.retention_ms = f[FIELD_KEEP];
        break;
    case STORE_PAUSE:
        r->pause.text = sides_texts[f[FIELD_VALUE]];
        r->pause.for_ms = f[FIELD_PX];
        break;
    case STORE_RESUME:
        r->resume.catch_up = f[FIELD_CATCH_UP] != 0;
        break;
    default:
        break;
    }
}

static void make_question(const struct step *step, enum store_verb verb, struct question *q)
{
    static const char *const details[] = { "", "exit status 3: no such file", "short" };
    const int64_t *f = step->field;

    *q = (struct question){ .spec = make_spec(f),
                            .request = { .verb = verb,
                                         .turn = { f[FIELD_TURN] },
                                         .next = { f[FIELD_NEXT] },
                                         .attempt = (uint32_t)f[FIELD_ATTEMPT],
                                         .fence = (uint64_t)f[FIELD_FENCE],
                                         .ttl_ms = f[FIELD_TTL],
                                         .fresh_ms = f[FIELD_FRESH],
                                         .first_ask = f[FIELD_FIRST] != 0,
                                         .outcome = (enum outcome)f[FIELD_OUTCOME],
                                         .covers = { f[FIELD_COVERS] },
                                         .ran_ms = 5,
                                         .detail = details[f[FIELD_DETAIL]],
                                         .clean = f[FIELD_CLEAN] != 0 } };
    make_texts(f, q);
    q->request.job = &q->spec;
    q->request.token = q->token;
    q->request.device = q->device;
    q->request.boot = q->boot;
    make_part(f, q);
}

/* The numbers at which the in-memory store goes on to look for what is to be forgotten. */
struct looks {
    uint32_t seats, devices, jobs;
};

static struct looks looks_of(const struct sides *s, size_t job)
{
    return (struct looks){ .seats = s->jobs[job].seats.look,
                           .devices = s->fleet.fleet.look_at_device,
                           .jobs = s->fleet.fleet.look_at_job };
}

static const char *names_at(struct memory_table table, uint32_t number,
                            char names[2 * MEMORY_NAME_SIZE])
{
    const char *first, *second;

    names[0] = '\0';
    if (*table.count == 0)
        return names;
    first = memory_table_next(&table, &number);
    second = memory_table_next(&table, &number);
    text_format(names, sizeof(char[2 * MEMORY_NAME_SIZE]), "%s %s", first, second);
    return names;
}

/* Lets the script look at the devices and jobs that the in-memory store has looked at. */
static void tell_looks(struct sides *s, size_t job, const struct looks *looks)
{
    char seats[2 * MEMORY_NAME_SIZE], devices[2 * MEMORY_NAME_SIZE], jobs[2 * MEMORY_NAME_SIZE];

    sides_order(s, "MSET look:seats %s look:devices %s look:jobs %s",
                names_at(memory_seats_table(&s->jobs[job].seats), looks->seats, seats),
                names_at(memory_fleet_devices(&s->fleet.fleet), looks->devices, devices),
                names_at(memory_fleet_jobs(&s->fleet.fleet), looks->jobs, jobs));
}

/* Two jobs share a lock, but not as a lock_key makes them, which names all other keys by it. */
static void share_lock(struct redis_codec_command *command, size_t job, char own[SIDES_KEY_SIZE],
                       char shared[SIDES_KEY_SIZE])
{
    text_format(own, SIDES_KEY_SIZE, PREFIX "{%s}:lock", sides_job_name(job));
    sides_key(job, "lock", shared);
    for (size_t i = FIRST_KEY; i < command->count; i++)
        if (strcmp(command->arguments[i], own) == 0) {
            command->arguments[i] = shared;
            command->lengths[i] = strlen(shared);
        }
}

static redisReply *ask_redis(struct sides *s, const struct question *q, size_t job,
                             const struct looks *looks)
{
    struct redis_codec_command command;
    char own[SIDES_KEY_SIZE], shared[SIDES_KEY_SIZE];
    bool seats = q->spec.scope == SCOPE_DEVICE && !is_fleets(q->request.verb);
    redisReply *reply;

    if (redis_codec_compose(&q->request, PREFIX, &command) < 0)
        sides_give_up("a command is longer than its limit");
    if (q->request.verb == STORE_HELLO || q->request.verb == STORE_ACQUIRE)
        tell_looks(s, job, looks);
    if (command.script) {
        seats = seats && s->sha1[1][q->request.verb][0];
        command.arguments[1] = s->sha1[seats][q->request.verb];
        share_lock(&command, job, own, shared);
    }
    reply = sides_take(
        redisCommandArgv(s->device, (int)command.count, command.arguments, command.lengths));
    redis_codec_done(&command);
    return reply;
}

void sides_ask(struct sides *s, const struct step *step, enum store_verb verb)
{
    size_t job = (size_t)step->field[FIELD_JOB];
    struct store_reply redis = { .status = STORE_ANSWERED };
    struct looks looks = looks_of(s, job);
    struct redis_codec_texts texts;
    struct question q;
    redisReply *reply;

    make_question(step, verb, &q);
    q.spec.lock_key = job == SIDES_JOBS - 1 ? "shared" : NULL;
    if (is_fleets(verb))
        memory_fleet_answer(&s->fleet.fleet, s->now, &q.request, &s->reply);
    else
        memory_answer(&s->jobs[job].record, s->now, &q.request, &s->reply);
    q.spec.lock_key = NULL; /* share_lock() */
    reply = ask_redis(s, &q, job, &looks);
    if (reply->type == REDIS_REPLY_ERROR)
        sides_compare_failed(s, "reply", "an answer", reply->str);
    else if (redis_codec_parse(verb, reply, &texts, &redis) < 0)
        sides_compare_failed(s, "reply", "an answer", "one that is none of the script's");
    else
        sides_compare_replies(s, verb, &s->reply, &redis);
    freeReplyObject(reply);
}
