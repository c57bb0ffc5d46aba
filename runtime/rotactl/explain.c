/* SPDX-License-Identifier: MIT
 * What happens when, of one job. */
#include "rotactl/commands.h"
#include "rotactl/explain_view.h"
#include "rotactl/output.h"
#include "rotactl/word.h"
#include <errno.h>

/* Nothing follows from numbers that are wrong. */
static int say_invalid(const char *job, const struct explain *e)
{
    output_text(stdout, job);
    fputs(" is invalid: ", stdout);
    output_text(stdout, e->why);
    putchar('\n');
    return STATUS_LOOK;
}

static int print(const struct request *r, const char *job, const struct explain *e)
{
    if (options_has(r, OPTION_JSON)) {
        fputs("{\"job\": ", stdout);
        output_json(stdout, job);
        facts_print_json(stdout, explain_facts, explain_facts_count, e);
        puts("}");
        return e->why ? STATUS_LOOK : 0;
    }
    if (e->why)
        return say_invalid(job, e);
    explain_print(stdout, job, e);
    return 0;
}

int command_explain(struct call *c, const struct request *r)
{
    sd_bus_message *reply = NULL;
    struct explain e;
    const char *job;
    int rc = word_job(r, "explain", &job);

    if (rc == 0)
        rc = call_about(c, "Explain", job, &reply);
    if (rc == -ENOENT)
        return word_say_no_job(job);
    if (rc != 0)
        return rc;
    rc = facts_read(reply, explain_facts, explain_facts_count, &e);
    if (rc >= 0 && !e.why && (e.worst_case_ms == FACT_NONE || e.lease_ms == FACT_NONE))
        rc = -EBADMSG;
    rc = rc < 0 ? call_say_odd(c) : print(r, job, &e);
    sd_bus_message_unref(reply);
    return rc;
}
