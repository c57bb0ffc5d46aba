/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_ask.h"
#include "base/text.h"
#include "rotactl/output.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* --- which jobs --- */

struct name {
    const char *text;
    int64_t done; /* the newest settled turn, by the fleet's list of jobs; 0: not there */
};

struct names {
    struct name *items;
    size_t count;
};

static int add_name(struct names *n, const char *name, int64_t done)
{
    void *items = n->items;
    int rc;

    if (!text_is_job_name(name)) /* somebody has damaged the list */
        return 0;
    rc = kept_grow(&items, n->count, sizeof *n->items);
    n->items = items;
    if (rc < 0)
        return rc;
    n->items[n->count++] = (struct name){ name, done };
    return 0;
}

static int read_name(sd_bus_message *m, void *context)
{
    const char *name;
    int64_t done;
    int rc = sd_bus_message_read(m, "(sx)", &name, &done);

    if (rc <= 0)
        return rc;
    rc = add_name(context, name, done);
    return rc < 0 ? rc : 1;
}

/* Of one name, that of the list first. */
static int by_text(const void *a, const void *b)
{
    const struct name *one = a, *other = b;
    int order = strcmp(one->text, other->text);

    return order != 0 ? order : (one->done < other->done) - (one->done > other->done);
}

/* The keys of all jobs that have run, are in a configuration of the fleet, or in that of this
 * device. */
static int find_keys(struct call *c, struct fleet_answers *a, struct names *n)
{
    const struct pages pages = {
        .method = "FleetJobs", .row = "(sx)", .read = read_name, .context = n
    };
    int64_t now_ms;
    int rc = pages_ask(c, &a->kept, &pages, &now_ms);

    if (rc != 0)
        return rc;
    for (size_t i = 0; i < a->confs.conf_count && rc == 0; i++)
        rc = add_name(n, a->confs.confs[i].key, 0);
    for (size_t i = 0; i < a->locals.count && rc == 0; i++)
        rc = add_name(n, a->locals.items[i].key, 0);
    if (n->count > 0)
        qsort(n->items, n->count, sizeof *n->items, by_text);
    return rc < 0 ? output_say_no_memory() : 0;
}

/* --- jobs --- */

static void fill_job(const struct fleet_answers *a, const struct name *name, struct fleet_job *ret)
{
    const char *key = name->text;
    const struct fleet_local *local = fleet_locals_by_key(&a->locals, key);
    struct fleet_job job = { .name = local ? local->name : key,
                             .token = "",
                             .state = "",
                             .detail = "",
                             .holder = "",
                             .settled = name->done,
                             .pause = "",
                             .left_ms = -1,
                             .pause_left_ms = -1,
                             .took_ms = FACT_NONE,
                             .attempts = local ? local->attempts : FACT_NONE };

    job.conf_count = fleet_confs_find(&a->confs, key, &job.confs);
    job.retired = job.conf_count == 0 && !local && a->confs.whole;
    *ret = job;
}

static int make_jobs(struct fleet_answers *a, const struct names *n)
{
    a->jobs = calloc(n->count + 1, sizeof *a->jobs);
    if (!a->jobs)
        return output_say_no_memory();
    for (size_t i = 0; i < n->count; i++)
        if (i == 0 || strcmp(n->items[i].text, n->items[i - 1].text) != 0)
            fill_job(a, &n->items[i], &a->jobs[a->job_count++]);
    return 0;
}

/* By name; those that are no more at the end. */
static int by_name(const void *a, const void *b)
{
    const struct fleet_job *one = a, *other = b;

    if (one->retired != other->retired)
        return one->retired ? 1 : -1;
    return strcmp(one->name, other->name);
}

static int ask_jobs(struct call *c, struct fleet_answers *a)
{
    int rc = 0;

    if (a->job_count > 0)
        qsort(a->jobs, a->job_count, sizeof *a->jobs, by_name);
    for (size_t i = 0; i < a->job_count && rc == 0; i++)
        rc = fleet_job_ask(c, a, &a->jobs[i]);
    return rc;
}

static int ask_all_jobs(struct call *c, struct fleet_answers *a)
{
    struct names names = { 0 };
    int rc = find_keys(c, a, &names);

    if (rc == 0)
        rc = make_jobs(a, &names);
    free(names.items);
    return rc == 0 ? ask_jobs(c, a) : rc;
}

static int ask_one_job(struct call *c, struct fleet_answers *a, const char *name)
{
    const struct fleet_local *local = fleet_locals_by_name(&a->locals, name);
    struct name key = { .text = local ? local->key : name };
    struct names names = { .items = &key, .count = 1 };
    int rc = make_jobs(a, &names);

    if (rc == 0)
        rc = ask_jobs(c, a);
    if (rc == 0 && a->jobs[0].retired && !a->jobs[0].known && !a->jobs[0].trouble) {
        char shown[80];

        fprintf(stderr, "rotactl: the fleet knows no job '%s'; rotactl fleet has all\n",
                text_escape(shown, sizeof shown, name, strlen(name)));
        rc = EX_USAGE;
    }
    return rc;
}

/* --- the fleet --- */

static const char *version_of(const struct fleet_device *device)
{
    return device->version;
}

static int read_server(struct call *c, struct fleet_answers *a)
{
    struct fleet *f = &a->fleet;
    const char *word;
    sd_bus_message *m = NULL;
    int rc = call_ask(c, &m, "Server", "");

    if (rc != 0)
        return rc;
    if (kept_add(&a->kept, m) < 0)
        return output_say_no_memory();
    if (sd_bus_message_read(m, "sxss", &word, &f->now_ms, &f->server, &f->policy) <= 0)
        return call_say_odd(c);
    return 0;
}

static int tell_devices(struct fleet_answers *a)
{
    struct fleet *f = &a->fleet;

    f->prefix = a->locals.prefix;
    f->address = a->locals.address;
    f->devices = a->devices.there;
    f->silent = a->devices.count - a->devices.there;
    if (fleet_devices_tally(&a->devices, version_of, &a->versions, &f->version_count) < 0)
        return output_say_no_memory();
    f->versions = a->versions;
    return 0;
}

int fleet_ask(struct call *c, const char *job, struct fleet_answers *a)
{
    int rc = fleet_locals_ask(c, &a->kept, &a->locals);

    if (rc == 0)
        rc = fleet_devices_ask(c, &a->kept, &a->devices);
    if (rc == 0)
        rc = fleet_confs_ask(c, &a->kept, &a->devices, &a->confs);
    if (rc == 0)
        rc = tell_devices(a);
    if (rc != 0)
        return rc;
    fleet_locals_match(&a->locals, &a->confs);
    rc = job ? ask_one_job(c, a, job) : ask_all_jobs(c, a);
    if (rc == 0)
        rc = read_server(c, a); /* last: its time is that of the screen */
    a->fleet.jobs = a->jobs;
    a->fleet.job_count = a->job_count;
    return rc;
}

void fleet_answers_done(struct fleet_answers *a)
{
    for (size_t i = 0; i < a->job_count; i++)
        free(a->jobs[i].trouble);
    free(a->jobs);
    free(a->versions);
    fleet_confs_done(&a->confs);
    fleet_devices_done(&a->devices);
    fleet_locals_done(&a->locals);
    kept_done(&a->kept);
}
