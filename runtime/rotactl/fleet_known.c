/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_known.h"
#include "rotactl/fleet_answer.h"
#include "rotactl/fleet_ask.h"
#include <errno.h>
#include <string.h>

/* In this device's configuration. 0, or an exit status, with a line. */
static int is_here(struct call *c, const char *job, bool *ret_here)
{
    sd_bus_message *m = NULL;
    int rc = call_about(c, "Show", job, &m);

    sd_bus_message_unref(m);
    if (rc == 0 || rc == -ENOENT)
        *ret_here = rc == 0;
    return rc == -ENOENT ? 0 : rc;
}

/* Where Redis cannot tell, since a key is of another kind, there is something. */
static int has_record(struct call *c, const char *job, bool *ret_record, bool *ret_trace)
{
    char why[CALL_WHY_SIZE];
    struct fleet_look l;
    sd_bus_message *m = NULL;
    int rc = call_try(c, &m, why, "FleetJob", "s", job);

    if (rc == -ENODATA) {
        *ret_record = *ret_trace = true;
        return 0;
    }
    if (rc == 0 && fleet_answer_look(m, &l) < 0)
        rc = call_say_odd(c);
    if (rc == 0) {
        *ret_record = l.layout > 0;
        *ret_trace = *ret_record || *l.pause || *l.holder || l.seats > 0 || l.devices > 0;
    }
    sd_bus_message_unref(m);
    return rc;
}

struct wanted {
    const char *name;
    bool found;
};

static int read_name(sd_bus_message *m, void *context)
{
    struct wanted *w = context;
    const char *name;
    int64_t done;
    int rc = sd_bus_message_read(m, "(sx)", &name, &done);

    if (rc > 0 && strcmp(name, w->name) == 0)
        w->found = true;
    return rc;
}

int fleet_known_trace(struct call *c, const char *job, bool *ret_trace)
{
    struct wanted wanted = { .name = job };
    const struct pages pages = {
        .method = "FleetJobs", .row = "(sx)", .read = read_name, .context = &wanted
    };
    struct kept kept = { 0 };
    bool record, trace;
    int64_t now_ms;
    int rc = has_record(c, job, &record, &trace);

    if (rc == 0 && !trace)
        rc = pages_ask(c, &kept, &pages, &now_ms);
    if (rc == 0)
        *ret_trace = trace || wanted.found;
    kept_done(&kept);
    return rc;
}

int fleet_known_check(struct call *c, const char *job)
{
    struct fleet_answers answers = { 0 };
    bool known, trace;
    int rc = is_here(c, job, &known);

    if (rc == 0 && !known)
        rc = has_record(c, job, &known, &trace);
    if (rc != 0 || known)
        return rc;
    rc = fleet_ask(c, job, &answers); /* which has the line */
    fleet_answers_done(&answers);
    return rc;
}
