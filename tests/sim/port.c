/* SPDX-License-Identifier: MIT
 * What the core asks of a device, and what it tells; and what the device says of itself to its
 * fleet. */
#include "base/text.h"
#include "core/fleet_text.h"
#include "sim.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void fill_random(void *context, void *buffer, size_t size)
{
    struct device *d = context;
    unsigned char *bytes = buffer;

    while (size > 0) {
        uint64_t random = chance_next(&d->chance);
        size_t part = size < sizeof random ? size : sizeof random;

        memcpy(bytes, &random, part);
        bytes += part;
        size -= part;
    }
}

static void arm(void *context, struct boot at)
{
    struct device *d = context;

    d->armed = at;
}

static int start(void *context, struct job *job)
{
    struct device *d = context;
    unsigned record = plan_record(&d->sim->plan, (unsigned)(job - d->jobs), d->config);
    struct takeover *t = &d->sim->checks[record].takeover;

    if (chance_of(&d->chance, d->sim->plan.stillborn)) {
        device_disturb(d, d->sim->now_ms);
        if (job->turn.ms == t->turn) /* it was taken over, if in vain */
            t->turn = 0;
        return -EAGAIN;
    }
    run_begin(d, job);
    return 0;
}

static void extend(void *context, struct job *job)
{
    run_extend(context, job);
}

static void stop(void *context, struct job *job, enum stop_reason reason)
{
    run_order(context, job, reason);
}

static void keep(void *context, char **at, const char *text)
{
    (void)context;
    free(*at);
    *at = text && text[0] ? strdup(text) : NULL;
}

static void count_report(struct tally *t, enum report_kind kind)
{
    t->takeovers += kind == REPORT_TAKEOVER;
    t->regained += kind == REPORT_REGAINED;
    t->alone += kind == REPORT_ALONE;
    t->queued += kind == REPORT_QUEUED;
    t->brakes += kind == REPORT_BRAKE;
    t->mixed += kind == REPORT_MIXED;
    t->mismatches += kind == REPORT_MISMATCH;
    t->apart += kind == REPORT_APART;
    t->outdated += kind == REPORT_OUTDATED;
    t->newer += kind == REPORT_NEWER;
}

static void report(void *context, struct job *job, const struct report *r)
{
    struct device *d = context;
    struct sim *s = d->sim;

    if (r->kind == REPORT_STATE)
        trace_say(s, d, "  %s: %s -> %s by %s", job->spec->name, job_state_name(r->from),
                  job_state_name(r->to), job_event_name(r->event));
    count_report(&s->tally, r->kind);
    if (r->kind == REPORT_CLOCK_JUMP)
        check_jumped(d, r->moved_ms);
    if (r->kind == REPORT_ILLEGAL)
        check_breach(s, "%s #%u: %s in %s meets the event %s, which it does not know", d->name,
                     d->number, job->spec->name, job_state_name(r->from), r->text);
}

static const struct core_port port = {
    .random = fill_random,
    .arm = arm,
    .submit = net_submit,
    .cancel = net_cancel,
    .start = start,
    .extend = extend,
    .stop = stop,
    .keep = keep,
    .report = report,
};

void port_init(struct device *d)
{
    d->port = port;
    d->port.context = d;
}

/* As config/fleet_summary.c. */
static void describe(void *context, char **at)
{
    struct device *d = context;
    char text[SIM_CONFIG_SIZE];
    size_t used = 0;

    for (unsigned i = 0; i < d->sim->plan.jobs; i++) {
        char put[FLEET_TEXT_LINE_SIZE];
        struct fleet_text_line line;
        size_t length;

        fleet_text_describe(device_spec(d, i), &line);
        length = fleet_text_format(&line, put);
        assert(used + length < sizeof text);
        memcpy(text + used, put, length + 1);
        used += length;
    }
    keep(d, at, text);
}

void port_introduce(struct device *d)
{
    struct sim *s = d->sim;
    struct fleet_self self = { .version = "sim",
                               .digest = s->plan.rolled_out && d->config == 1 ? "other" : "grid",
                               .describe = describe,
                               .turns_all = s->plan.all,
                               .room = s->keys,
                               .room_size = sizeof s->keys };

    text_format(d->boot, sizeof d->boot, "%lld", (long long)(d->born_ms & INT32_MAX));
    fleet_identify(&d->fleet, d->machine, d->boot);
    if (s->plan.hello)
        fleet_introduce(&d->fleet, &self, device_boot(d));
}
