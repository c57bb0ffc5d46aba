/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline_ask.h"
#include "base/text.h"
#include "rotactl/fleet_answer.h"
#include "rotactl/fleet_locals.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* Two questions to Redis a job. Who wants to see more of them names those. */
#define JOBS_MAX 200
#define NAME_SIZE 64
/* Of each job, as many as are answered. */
#define RUNS_OF_JOB 100
/* Of a token, with its end. */
#define DEVICE_SIZE 520
/* Due instants of one job: more than a picture has pixels for. */
#define DUES_MAX 20000

struct names {
    size_t count;
    char name[JOBS_MAX][NAME_SIZE];
};

static int say_no_memory(void)
{
    fputs("rotactl: there is not enough memory; take fewer jobs or days\n", stderr);
    return EX_OSERR;
}

/* What runs_add() and the like return, as an exit status. */
static int say_not_added(int rc)
{
    if (rc == 0)
        return 0;
    if (rc != -E2BIG)
        return say_no_memory();
    fputs("rotactl: there are more than 200,000 runs or due instants; take fewer jobs or days\n",
          stderr);
    return EX_USAGE;
}

/* --- which jobs --- */

static int add_name(struct names *names, const char *name)
{
    if (!text_is_job_name(name)) /* somebody has damaged the list */
        return 0;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0)
            return 0;
    if (names->count == JOBS_MAX) {
        fprintf(stderr, "rotactl: there are more than %d jobs; name those that are to be drawn\n",
                JOBS_MAX);
        return EX_USAGE;
    }
    text_copy(names->name[names->count++], NAME_SIZE, name);
    return 0;
}

/* Of an array of structs of that type, which begin with a name. */
static int add_names(struct call *c, sd_bus_message *m, const char *type, struct names *names)
{
    const char *name;
    int rc = sd_bus_message_enter_container(m, 'a', type), status = 0;
    char contents[16];

    text_copy(contents, sizeof contents, type + 1);
    contents[strlen(contents) - 1] = '\0'; /* without its parentheses */
    while (rc > 0 && status == 0) {
        rc = sd_bus_message_enter_container(m, 'r', contents);
        if (rc <= 0)
            break;
        rc = sd_bus_message_read(m, "s", &name);
        if (rc > 0)
            status = add_name(names, name);
        if (rc > 0)
            rc = sd_bus_message_skip(m, contents + 1);
        if (rc >= 0)
            rc = sd_bus_message_exit_container(m);
    }
    if (status == 0 && rc >= 0)
        rc = sd_bus_message_exit_container(m);
    return rc < 0 ? call_say_odd(c) : status;
}

static int add_own_jobs(struct call *c, struct names *names)
{
    sd_bus_message *m = NULL;
    int rc = call_now(c, "Status", &m);

    if (rc == 0 && sd_bus_message_skip(m, "ssa{sv}") < 0)
        rc = call_say_odd(c);
    if (rc == 0)
        rc = add_names(c, m, "(sa{sv})", names);
    sd_bus_message_unref(m);
    return rc;
}

/* A page; *from moves to the next one. */
static int add_page(struct call *c, char *from, size_t size, struct names *names)
{
    const char *word, *next;
    sd_bus_message *m = NULL;
    int64_t now;
    int rc = call_ask(c, &m, "FleetJobs", "s", from);

    if (rc == 0 && sd_bus_message_read(m, "sxs", &word, &now, &next) <= 0)
        rc = call_say_odd(c);
    if (rc == 0 && !text_copy(from, size, next))
        rc = call_say_odd(c);
    if (rc == 0)
        rc = add_names(c, m, "(sx)", names);
    sd_bus_message_unref(m);
    return rc;
}

static void drop_keys(struct names *names, size_t own, const struct fleet_locals *locals)
{
    size_t count = own;

    for (size_t i = own; i < names->count; i++)
        if (!fleet_locals_by_key(locals, names->name[i]))
            memmove(names->name[count++], names->name[i], NAME_SIZE);
    names->count = count;
}

/* Of the names behind the device's own, those that such a job had before (`was`): they stand for
 * the same runs. */
static int drop_old_names(struct call *c, struct names *names, size_t own)
{
    struct kept kept = { 0 };
    struct fleet_locals locals = { 0 };
    struct fleet_devices devices = { 0 };
    struct fleet_confs confs = { 0 };
    int rc = fleet_locals_ask(c, &kept, &locals);

    if (rc == 0)
        rc = fleet_devices_ask(c, &kept, &devices);
    if (rc == 0)
        rc = fleet_confs_ask(c, &kept, &devices, &confs);
    if (rc == 0) {
        fleet_locals_match(&locals, &confs);
        drop_keys(names, own, &locals);
    }
    fleet_confs_done(&confs);
    fleet_devices_done(&devices);
    fleet_locals_done(&locals);
    kept_done(&kept);
    return rc;
}

static int find_jobs(struct call *c, struct names *names)
{
    char from[32] = "0";
    int rc = add_own_jobs(c, names);
    size_t own = names->count;

    while (rc == 0) {
        rc = add_page(c, from, sizeof from, names);
        if (strcmp(from, "0") == 0)
            break;
    }
    return rc == 0 && names->count > own ? drop_old_names(c, names, own) : rc;
}

/* --- their runs --- */

/* A token's device is what stands before its last colon. */
static void device_of(const char *token, char *buf)
{
    const char *colon = strrchr(token, ':');

    text_format(buf, DEVICE_SIZE, "%.*s", colon ? (int)(colon - token) : DEVICE_SIZE - 1, token);
}

/* Of one that vanished, which was written down by the next that asked: a fence is the server's time
 * at the grant, unless a clock was ahead once. */
static int64_t began_by_fence(const struct run *run)
{
    bool is_time = run->fence >= run->turn && run->fence <= run->ended;

    return is_time && run->fence > 0 ? run->fence : RUNS_NO_TIME;
}

/* Of the answer's array of runs: 1, 0 where there is none any more, or negative errno. */
static int read_run(sd_bus_message *m, struct run *run, const char **ret_token)
{
    struct fleet_run read;
    int rc = fleet_answer_run(m, &read);

    if (rc <= 0)
        return rc;
    if (read.ran_ms < 0) /* somebody has damaged it */
        read.ran_ms = 0;
    *ret_token = read.token;
    run->word = read.outcome;
    run->detail = read.detail;
    run->turn = read.turn;
    run->attempt = read.attempt;
    run->fence = read.fence;
    run->ended = read.written;
    run->started = read.ran_ms < read.written ? read.written - read.ran_ms : 0;
    if (runs_outcome(run->word) == RUN_VANISHED)
        run->started = began_by_fence(run);
    return 1;
}

/* Of several jobs it has to be said of which: the others can be drawn without it. */
static int say_unasked(const char *job, const char *why)
{
    char shown[CALL_WHY_SIZE];

    fprintf(stderr, "rotactl: Redis cannot be asked for the runs of %s: %s\n", job,
            text_escape(shown, sizeof shown, why, strlen(why)));
    return STATUS_LOOK;
}

static int add_history(struct call *c, const char *job, struct runs *runs)
{
    char device[DEVICE_SIZE], why[CALL_WHY_SIZE];
    struct run run = { .job = job, .device = device };
    const char *token;
    sd_bus_message *m = NULL;
    int rc = call_try(c, &m, why, "History", "su", job, (uint32_t)RUNS_OF_JOB), got = 0;

    if (rc == -ENODATA)
        return say_unasked(job, why);
    if (rc == 0 && fleet_answer_runs(m, &runs->now) < 0)
        rc = call_say_odd(c);
    while (rc == 0 && (got = read_run(m, &run, &token)) > 0) {
        device_of(token, device);
        rc = say_not_added(runs_add(runs, &run));
    }
    sd_bus_message_unref(m);
    return got < 0 ? call_say_odd(c) : rc;
}

/* The one under way, as the job's record has it. */
static int add_running(struct call *c, const char *job, struct runs *runs)
{
    char device[DEVICE_SIZE], why[CALL_WHY_SIZE];
    struct run run = { .job = job,
                       .device = device,
                       .word = runs_outcome_name(RUN_RUNNING),
                       .detail = "",
                       .ended = RUNS_NO_TIME };
    struct fleet_look look;
    sd_bus_message *m = NULL;
    int rc = call_try(c, &m, why, "FleetJob", "s", job);

    if (rc == -ENODATA)
        return say_unasked(job, why);
    if (rc == 0 && fleet_answer_look(m, &look) < 0)
        rc = call_say_odd(c);
    if (rc == 0 && strcmp(look.state, run.word) == 0) {
        run.turn = look.turn;
        run.attempt = look.attempt;
        run.fence = look.fence;
        run.started = look.started;
        device_of(look.token, device);
        rc = say_not_added(runs_add(runs, &run));
    }
    sd_bus_message_unref(m);
    return rc;
}

static int add_job(struct call *c, const char *job, struct runs *runs)
{
    int rc = add_history(c, job, runs);

    return rc ? rc : add_running(c, job, runs);
}

static int add_all_jobs(struct call *c, struct runs *runs)
{
    struct names *names = calloc(1, sizeof *names);
    int rc;

    if (!names)
        return say_no_memory();
    rc = find_jobs(c, names);
    for (size_t i = 0; i < names->count && rc == 0; i++)
        rc = add_job(c, names->name[i], runs);
    free(names);
    return rc;
}

int timeline_ask_runs(struct call *c, const char *const *jobs, struct runs *runs)
{
    int rc = 0;

    if (!jobs[0])
        return add_all_jobs(c, runs);
    for (size_t i = 0; jobs[i] && rc == 0; i++)
        rc = add_job(c, jobs[i], runs);
    return rc;
}

/* --- when they were due --- */

static int say_cut(const char *job)
{
    fprintf(stderr, "rotactl: %s was due more than 20,000 times; take a later --since\n", job);
    return EX_USAGE;
}

/* Of the span (*after, until]; *after moves to the last that was answered. 0, an exit status with a
 * line, or -ENOENT. */
static int add_some(struct call *c, const char *job, int64_t *after, int64_t until,
                    struct runs *runs)
{
    sd_bus_message *m = NULL;
    int rc = call_find(c, &m, "Turns", "sxx", job, *after, until), got = 0;

    if (rc == 0 && sd_bus_message_enter_container(m, 'a', "x") < 0)
        rc = call_say_odd(c);
    while (rc == 0 && (got = sd_bus_message_read(m, "x", after)) > 0)
        rc = say_not_added(runs_add_due(runs, job, *after));
    sd_bus_message_unref(m);
    return got < 0 ? call_say_odd(c) : rc;
}

static int add_dues(struct call *c, const char *job, int64_t after, int64_t until,
                    struct runs *runs)
{
    size_t first = runs->due_count, before;
    int rc;

    do {
        before = runs->due_count;
        rc = add_some(c, job, &after, until, runs);
        if (rc == 0 && runs->due_count - first > DUES_MAX)
            rc = say_cut(job);
    } while (rc == 0 && runs->due_count > before);
    return rc == -ENOENT ? 0 : rc; /* no job of this device: it has no schedule here */
}

/* Of the job of run i, which is its first: the oldest turn of all its runs, but damaged ones;
 * RUNS_NO_TIME where there is none, or a run of it stands before. */
static int64_t oldest_turn(const struct runs *runs, size_t i)
{
    const char *job = runs->run[i].job;
    int64_t oldest = RUNS_NO_TIME;

    if (i > 0 && strcmp(runs->run[i - 1].job, job) == 0)
        return RUNS_NO_TIME;
    for (; i < runs->run_count && strcmp(runs->run[i].job, job) == 0; i++) {
        int64_t turn = runs->run[i].turn;

        if (turn > 0 && (oldest == RUNS_NO_TIME || turn < oldest))
            oldest = turn;
    }
    return oldest;
}

int timeline_ask_dues(struct call *c, const struct timeline_query *query, struct runs *runs)
{
    int64_t until = query->until == RUNS_NO_TIME ? query->now : query->until;
    int rc = 0;

    for (size_t i = 0; i < runs->run_count && rc == 0; i++) {
        int64_t from = oldest_turn(runs, i);

        if (from == RUNS_NO_TIME)
            continue;
        if (from < query->since)
            from = query->since;
        rc = add_dues(c, runs->run[i].job, from - 1, until, runs);
    }
    return rc;
}
