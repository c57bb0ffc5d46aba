/* SPDX-License-Identifier: MIT
 * config/config.h: what the conf files say, checked, with every default filled in.
 *
 * Loading never stops at the first mistake: problems are collected with file, line and what to
 * write instead. A job with a mistake is `invalid` alone; a mistake elsewhere is `fatal` to the
 * whole. The strict reading
 * (--check, reload) is: no problem of level error at all. */
#ifndef ROTA_CONFIG_CONFIG_H
#define ROTA_CONFIG_CONFIG_H
#include "base/limits.h"
#include "base/param.h"
#include "core/spec.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum problem_level { PROBLEM_WARNING, PROBLEM_ERROR };

struct problem {
    enum problem_level level;
    char *file; /* as the user would name it; "" where there is no place */
    int line;   /* 0: the file as a whole */
    char *text; /* without the place: "job 'x': worst_case is 10, which has no unit; write \"10s\"
                   or \"10m\"" */
};

struct problems {
    struct problem *items;
    size_t count;            /* of items; at most the first 1000 are kept */
    size_t errors, warnings; /* of each level, kept or not */
};

enum address_kind { ADDRESS_UNIX, ADDRESS_TCP };

struct redis_address {
    enum address_kind kind;
    char *text; /* as written, for people */
    char *host; /* IPv4 or IPv6 without brackets, or a host name; or the socket's path */
    uint16_t port;
};

/* Where turns are kept. */
enum config_store { CONFIG_STORE_REDIS, CONFIG_STORE_LOCAL };

struct redis_addresses {
    struct redis_address *items;
    size_t count;
};

struct redis_config {
    /* The group `redis` is there, and says where: an address, sentinels or a quorum. */
    bool configured;
    struct redis_addresses addresses; /* tried in turn; with `cluster`, of any of its nodes */
    bool tls;                         /* but not to a unix socket; to the sentinels too */
    char *tls_ca;                     /* or NULL: the system's bundle */
    char *tls_cert, *tls_key;         /* both or neither */
    char *tls_name;                   /* or NULL: the host of the address */
    int database;
    char *username;      /* or NULL */
    char *password;      /* from password_file; or NULL. Wiped by config_free */
    char *password_file; /* as written; or NULL */
    int64_t connect_timeout_ms, command_timeout_ms;
    int64_t idle_timeout_ms; /* 0: closed as soon as nothing is needed */
    int64_t keepalive_ms;    /* 0: off */
    int64_t backoff_min_ms, backoff_max_ms;
    /* Who knows where the master is, which `addresses` then does not count for; count 0: none. */
    struct redis_addresses sentinels;
    char *master;                 /* its name at the sentinels; NULL without them */
    char *sentinel_username;      /* or NULL */
    char *sentinel_password;      /* as password */
    char *sentinel_password_file; /* as password_file */
    bool cluster;                 /* the addresses are of a Redis Cluster */
    /* Independent servers, a majority of which decides: 3, 5 or 7, or none. Each has one address,
     * and what its group leaves out from here; the times are the same in all. */
    struct redis_config *servers;
    size_t server_count;
};

/* How the device takes part in its fleet. */
struct fleet_config {
    int64_t checkin_ms; /* from one hello to the next; 0: by the fleet's size */
    bool turns_all;     /* every device asks for each turn, whatever the fleet's size */
};

/* As whom a job runs, looked up when the files were read. */
struct job_identity {
    uint32_t uid;     /* where the job names its user, and so are home and groups */
    uint32_t gid;     /* where it names its user or its group: the primary one */
    uint32_t *groups; /* further ones, of which the user is a member */
    uint32_t group_count;
    char *home;
};

/* What surrounds a job's processes. Jobs that mean the same may share one. */
struct job_setup {
    char *user, *group;           /* as written; or NULL: that of job_user */
    struct job_identity identity; /* of `user` and `group`; empty for another device's tree */
    char *working_dir;            /* or NULL: / */
    char **environment;           /* "NAME=value", ends with NULL; NULL: none */
    struct limits limits;         /* processes 0: not written */
    bool network;                 /* false: none but loopback */
};

struct job_config {
    struct job_spec spec; /* spec.name and spec.key are texts of this struct; spec.lock_key is owned
                             like them */
    char *name;
    char *file;
    int line;
    bool enabled;
    bool extend;    /* overrun = "extend"; what it means is in spec.timing.max_runtime_ms */
    bool elsewhere; /* none of `devices` matches this device: its plugin is neither looked for nor
                       probed */
    bool invalid;   /* a mistake was found, here or by the probe; spec may be unsound then */
    char **devices; /* patterns (* ?), ends with NULL; NULL: every device */
    char *was;      /* former name; or NULL */
    char *about;    /* the key `description`; or NULL */
    char *cron, *timezone; /* as written; NULL with every */
    char *invalid_why;     /* the first mistake with its place, for status and journal; or NULL */
    char *plugin;          /* as written */
    char *plugin_path;     /* found; NULL where invalid or elsewhere */
    char *description;     /* config_source.described: the file beside the plugin that says what
                              parameters it has; or NULL: there is none */
    struct param_value *params;
    int *param_lines; /* line of each parameter, in `file` */
    uint32_t param_count;
    uint32_t output_lines;
    struct job_setup *setup; /* never NULL */
};

struct config {
    char *prefix;         /* "" where not given (then no job can run) */
    char *device;         /* expanded; where `device_open`, as written */
    char *device_written; /* as in the file; NULL where it is not there */
    bool device_open;     /* the name is made on the device, which is not this machine (`root`) */
    char **plugin_dirs;   /* ends with NULL */
    enum config_store store;
    char *device_file, *requires, *metrics_file; /* or NULL */
    uint32_t max_running;
    int log_level; /* LOG_ERR ... LOG_DEBUG of syslog.h */
    int64_t stop_timeout_ms;
    char *job_user;        /* or NULL: default */
    bool job_user_written; /* the file names it: then a missing user is an error */
    struct redis_config redis;
    struct fleet_config fleet;
    struct job_config *jobs; /* in order of name */
    size_t job_count;
    void *job_block;           /* the jobs' texts and arrays: config/pack.h; or NULL */
    struct config_zone *zones; /* what the jobs' schedules point to: config/zones.h */
    bool described;            /* as in struct config_source */
    struct problems problems;
    bool fatal; /* a mistake outside any job: nothing can start */
};

#define CONFIG_WHY_SIZE 320

struct schema_group; /* config/schema.h */

struct config_source {
    /* -c FILE, with the jobs.d folder beside it; NULL: the system's places (DESIGN section 8). */
    const char *file;
    /* The tree of another device, an absolute path without links and without a slash at its end;
     * "" or NULL: this machine. It stands before every path, `file` too; links in it lead to places
     * in it. What belongs to the caller is trusted, wherever the tree is. */
    const char *root;
    const char *plugin_dir_default; /* libdir/rota */
    /* The name that `devices` is matched with: a rotad that runs keeps its own when the host gets
     * another. NULL: what the files say. */
    const char *device;
    /* No plugin will be loaded: parameters are checked by description files, FILE.description
     * beside FILE.so. */
    bool described;
    /* Nothing will run by it: a credential of systemd that is out of reach is a warning. */
    bool only_checks;
    /* Somebody wants to know: what is not there yet, but a run needs, is warned of. */
    bool for_people;
    /* Tries to use the files of redis.tls_ca, tls_cert and tls_key, in this order: each is a path
     * without links that begins with `root`, or, where that is "", as it is written; or NULL. -1:
     * they are right; or the place of the one that is wrong, 3 where it is none of them, and a
     * sentence in `why`. NULL: they are not looked at. */
    int (*try_tls)(const char *root, const char *const files[3], char why[CONFIG_WHY_SIZE]);
    /* Words for what people write elsewhere, which a rotad that serves has no room for. NULL: the
     * plain message stands. */
    /* `text`, a whole conf file, cannot be understood from `line` on: in `why`, what is wrong there
     * and what to write instead. */
    void (*explain)(const char *text, int line, char why[CONFIG_WHY_SIZE]);
    /* The group has no key `name`: what to write instead, as a sentence's end, and in *ret_key the
     * group's key that says what was meant, or NULL. Or NULL. */
    const char *(*advise)(const struct schema_group *g, const char *name, bool is_group,
                          const char **ret_key);
};

/* Loads and checks all but what needs a probe. 0 and a configuration (which may be fatal or hold
 * problems), or -ENOMEM. Free with config_free. Reads the host name, machine-id, time zones and the
 * user database. A file that requires a newer rota is fatal, and nothing else in it is looked at.
 */
int config_load(const struct config_source *source, struct config **ret_config);
void config_free(struct config *c);

/* For those who find mistakes later (the probe): adds a problem in the job and makes it invalid.
 * param: index, or -1. */
int config_job_problem(struct config *c, struct job_config *job, int param, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "file:line: text", or "text" where there is no place. Returns a heap string or NULL. */
char *config_problem_text(const struct problem *p);

/* Whether this device takes turns of the job: valid, enabled, and meant for it. */
bool config_job_runs(const struct job_config *job);
/* The file that a probe of the job is about: the plugin, or its description. NULL: nothing to
 * probe.
 */
const char *config_job_probe_path(const struct config *c, const struct job_config *job);

struct job_config *config_find_job(struct config *c, const char *name);

/* Writes a conf file that means the same, defaults written out, secrets never. It parses again. */
int config_print(const struct config *c, FILE *out);

/* Whether two jobs mean the same in everything that a run sees. */
bool config_job_equal(const struct job_config *a, const struct job_config *b);
/* The name of the first setting outside the jobs that cannot change while rotad runs (prefix,
 * device, redis.*, plugin_dir ...) and differs, or NULL. device differs where it is written
 * otherwise: a new host name alone is no edit of the file. */
const char *config_fixed_change(const struct config *a, const struct config *b);

/* The reference of all keys, from the schema table: man page rotad.conf(5) in the format of scdoc.
 */
int config_write_manual(FILE *out);
#endif
