/* SPDX-License-Identifier: MIT */
#include "sim.h"
#include "base/units.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *sim_new(size_t size)
{
    void *memory = calloc(1, size);

    if (memory)
        return memory;
    fputs("sim: out of memory\n", stderr);
    exit(EXIT_FAILURE);
}

void check_breach(struct sim *s, const char *format, ...)
{
    va_list arguments;

    if (s->breach[0])
        return;
    va_start(arguments, format);
    vsnprintf(s->breach, sizeof s->breach, format, arguments);
    va_end(arguments);
    trace_say(s, NULL, "BREACH: %s", s->breach);
}

void sim_begin(struct sim *s, const struct plan *plan, bool trace)
{
    *s = (struct sim){ .plan = *plan,
                       .now_ms = SIM_BEGIN_MS,
                       .calm_ms = SIM_BEGIN_MS,
                       .trace = trace,
                       .net = chance_stream(plan->seed, 2) };
    s->clock_ppm = chance_in(&s->net, -plan->rate_ppm, plan->rate_ppm);
    if (plan->quorum > 0) /* whose servers have clocks of their own */
        s->clock_ppm = 0;
    LIST_INIT(&s->living);
    server_init(s);
    s->devices = sim_new(plan->devices * sizeof *s->devices);
    for (unsigned i = 0; i < plan->devices; i++)
        device_init(s, &s->devices[i], i);
    s->watch.happen = check_watch;
    queue_set(&s->queue, &s->watch, s->now_ms + SECOND_MS);
    s->tally.same_names = plan->names < plan->devices;
    s->tally.rollouts = plan->rolled_out;
    s->tally.quorums = plan->quorum > 0;
    person_init(s);
    mishap_init(s);
}

void sim_go(struct sim *s)
{
    int64_t end = SIM_BEGIN_MS + s->plan.length_ms;
    struct event *e;

    while (!s->breach[0] && (e = queue_pop(&s->queue))) {
        if (e->at_ms > end) {
            queue_set(&s->queue, e, e->at_ms);
            break;
        }
        s->tally.events++;
        if (e->at_ms > s->now_ms) {
            s->now_ms = e->at_ms;
            check_living(s);
        }
        e->happen(s, e);
    }
    s->tally.device_ms = (s->now_ms - SIM_BEGIN_MS) * s->plan.devices;
}

void sim_play(struct sim *s, const struct plan *plan, bool trace)
{
    sim_begin(s, plan, trace);
    sim_go(s);
}

/* What is on its way when the play ends. */
static void free_flights(struct sim *s)
{
    struct event *e;

    while ((e = queue_pop(&s->queue)))
        if (e->happen == server_arrival)
            net_drop((struct flight *)((char *)e - offsetof(struct flight, arrival)));
}

void sim_done(struct sim *s)
{
    for (unsigned i = 0; i < s->plan.devices; i++)
        device_done(&s->devices[i]);
    free_flights(s);
    net_free_spares(s);
    queue_done(&s->queue);
    server_done(s);
    free(s->devices);
}
