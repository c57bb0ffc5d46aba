/* SPDX-License-Identifier: MIT
 * The store: the in-memory one, as one master or for a while as two. */
#include "base/text.h"
#include "base/units.h"
#include "sim.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PPM 1000000
/* So far apart are the clocks of a quorum's servers to begin with, as NTP leaves them; for so long
 * they drift one way, and for as long back. */
#define QUORUM_SKEW_MS 200
#define DRIFT_MS (2 * MINUTE_MS)

struct wall server_time(const struct sim *s)
{
    int64_t age = s->now_ms - SIM_BEGIN_MS;

    return (struct wall){ s->now_ms + age * s->clock_ppm / PPM + s->clock_offset_ms };
}

struct wall server_clock(const struct sim *s, const struct server *server)
{
    int64_t age = (s->now_ms - SIM_BEGIN_MS) % (2 * DRIFT_MS);
    int64_t drift = age < DRIFT_MS ? age : 2 * DRIFT_MS - age;

    if (s->plan.quorum == 0)
        return server_time(s);
    return (struct wall){ s->now_ms + drift * server->ppm / PPM + server->skew_ms };
}

bool server_is_off(const struct server *server)
{
    return server->skew_ms > SECOND_MS || server->skew_ms < -SECOND_MS;
}

int64_t server_when(const struct sim *s, int64_t at_ms)
{
    int64_t age = at_ms - s->clock_offset_ms - SIM_BEGIN_MS;

    return SIM_BEGIN_MS + age * PPM / (PPM + s->clock_ppm);
}

void server_forget_fleet(struct server *server)
{
    server->fleet = (struct memory_fleet){ .room = server->fleet.room };
}

static void make_room(const struct sim *s, struct server *server)
{
    struct memory_fleet_room *room = &server->fleet.room;

    room->devices_max = s->plan.devices + 1;
    room->jobs_max = PLAN_JOBS_MAX + 1;
    room->devices = sim_new(room->devices_max * sizeof *room->devices);
    room->devices_by_name = sim_new(room->devices_max * sizeof *room->devices_by_name);
    room->jobs = sim_new(room->jobs_max * sizeof *room->jobs);
    room->jobs_by_name = sim_new(room->jobs_max * sizeof *room->jobs_by_name);
    room->done = sim_new(STORE_HELLO_JOBS_MAX * sizeof *room->done);
    room->text_size = SIM_CONFIG_SIZE;
    room->texts = sim_new(MEMORY_CONFS_MAX * room->text_size);
}

static void free_server(struct server *server)
{
    struct memory_fleet_room *room = &server->fleet.room;

    free(room->devices);
    free(room->devices_by_name);
    free(room->jobs);
    free(room->jobs_by_name);
    free(room->done);
    free(room->texts);
    copy_done(&server->copy);
}

/* A second one is there while there are two masters. */
static unsigned count_servers(const struct sim *s)
{
    return s->plan.quorum > 0 ? s->plan.quorum : 2;
}

void server_done(struct sim *s)
{
    for (unsigned i = 0; i < count_servers(s); i++)
        free_server(&s->servers[i]);
    copy_done(&s->replica);
}

/* Clocks of a quorum's servers are some way apart from the beginning, as they are in the world. */
static void set_clock(const struct sim *s, struct server *server, unsigned number)
{
    struct chance c = chance_stream(s->plan.seed, 9100 + number);

    server->ppm = chance_in(&c, -s->plan.rate_ppm, s->plan.rate_ppm);
    server->skew_ms = chance_in(&c, -QUORUM_SKEW_MS, QUORUM_SKEW_MS);
}

void server_init(struct sim *s)
{
    for (unsigned i = 0; i < count_servers(s); i++) {
        copy_init(s, &s->servers[i].copy);
        s->servers[i].epoch = 1;
        if (i == 0 || s->plan.quorum > 0)
            make_room(s, &s->servers[i]);
        if (s->plan.quorum > 0)
            set_clock(s, &s->servers[i], i);
    }
    copy_init(s, &s->replica);
}

static void lose_link(struct link *l)
{
    struct device *d = l->device;

    net_lose(l, d->supervisor == SUPERVISOR_UP && !d->frozen);
    device_settle(d);
}

void server_restart(struct sim *s, struct server *server, int64_t until_ms)
{
    server->epoch++;
    server->down_until = until_ms;
    memset(server->loaded, 0, sizeof server->loaded);
    for (unsigned i = 0; i < s->plan.devices; i++) {
        struct device *d = &s->devices[i];

        for (unsigned k = 0; k < plan_links(&s->plan); k++)
            if (d->links[k].state == LINK_UP && &s->servers[d->links[k].home] == server)
                lose_link(&d->links[k]);
    }
}

/* They are the record's, which changes before the reply has come. */
static void keep_text(struct flight *f, unsigned place, const char **text)
{
    text_copy(f->texts[place], sizeof f->texts[place], *text ? *text : "");
    *text = f->texts[place];
}

static void keep_hello(struct flight *f)
{
    struct store_reply *r = &f->reply;

    assert(r->hello.jobs <= PLAN_JOBS_MAX && r->hello.others <= STORE_HELLO_OTHERS_MAX);
    memcpy(f->done, r->hello.done, r->hello.jobs * sizeof *f->done);
    r->hello.done = f->done;
    for (size_t i = 0; i < r->hello.others; i++) {
        text_copy(f->others[i], sizeof f->others[i], r->hello.other[i]);
        r->hello.other[i] = f->others[i];
    }
}

static void keep_texts(struct flight *f)
{
    struct store_reply *r = &f->reply;

    if (r->status != STORE_ANSWERED)
        return;
    if (f->request.verb == STORE_ACQUIRE) {
        keep_text(f, 0, &r->acquire.holder);
        keep_text(f, 1, &r->acquire.why);
        keep_text(f, 2, &r->acquire.print);
        keep_text(f, 3, &r->acquire.printer);
    } else if (f->request.verb == STORE_RENEW) {
        keep_text(f, 0, &r->renew.why);
    } else if (f->request.verb == STORE_HELLO) {
        keep_hello(f);
    } else if (f->request.verb == STORE_CONFIG_GET && r->config.text) {
        text_copy(f->config, sizeof f->config, r->config.text);
        r->config.text = f->config;
    }
}

static void note_lease(struct flight *f, struct wall now)
{
    bool kept = f->reply.status == STORE_ANSWERED &&
                (f->request.verb == STORE_ACQUIRE
                     ? f->reply.acquire.answer == ACQUIRE_GRANTED
                     : f->request.verb == STORE_RENEW && f->reply.renew.answer != RENEW_LOST);

    f->lease_until_ms = kept ? now.ms + f->request.ttl_ms : 0;
}

static bool is_of_a_job(enum store_verb verb)
{
    return verb == STORE_ACQUIRE || verb == STORE_RENEW || verb == STORE_FINISH;
}

/* A newer rota's claim is one that the others must not touch; its own scripts know it. */
static void answer_job(const struct sim *s, struct wall now, struct memory_claim *r,
                       struct flight *f)
{
    const struct plan_job *j =
        &s->plan.table[plan_job_of(plan_record_of(&s->plan, f->request.job))];
    bool newer = j->rollout == ROLLOUT_LAYOUT && f->request.job == &j->specs[1];

    if (newer)
        r->layout = MEMORY_LAYOUT;
    memory_answer(r, now, &f->request, &f->reply);
    if (newer && r->state != MEMORY_NONE) /* else nothing was written */
        r->layout = MEMORY_LAYOUT + 1;
}

static void serve_job(struct sim *s, struct server *server, struct flight *f)
{
    struct wall now = server_clock(s, server);
    unsigned record = plan_record_of(&s->plan, f->request.job);
    struct store_job *job = &server->copy.jobs[record];
    struct shot before, after;

    check_look(job, f, now, &before);
    answer_job(s, now, &job->record, f);
    keep_texts(f);
    note_lease(f, now);
    check_look(job, f, now, &after);
    check_served(s, f, record, &before, &after);
}

static void serve(struct sim *s, struct server *server, struct flight *f)
{
    struct wall now = server_clock(s, server);

    s->tally.commands++;
    s->served[f->request.verb]++;
    f->reply = (struct store_reply){ .status = STORE_ERROR, .fault = server->error };
    if (s->now_ms < server->errors_until) {
        f->reply.error = "an error of the plan's";
        return;
    }
    if (f->request.verb == STORE_CLOCK) {
        memory_answer(NULL, now, &f->request, &f->reply);
        return;
    }
    if (!is_of_a_job(f->request.verb)) {
        memory_fleet_answer(s->plan.quorum > 0 ? &server->fleet : &s->servers[0].fleet, now,
                            &f->request, &f->reply);
        keep_texts(f);
        return;
    }
    serve_job(s, server, f);
}

static void send_reply(struct sim *s, struct flight *f)
{
    struct link *l = f->link;
    int64_t at = s->now_ms + chance_in(&s->net, 1, s->plan.trip_ms);

    l->deaf_in = l->deaf_in || chance_of(&s->net, s->plan.lost);
    if (chance_of(&s->net, s->plan.slow))
        at += chance_in(&s->net, 100, 8000);
    if (l->deaf_in || s->now_ms < l->dead_until)
        return;
    f->replied = true;
    f->reply_ms = l->last_in = at > l->last_in ? at : l->last_in;
    device_settle(f->device);
}

void server_arrival(struct sim *s, struct event *e)
{
    struct flight *f = (struct flight *)((char *)e - offsetof(struct flight, arrival));
    struct server *server = &s->servers[f->server];

    if (s->now_ms < server->stalled_until) {
        queue_set(&s->queue, e, server->stalled_until);
        return;
    }
    if (f->request.verb != STORE_CLOCK && !server->loaded[f->request.verb]) {
        server->loaded[f->request.verb] = true;
        queue_set(&s->queue, e, s->now_ms + 2 * s->plan.trip_ms);
        return;
    }
    f->travels = false;
    if (f->epoch == server->epoch && s->now_ms >= server->down_until) {
        trace_request(s, f);
        serve(s, server, f);
        trace_reply(s, f);
        if (f->waited_for)
            send_reply(s, f);
    }
    if (!f->waited_for)
        net_drop(f);
}
