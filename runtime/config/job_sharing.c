/* SPDX-License-Identifier: MIT */
#include "config/job_sharing.h"
#include "base/text.h"
#include "core/hash_tag.h"
#include <stdlib.h>
#include <string.h>

#define STOP_AFTER_FAILURES_DEFAULT 3

/* The present job's keys. */
struct keys {
    struct reading *r;
    const struct schema_group *group;
    const struct group_lines *lines;
};

static int line_of(const struct keys *k, const char *name)
{
    return group_line(k->group, k->lines, name);
}

/* What asks for nothing beyond one run a turn may stand with any scope, as
 * --print-config writes it. */
static void check_scope(const struct keys *k)
{
    const struct job_spec *spec = &k->r->job->spec;
    const struct {
        const char *name;
        bool wanted;
    } of_devices[] = {
        { "concurrency", spec->concurrency > 1 },
        { "stop_after_failures", spec->stop_after_failures > 0 },
        { "if_unreachable", spec->run_unreachable },
    };

    if (spec->scope == SCOPE_DEVICE)
        return;
    for (size_t i = 0; i < sizeof(of_devices) / sizeof(of_devices[0]); i++)
        if (of_devices[i].wanted && line_of(k, of_devices[i].name) > 0)
            reading_problem(k->r, PROBLEM_ERROR, line_of(k, of_devices[i].name),
                            "%s goes with scope = \"device\"; write that too, or leave %s out",
                            of_devices[i].name, of_devices[i].name);
}

/* Whether it is a key that rota writes something else to; another job's lock may be shared.
 * `prefix` is NULL where it is missing. */
static bool is_taken(const char *lock_key, const char *prefix)
{
    size_t length = prefix ? strlen(prefix) : 0;
    const char *kind = strrchr(lock_key, '}');

    return length > 0 && strncmp(lock_key, prefix, length) == 0 && lock_key[length] == '{' &&
           !(kind && strcmp(kind, "}:lock") == 0);
}

static void check_lock_key(const struct keys *k)
{
    const struct job_spec *spec = &k->r->job->spec;
    const char *prefix = k->r->config->prefix, *tag;
    int line = line_of(k, "lock_key");

    if (!spec->lock_key)
        return;
    if (strpbrk(spec->lock_key, "{}") && hash_tag(spec->lock_key, &tag) == 0)
        reading_problem(k->r, PROBLEM_ERROR, line,
                        "lock_key is \"%s\", which has a brace but no hash tag of Redis Cluster; "
                        "write it without braces, or with a tag such as \"{orders}:lock\"",
                        spec->lock_key);
    else if (is_taken(spec->lock_key, prefix))
        reading_problem(k->r, PROBLEM_ERROR, line,
                        "lock_key is \"%s\", and keys that begin with \"%s{\" are rota's own; "
                        "write one that begins otherwise, or another job's lock, \"%s{JOB}:lock\"",
                        spec->lock_key, prefix, prefix);
    if (spec->scope == SCOPE_DEVICE)
        reading_problem(k->r, PROBLEM_ERROR, line,
                        "lock_key and scope = \"device\" do not go together: seats take the place "
                        "of the one lock. Leave one of them out");
    else if (spec->lock == LOCK_NONE)
        reading_problem(k->r, PROBLEM_ERROR, line,
                        "lock_key names a lock, and lock is \"none\"; leave one of them out");
    else if (k->r->config->store == CONFIG_STORE_LOCAL)
        reading_problem(k->r, PROBLEM_ERROR, line,
                        "lock_key names a key of Redis, and store is \"local\"; leave one of them "
                        "out");
}

static void warn_of_no_meaning(const struct keys *k)
{
    static const char *const names[] = { "lease", "history", "version" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int line = group_chosen_line(k->group, k->lines, names[i], k->r->job);

        if (line > 0)
            reading_problem(k->r, PROBLEM_WARNING, line,
                            "%s has no meaning with lock = \"none\"; leave it out", names[i]);
    }
}

static void check_no_lock(const struct keys *k)
{
    const struct job_spec *spec = &k->r->job->spec;

    if (spec->lock != LOCK_NONE)
        return;
    if (spec->scope == SCOPE_DEVICE)
        reading_problem(k->r, PROBLEM_ERROR, line_of(k, "lock"),
                        "lock = \"none\" and scope = \"device\" do not go together: both run each "
                        "turn on every device, the one unseen, the other with seats and a record. "
                        "Keep one of them");
    warn_of_no_meaning(k);
}

static void check_fence(const struct keys *k)
{
    const struct job_spec *spec = &k->r->job->spec;
    const char *with = NULL;

    if (!spec->require_fence)
        return;
    if (spec->scope == SCOPE_DEVICE)
        with = "scope = \"device\", where runs have no fence";
    else if (spec->lock == LOCK_NONE)
        with = "lock = \"none\", where runs have no fence";
    else if (k->r->config->store == CONFIG_STORE_LOCAL)
        with = "store = \"local\", whose fences begin anew with rotad";
    else if (k->r->config->redis.server_count > 0)
        with = "redis.quorum, whose servers count apart from each other";
    if (with)
        reading_problem(k->r, PROBLEM_ERROR, line_of(k, "require_fence"),
                        "require_fence cannot be kept with %s; leave one of them out", with);
}

static void check_quorum(const struct keys *k)
{
    const struct config *c = k->r->config;

    if (k->r->job->spec.scope == SCOPE_DEVICE && c->redis.server_count > 0 &&
        c->store != CONFIG_STORE_LOCAL)
        reading_problem(k->r, PROBLEM_ERROR, line_of(k, "scope"),
                        "scope = \"device\" does not go with redis.quorum: seats of several "
                        "servers do not add up to concurrency; leave one of them out");
}

static void settle_local(const struct keys *k)
{
    struct job_spec *spec = &k->r->job->spec;

    if (k->r->config->store != CONFIG_STORE_LOCAL || spec->scope != SCOPE_DEVICE)
        return;
    reading_problem(k->r, PROBLEM_WARNING, line_of(k, "scope"),
                    "scope is \"device\", but with store = \"local\" this device is the whole "
                    "fleet and runs each turn once; leave scope out, with concurrency, "
                    "stop_after_failures and if_unreachable");
    spec->scope = SCOPE_FLEET;
    spec->concurrency = 1;
    spec->stop_after_failures = 0;
    spec->run_unreachable = false;
}

void job_sharing_settle(struct reading *r, const struct schema_group *g,
                        const struct group_lines *lines)
{
    const struct keys k = { r, g, lines };
    struct job_spec *spec = &r->job->spec;

    if (line_of(&k, "stop_after_failures") == 0 && spec->scope == SCOPE_DEVICE)
        spec->stop_after_failures = STOP_AFTER_FAILURES_DEFAULT;
    check_scope(&k);
    check_lock_key(&k);
    check_no_lock(&k);
    check_fence(&k);
    check_quorum(&k);
    settle_local(&k);
}

static int by_lock_key(const void *a, const void *b)
{
    const struct job_config *x = *(struct job_config *const *)a;
    const struct job_config *y = *(struct job_config *const *)b;
    int order = strcmp(x->spec.lock_key, y->spec.lock_key);

    return order != 0 ? order : strcmp(x->name, y->name);
}

static void note_same_lock(struct reading *r, struct job_config *job,
                           const struct job_config *other)
{
    r->job = job;
    r->file = job->file;
    reading_problem(r, PROBLEM_ERROR, job->line,
                    "require_fence cannot be kept, since job '%s' (%s:%d) has the same lock_key, "
                    "and the fences of two jobs say nothing about each other; give this job a lock "
                    "of its own, or leave require_fence out",
                    other->name, other->file, other->line);
    r->job = NULL;
}

static bool same_lock(const struct job_config *a, const struct job_config *b)
{
    return strcmp(a->spec.lock_key, b->spec.lock_key) == 0;
}

void job_sharing_note_same_locks(struct reading *r)
{
    struct config *c = r->config;
    struct job_config **jobs = calloc(c->job_count + 1, sizeof(struct job_config *));
    size_t count = 0;

    if (!jobs) {
        r->no_memory = true;
        return;
    }
    for (size_t i = 0; i < c->job_count; i++)
        if (c->jobs[i].spec.lock_key)
            jobs[count++] = &c->jobs[i];
    qsort(jobs, count, sizeof(struct job_config *), by_lock_key);
    for (size_t i = 0; i < count; i++) {
        if (!jobs[i]->spec.require_fence)
            continue;
        if (i > 0 && same_lock(jobs[i - 1], jobs[i]))
            note_same_lock(r, jobs[i], jobs[i - 1]);
        else if (i + 1 < count && same_lock(jobs[i], jobs[i + 1]))
            note_same_lock(r, jobs[i], jobs[i + 1]);
    }
    free(jobs);
}
