/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "rotactl/commands.h"
#include "rotactl/output.h"
#include <string.h>

struct job {
    const char *name, *state, *why;
};

/* What rotad calls a state (core/job.h there), and what people do. */
static const char *state_word(const char *state)
{
    static const struct {
        const char *state, *word;
    } words[] = {
        { "INVALID", "invalid" },   { "DISABLED", "disabled" }, { "ELSEWHERE", "elsewhere" },
        { "OFF", "off" },           { "NO_CLOCK", "no clock" }, { "WAITING", "ready" },
        { "NO_SLOT", "due" },       { "ASKING", "asking" },     { "WATCHING", "watching" },
        { "STARTING", "starting" }, { "RUNNING", "running" },   { "STOPPING", "stopping" },
        { "CLOSING", "ending" },    { "STUCK", "stuck" },
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].state, state) == 0)
            return words[i].word;
    return state; /* a newer rotad's */
}

/* 1: a job; 0: there is none any more; negative errno. */
static int read_job(sd_bus_message *m, struct job *ret_job)
{
    struct job job;
    int rc = sd_bus_message_read(m, "(sss)", &job.name, &job.state, &job.why);

    if (rc > 0)
        *ret_job = job;
    return rc;
}

static void print_job(const struct job *job)
{
    char name[256];

    printf("  %-20s ", text_escape(name, sizeof name, job->name, strlen(job->name)));
    output_text(stdout, state_word(job->state));
    if (job->why[0]) {
        fputs(": ", stdout);
        output_text(stdout, job->why);
    }
    putchar('\n');
}

static void print_job_json(const struct job *job, bool first)
{
    fputs(first ? "\n    {\"job\": " : ",\n    {\"job\": ", stdout);
    output_json(stdout, job->name);
    fputs(", \"state\": ", stdout);
    output_json(stdout, state_word(job->state));
    if (job->why[0]) {
        fputs(", \"why\": ", stdout);
        output_json(stdout, job->why);
    }
    putchar('}');
}

static int print_text(sd_bus_message *m, const char *device, const char *status)
{
    struct job job;
    int rc;

    output_text(stdout, device);
    fputs(": ", stdout);
    output_text(stdout, status);
    putchar('\n');
    while ((rc = read_job(m, &job)) > 0)
        print_job(&job);
    return rc;
}

static int print_json(sd_bus_message *m, const char *device, const char *status)
{
    struct job job;
    bool first = true;
    int rc;

    fputs("{\n  \"device\": ", stdout);
    output_json(stdout, device);
    fputs(",\n  \"status\": ", stdout);
    output_json(stdout, status);
    fputs(",\n  \"jobs\": [", stdout);
    for (; (rc = read_job(m, &job)) > 0; first = false)
        print_job_json(&job, first);
    puts(first ? "]\n}" : "\n  ]\n}");
    return rc;
}

static int print(sd_bus_message *m, bool json)
{
    const char *device, *status;
    int rc = sd_bus_message_read(m, "ss", &device, &status);

    if (rc >= 0)
        rc = sd_bus_message_enter_container(m, 'a', "(sss)");
    if (rc < 0)
        return rc;
    return json ? print_json(m, device, status) : print_text(m, device, status);
}

int command_status(struct call *c, const struct request *r)
{
    sd_bus_message *reply = NULL;
    int rc = call_now(c, "Status", &reply);

    if (rc == 0 && print(reply, r->json) < 0)
        rc = call_say_odd(c);
    sd_bus_message_unref(reply);
    return rc;
}
