/* SPDX-License-Identifier: MIT
 * config/schema.h: every key of the conf files, once. Loader, printer, comparison, messages and the
 * manual page follow the table. */
#ifndef ROTA_CONFIG_SCHEMA_H
#define ROTA_CONFIG_SCHEMA_H
#include <stddef.h>
#include <stdint.h>

enum schema_type {
    SCHEMA_TEXT,      /* char *; NULL where not given */
    SCHEMA_CHOICE,    /* integer: `min` for the first of `choices`, and on */
    SCHEMA_DURATION,  /* int64_t, ms */
    SCHEMA_SIZE,      /* int64_t, bytes; below 0: not given */
    SCHEMA_INTEGER,   /* bool, uint32_t, int or int64_t by `size` */
    SCHEMA_BOOLEAN,   /* the same */
    SCHEMA_LIST,      /* char **, ends with NULL: texts; NULL where not given, or the default */
    SCHEMA_ADDRESSES, /* struct redis_addresses */
    SCHEMA_SERVERS, /* struct redis_config: groups of the same table, which config/topology.h reads
                     */
    SCHEMA_PARAMS,  /* struct job_config */
    SCHEMA_GROUP,   /* keys of another table */
    SCHEMA_TYPE_COUNT
};

enum {
    SCHEMA_REQUIRED = 1,  /* wherever its group is */
    SCHEMA_NEEDS_JOB = 2, /* required once there is a job */
    SCHEMA_LIVE = 4,      /* may change while rotad runs; of a job: without making it another */
    SCHEMA_ABSOLUTE = 8,  /* an absolute path, or a list of such */
    SCHEMA_TEMPLATE = 16, /* texts: %H and the like are expanded, so that a % is printed as %% */
    SCHEMA_ZERO_IS_NONE = 32, /* numbers: 0 is printed as nothing */
    SCHEMA_AUTO = 64,         /* durations: "auto" is written for 0, which is below `min` */
    SCHEMA_TABS = 128,        /* texts: a tab means a space, and is kept as one */
    SCHEMA_SECRET = 256,      /* absolute paths: or credential:NAME */
    SCHEMA_VARIABLES = 512,   /* lists: of "NAME=value" */
    SCHEMA_SETUP = 1024,      /* of a job: in its struct job_setup */
    SCHEMA_EACH = 2048,       /* of redis: each server of a quorum may have its own */
    SCHEMA_HOSTS = 4096,      /* addresses: no unix sockets */
};

/* Words of the manual page, which a program of its own writes: rotad is built without them. */
#ifdef ROTA_MANUAL
typedef const char *schema_words;
#else
typedef struct {
} schema_words;
#endif

struct schema_key {
    const char *path; /* as messages name it: "redis.address" */
    enum schema_type type : 8;
    unsigned flags : 16;
    unsigned prefix : 8;   /* bytes of the path before the key's name */
    uint16_t offset, size; /* of the destination in the group's struct */
    int64_t min, max;      /* durations in ms, sizes, integers; texts: length in bytes */
    union {
        const char *choices; /* "err|warning" */
        const char *only;    /* texts: what may stand in them beside letters and digits; NULL:
                                anything printable */
    };
    const char *def;        /* the default, without quotes; NULL: none, or by `otherwise` */
    const char *example;    /* for messages; NULL: def serves */
    schema_words otherwise; /* the default, where it depends */
    schema_words help;      /* one sentence */
};

enum schema_group_id {
    SCHEMA_TOP,
    SCHEMA_REDIS,
    SCHEMA_JOB,
    SCHEMA_LIMITS, /* of a job's setup */
    SCHEMA_GROUP_COUNT
};

struct schema_group {
    const char *prefix; /* of paths: "redis." */
    const struct schema_key *keys;
    size_t count;
};

/* More than any group has. */
#define SCHEMA_KEYS_MAX 40

/* As the group holds it: "address". */
static inline const char *schema_name(const struct schema_key *k)
{
    return k->path + k->prefix;
}

const struct schema_group *schema_group(enum schema_group_id id);
/* NULL where there is none. An old name (renamed.h) is none. */
const struct schema_key *schema_find(const struct schema_group *g, const char *name);
/* The known key that `name` is a slip of, or NULL. */
const struct schema_key *schema_nearest(const struct schema_group *g, const char *name);
/* A choice's place in "a|b|c", or -1. Its text: the start, with the length in *ret_length; NULL
 * past the last. */
int schema_choice_index(const char *choices, const char *text);
const char *schema_choice(const char *choices, int index, int *ret_length);
#endif
