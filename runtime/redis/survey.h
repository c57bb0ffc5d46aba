/* SPDX-License-Identifier: MIT
 * redis/survey.h: one try to use a server, step by step, for people who want to know what stands in
 * the way. It connects, logs in and asks as the store does, over the same link; its one question
 * (survey.lua) writes nothing. */
#ifndef ROTA_REDIS_SURVEY_H
#define ROTA_REDIS_SURVEY_H
#include "redis/scripts.h"
#include "redis/store.h"

struct redis_survey;
struct redisReply; /* hiredis */

/* Keys beside the prefix that are looked up; more are not. */
#define REDIS_SURVEY_KEYS_MAX 64

enum redis_survey_step {
    REDIS_SURVEY_NAME,
    REDIS_SURVEY_CONNECTION,
    REDIS_SURVEY_TLS,
    REDIS_SURVEY_LOGIN,
    REDIS_SURVEY_RIGHTS, /* to ask at all */
    REDIS_SURVEY_SERVER, /* it answers, but serves nobody now */
    REDIS_SURVEY_DONE
};

enum redis_survey_saved {
    REDIS_SAVED_UNKNOWN,
    REDIS_SAVED_FAILED,   /* the last try to save */
    REDIS_SAVED_LOG,      /* an append-only file */
    REDIS_SAVED_SNAPSHOT, /* no such file; the last snapshot is age_s old */
    REDIS_SAVED_NEVER,    /* neither, since the server began age_s ago */
    REDIS_SAVED_OVERDUE   /* the same, and there has been something to save for long */
};

/* What the server told. All texts are a stranger's. */
struct redis_survey_facts {
    int64_t time_ms;    /* its clock, in the middle of answered_ms; 1: it may not be asked */
    const char *server; /* "redis 7.0.15"; "": it may not be asked, nor for what follows */
    bool replica, cluster;
    bool mute;          /* it has no command that tells: INFO is renamed */
    const char *policy; /* maxmemory-policy */
    int64_t full_bytes; /* its maxmemory, where that is used up and writes are refused; 0: not */
    enum redis_survey_saved saved;
    int64_t age_s;
    int64_t replicas; /* that it has */
    /* Replicas that follow closely, plus one; 0: min-replicas-to-write is not set, and it takes
     * writes without any. */
    int64_t close_replicas;
    int64_t crowded; /* its maxclients, where nine in ten of them are there; 0: not */
    int64_t fork_ms; /* what its last fork took, in which it answers nobody */
    /* Scripts that may not run, with commas ("all 12": none may); and which rights the user lacks
     * for them, as ACL SETUSER takes them. "" where nothing is missing; the rights are "?" where
     * they cannot be looked up (before Redis 7). */
    const char *barred, *rights;
    /* The same of scripts that people's questions and changes are, with rotactl; without the rights
     * that are missing already. */
    const char *people_barred, *people_rights;
};

struct redis_survey_end {
    enum redis_survey_step step; /* where it ended */
    const char *reason;          /* a sentence part; NULL where it is done */
    enum fault fault;            /* its class */
    const char *address;         /* connected to, or tried last; for people */
    size_t addresses;            /* that the name has; 0: it is none */
    /* What TLS has agreed on; the version is NULL in the clear. */
    const char *tls_version;
    int64_t tls_expires_s; /* the certificate of the server, Unix seconds; 0: not known */
    int64_t named_ms, connected_ms, answered_ms; /* what the steps took, one by one */
    struct redis_survey_facts facts;             /* where it is done */
};

/* All that it points to must stay. */
struct redis_survey_plan {
    const struct redis_settings *settings; /* with one endpoint */
    const struct redis_store_env *env;     /* the loop, the names, and the context of all */
    const struct redis_script *script;     /* the question, survey.lua; NULL: it is `command` */
    const char *const *keys;               /* lock_keys */
    size_t key_count;                      /* at most REDIS_SURVEY_KEYS_MAX */
    const struct redis_command *command;
    /* The answer to `command`, of which there are no facts: false where no server that is meant
     * says such a thing. */
    bool (*take)(void *context, const struct redisReply *reply);
    /* Called once, from the event loop, within connect_timeout and command_timeout; what it is
     * given is valid during the call. */
    void (*done)(void *context, const struct redis_survey_end *end);
};

/* Begins. 0, -ENOMEM, or an error of sd-event. */
int redis_survey_new(const struct redis_survey_plan *plan, struct redis_survey **ret_survey);
void redis_survey_free(struct redis_survey *survey);
#endif
