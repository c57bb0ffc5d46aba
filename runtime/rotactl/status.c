/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "rotactl/call.h"
#include "rotactl/columns.h"
#include "rotactl/commands.h"
#include "rotactl/fleet_pages.h"
#include "rotactl/output.h"
#include "rotactl/status_view.h"
#include "rotactl/watch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

/* --- what rotad says --- */

static int read_job(sd_bus_message *m, struct status *s)
{
    struct status_job job = { 0 };
    void *jobs = s->jobs;
    int rc = sd_bus_message_enter_container(m, 'r', "sa{sv}");

    if (rc <= 0)
        return rc;
    rc = sd_bus_message_read_basic(m, 's', &job.name);
    if (rc >= 0)
        rc = facts_read(m, status_job_facts, status_job_facts_count, &job);
    if (rc >= 0)
        rc = sd_bus_message_exit_container(m);
    if (rc < 0)
        return rc;
    rc = kept_grow(&jobs, s->job_count, sizeof *s->jobs);
    s->jobs = jobs;
    if (rc < 0)
        return rc;
    s->jobs[s->job_count++] = job;
    return 1;
}

/* s->jobs is the caller's to free, also where this fails. */
static int read_status(sd_bus_message *m, struct status *s)
{
    struct timespec t;
    int rc = sd_bus_message_read(m, "ss", &s->device, &s->line);

    if (rc >= 0)
        rc = facts_read(m, status_facts, status_facts_count, &s->rotad);
    if (rc >= 0)
        rc = sd_bus_message_enter_container(m, 'a', "(sa{sv})");
    while (rc >= 0 && (rc = read_job(m, s)) > 0)
        ;
    clock_gettime(CLOCK_REALTIME, &t);
    s->now_ms = (int64_t)t.tv_sec * SECOND_MS + t.tv_nsec / 1000000;
    if (rc >= 0 && s->rotad.now != FACT_NONE)
        s->now_ms = s->rotad.now;
    return rc;
}

/* --- how it is shown --- */

static int print(FILE *out, const struct request *r, const struct status *s)
{
    struct screen screen = screen_of(r);

    if (options_has(r, OPTION_JSON))
        status_print_json(out, s);
    else if (options_has(r, OPTION_CHECK))
        status_print_check(out, s);
    else
        return status_print(out, &screen, s, r->values[OPTION_OUTPUT]);
    return 0;
}

/* As a text from memory: a picture is drawn at once, and nothing half. */
static int print_whole(const struct request *r, const struct status *s)
{
    const struct screen screen = screen_of(r);
    CLEANUP_FREE char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int rc = out ? print(out, r, s) : -ENOMEM;

    if (out && fclose(out) != 0)
        rc = -ENOMEM;
    if (rc < 0)
        return rc;
    if (options_has(r, OPTION_WATCH))
        screen_draw(stdout, &screen, text);
    else
        fputs(text, stdout);
    return fflush(stdout) == 0 ? 0 : -errno;
}

/* --- the command --- */

struct asked {
    struct call *call;
    const struct request *request;
};

/* An exit status. */
static int show_once(void *context)
{
    const struct asked *a = context;
    struct status s = { 0 };
    sd_bus_message *reply = NULL;
    int rc = call_now(a->call, "Status", &reply);

    if (rc != 0)
        return rc;
    rc = read_status(reply, &s);
    if (rc >= 0)
        rc = print_whole(a->request, &s);
    if (rc == -ENOMEM) {
        rc = output_say_no_memory();
    } else if (rc == -EBADMSG || rc == -ENXIO) {
        rc = call_say_odd(a->call);
    } else {
        /* What cannot be written is said at the end. */
        rc = status_needs_look(&s) ? STATUS_LOOK : 0;
    }
    free(s.jobs);
    sd_bus_message_unref(reply);
    return rc;
}

int command_status(struct call *c, const struct request *r)
{
    struct asked a = { c, r };
    int rc = columns_check(r->values[OPTION_OUTPUT]);

    if (rc == 0)
        rc = options_check_apart(r,
                                 OPTION(OPTION_JSON) | OPTION(OPTION_CHECK) | OPTION(OPTION_WATCH));
    if (rc == 0)
        rc = options_check_apart(r, OPTION(OPTION_JSON) | OPTION(OPTION_CHECK) |
                                        OPTION(OPTION_OUTPUT));
    if (rc != 0)
        return rc;
    if (options_has(r, OPTION_CHECK))
        output_all_on_stdout();
    return options_has(r, OPTION_WATCH) ? watch(show_once, &a) : show_once(&a);
}
