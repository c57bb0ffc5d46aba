/* SPDX-License-Identifier: MIT */
#include "rotactl/call.h"
#include "rotactl/commands.h"
#include "rotactl/fleet_pages.h"
#include "rotactl/output.h"
#include "rotactl/show_view.h"
#include "rotactl/word.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- what rotad says --- */

static int read_next(sd_bus_message *m, struct show *s)
{
    int64_t turn;
    int rc = sd_bus_message_enter_container(m, 'a', "x");

    while (rc >= 0 && (rc = sd_bus_message_read_basic(m, 'x', &turn)) > 0)
        if (s->next_count < SHOW_TURNS_MAX)
            s->next[s->next_count++] = turn;
    return rc < 0 ? rc : sd_bus_message_exit_container(m);
}

static int read_line(sd_bus_message *m, struct show *s)
{
    struct show_line line;
    void *lines = s->lines;
    int rc = sd_bus_message_read(m, "(xs)", &line.at, &line.text);

    if (rc <= 0)
        return rc;
    rc = kept_grow(&lines, s->line_count, sizeof *s->lines);
    s->lines = lines;
    if (rc < 0)
        return rc;
    s->lines[s->line_count++] = line;
    return 1;
}

static int read_lines(sd_bus_message *m, struct show *s)
{
    int rc = sd_bus_message_enter_container(m, 'a', "(xs)");

    while (rc >= 0 && (rc = read_line(m, s)) > 0)
        ;
    return rc < 0 ? rc : sd_bus_message_exit_container(m);
}

static int read_show(sd_bus_message *m, struct show *s)
{
    int rc = facts_read(m, status_job_facts, status_job_facts_count, &s->job); /* not its name */

    if (rc >= 0)
        rc = sd_bus_message_rewind(m, true);
    if (rc >= 0)
        rc = facts_read(m, show_facts, show_facts_count, &s->facts);
    if (rc >= 0)
        rc = read_next(m, s);
    return rc < 0 ? rc : read_lines(m, s);
}

static int read_runs(sd_bus_message *m, struct show_past *p)
{
    struct show_run run;
    int rc = sd_bus_message_enter_container(m, 'a', "(xuxss)");

    while (rc >= 0 && (rc = sd_bus_message_read(m, "(xuxss)", &run.turn, &run.attempt, &run.ran_ms,
                                                &run.outcome, &run.why)) > 0)
        if (p->run_count < SHOW_RUNS_MAX)
            p->runs[p->run_count++] = run;
    return rc < 0 ? rc : sd_bus_message_exit_container(m);
}

static int read_counts(sd_bus_message *m, struct show_past *p)
{
    struct show_count count;
    int rc = sd_bus_message_enter_container(m, 'a', "{su}");

    while (rc >= 0 && (rc = sd_bus_message_read(m, "{su}", &count.name, &count.count)) > 0)
        if (p->count_count < SHOW_COUNTS_MAX)
            p->counts[p->count_count++] = count;
    return rc < 0 ? rc : sd_bus_message_exit_container(m);
}

static int read_past(sd_bus_message *m, struct show_past *p)
{
    int rc = read_runs(m, p);

    if (rc >= 0)
        rc = sd_bus_message_read(m, "(xxxu)", &p->median_ms, &p->p95_ms, &p->longest_ms, &p->times);
    if (rc >= 0)
        rc = sd_bus_message_read(m, "(sss)", &p->advice_key, &p->advice_value, &p->advice_lease);
    return rc < 0 ? rc : read_counts(m, p);
}

/* The caller unrefs *past, which `s` points into. Nothing is remembered of a job that takes no
 * turns here. 0, an exit status with a line, or negative errno. */
static int ask_past(struct call *call, struct show *s, sd_bus_message **past)
{
    int rc = call_about(call, "Past", s->job.name, past);

    if (rc != 0)
        return rc == -ENOENT ? 0 : rc;
    s->has_past = true;
    rc = read_past(*past, &s->past);
    return rc < 0 ? rc : 0;
}

/* --- how it is printed --- */

static void print(const struct request *r, const struct show *s)
{
    struct screen screen = screen_of(r);

    if (options_has(r, OPTION_JSON))
        show_print_json(stdout, s);
    else
        show_print(stdout, &screen, s);
}

/* --- the command --- */

static int show(struct call *call, const struct request *r, const char *job)
{
    struct show s = { .job.name = job, .past.advice_key = "" };
    sd_bus_message *reply = NULL, *past = NULL;
    int rc = call_about(call, "Show", job, &reply);

    if (rc == -ENOENT)
        return word_say_no_job(job);
    if (rc != 0)
        return rc;
    rc = read_show(reply, &s);
    if (rc >= 0)
        rc = ask_past(call, &s, &past);
    if (rc == 0)
        print(r, &s);
    if (rc == -ENOMEM) {
        rc = output_say_no_memory();
    } else if (rc < 0) {
        rc = call_say_odd(call);
    } else if (rc == 0) {
        rc = strchr("!x~", status_mark(&s.job)) ? STATUS_LOOK : 0;
    }
    free(s.lines);
    sd_bus_message_unref(past);
    sd_bus_message_unref(reply);
    return rc;
}

int command_show(struct call *c, const struct request *r)
{
    const char *job;
    int rc = word_job(r, "show", &job);

    return rc == 0 ? show(c, r, job) : rc;
}
