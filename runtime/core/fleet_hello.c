/* SPDX-License-Identifier: MIT */
#include "core/fleet_hello.h"

#include "base/units.h"
#include "core/curve.h"
#include "core/job_internal.h"
#include "core/slot.h"
#include "core/turns.h"
#include <string.h>

/* One hello a second in the whole fleet, within bounds. */
#define HELLO_EACH_MS SECOND_MS
#define HELLO_MIN_MS (10 * MINUTE_MS)
#define HELLO_MAX_MS (6 * HOUR_MS)
/* Gaps are exponential: of such as are in use one in 55 is silent for four of them at a time. */
#define HELLO_SILENT_GAPS 4

/* --- saying it --- */

/* The others tell nobody when they are done, or not for all. */
static bool is_told_of(const struct job *j)
{
    return j->spec->scope == SCOPE_FLEET && j->spec->lock == LOCK_STORE;
}

/* The next job from `j` on that hello tells of; NULL: none. */
static struct job *next_told(struct job *j)
{
    while (j && !is_told_of(j))
        j = j->next_in_fleet;
    return j;
}

/* The first job of the slice that comes next. */
static struct job *slice_begin(const struct fleet *f)
{
    struct job *j = next_told(f->jobs);

    for (size_t i = 0; j && i < f->hello.told; i++)
        j = next_told(j->next_in_fleet);
    return j;
}

/* As many keys as the room and a request hold, a blank between two. */
static void put_keys(struct fleet *f)
{
    size_t used = 0, count = 0;

    for (struct job *j = slice_begin(f); j && count < STORE_HELLO_JOBS_MAX;
         j = next_told(j->next_in_fleet), count++) {
        size_t length = strlen(j->spec->key);

        if (used + length + 1 > f->self.room_size)
            break;
        memcpy(f->self.room + used, j->spec->key, length);
        used += length;
        f->self.room[used++] = ' ';
    }
    f->self.room[used > 0 ? used - 1 : 0] = '\0';
}

int64_t fleet_hello_retention_ms(const struct fleet *f)
{
    int64_t most = 0;

    for (const struct job *j = f->jobs; j; j = j->next_in_fleet)
        if (j->spec->retention_ms > most)
            most = j->spec->retention_ms;
    return most;
}

int64_t fleet_hello_used_ms(int64_t checkin_ms)
{
    return HELLO_SILENT_GAPS * (checkin_ms > HELLO_MAX_MS ? checkin_ms : HELLO_MAX_MS);
}

void fleet_hello_compose(struct fleet *f, struct store_request *ret_request)
{
    struct fleet_hello *h = &f->hello;

    put_keys(f);
    h->jobs_moved = false;
    *ret_request = (struct store_request){
        .verb = STORE_HELLO,
        .device = f->lease_env.machine,
        .boot = f->lease_env.boot,
        .hello = { .weight_ms = h->sliced ? -1 : h->mean_ms,
                   .retention_ms = fleet_hello_retention_ms(f),
                   .used_ms = fleet_hello_used_ms(f->self.checkin_ms),
                   .version = f->self.version,
                   .digest = f->self.digest,
                   .jobs = f->self.room },
    };
}

/* --- what it tells --- */

static uint32_t devices_of(const struct store_reply *reply)
{
    return reply->hello.boots > reply->hello.fleet ? reply->hello.boots : reply->hello.fleet;
}

void fleet_hello_size(struct fleet *f, const struct store_reply *reply)
{
    uint32_t size = turns_fleet(reply->hello.fleet, reply->hello.hellos, reply->hello.boots);
    uint32_t before = f->size;

    f->size = size > 0 ? size : 1;
    if (f->size == before || !f->clock.known)
        return;
    for (struct job *j = f->jobs; j; j = j->next_in_fleet)
        job_plan_resized(j, reply->received);
}

/* So many that about one a second asks for a turn that nobody seems to have; none by the first
 * hello, before which there was no gap: all devices may start at once. */
static bool is_called_on(struct fleet *f, const struct store_reply *reply)
{
    uint64_t crowd_ms = (uint64_t)devices_of(reply) * HELLO_EACH_MS;
    uint64_t random;

    if (crowd_ms <= (uint64_t)f->hello.mean_ms)
        return true;
    f->port->random(f->port->context, &random, sizeof random);
    return random % crowd_ms < (uint64_t)f->hello.mean_ms;
}

static void hear_of_jobs(struct fleet *f, const struct store_reply *reply)
{
    struct job *j = slice_begin(f);

    if (!is_called_on(f, reply))
        return;
    for (size_t i = 0; j && i < reply->hello.jobs; i++, j = next_told(j->next_in_fleet))
        job_plan_overdue(j, reply->hello.done[i], reply->received);
}

static void hear_of_twin(struct fleet *f, const struct store_reply *reply)
{
    struct report r = { .kind = REPORT_TWIN };

    if (reply->hello.twin && !f->hello.twin)
        f->port->report(f->port->context, NULL, &r);
    f->hello.twin = f->hello.twin || reply->hello.twin;
}

int64_t fleet_hello_mean_ms(int64_t checkin_ms, uint32_t devices)
{
    int64_t ms = devices * HELLO_EACH_MS;

    if (checkin_ms > 0)
        return checkin_ms;
    if (ms < HELLO_MIN_MS)
        return HELLO_MIN_MS;
    return ms < HELLO_MAX_MS ? ms : HELLO_MAX_MS;
}

/* The gaps keep no memory, so that no two devices stay in step. */
struct boot fleet_hello_later(struct fleet *f, struct boot now)
{
    uint64_t random;

    f->hello.sliced = false;
    f->hello.told = 0;
    f->port->random(f->port->context, &random, sizeof random);
    f->hello.next = boot_add(now, curve_gap_ms(f->hello.mean_ms, random));
    return f->hello.next;
}

/* A hello that said news only leaves the gap that it fell into as it was. */
static struct boot after_the_last(struct fleet *f, const struct store_reply *reply)
{
    struct fleet_hello *h = &f->hello;

    h->told = 0;
    if (h->news) {
        h->news = false;
        h->sliced = true;
        return reply->received;
    }
    if (h->sliced && !boot_reached(reply->received, h->next)) {
        h->sliced = false;
        return h->next;
    }
    h->mean_ms = fleet_hello_mean_ms(f->self.checkin_ms, devices_of(reply));
    return fleet_hello_later(f, reply->received);
}

struct boot fleet_hello_heard(struct fleet *f, const struct store_reply *reply)
{
    struct fleet_hello *h = &f->hello;

    h->said = true;
    h->refused = h->retried = false;
    hear_of_twin(f, reply);
    fleet_peers_heard(f, reply);
    if (!h->jobs_moved) {
        hear_of_jobs(f, reply);
        h->told += reply->hello.jobs;
        if (reply->hello.jobs > 0 && slice_begin(f)) {
            h->sliced = true;
            return reply->received;
        }
    }
    return after_the_last(f, reply);
}

/* --- the index --- */

static struct fleet *fleet_of(struct store_call *call)
{
    return (struct fleet *)((char *)call - offsetof(struct fleet, hello.index_call));
}

static struct job *next_indexed(const struct fleet *f)
{
    struct job *j = f->jobs;

    while (j && j->index.ms == 0)
        j = j->next_in_fleet;
    return j;
}

static void tell_next(struct fleet *f)
{
    f->hello.index_out = next_indexed(f);
    if (f->hello.index_out)
        f->port->submit(f->port->context, &f->hello.index_call, false);
}

static bool compose_index(struct store_call *call, struct boot now,
                          struct store_request *ret_request)
{
    struct fleet *f = fleet_of(call);
    struct job *j = next_indexed(f);

    (void)now;
    f->hello.index_out = j;
    if (!j)
        return false;
    *ret_request = (struct store_request){ .verb = STORE_INDEX, .job = j->spec, .turn = j->index };
    j->index.ms = 0;
    return true;
}

/* Where it was refused, or lost, whoever asks because of that for what was done tells it again. */
static void answer_index(struct store_call *call, const struct store_reply *reply)
{
    struct fleet *f = fleet_of(call);

    fleet_sample(f, reply);
    tell_next(f);
}

void fleet_hello_index(struct fleet *f, struct job *j, struct wall turn)
{
    if (!f->self.room || !is_told_of(j) || turn.ms <= j->index.ms)
        return;
    j->index = turn;
    if (!f->hello.index_out)
        tell_next(f);
}

void fleet_hello_init(struct fleet *f)
{
    f->hello.index_call = (struct store_call){ .compose = compose_index,
                                               .answer = answer_index,
                                               .slot = slot_of_key(SLOT_FLEET_TAG) };
}

void fleet_hello_done(struct fleet *f)
{
    f->port->cancel(f->port->context, &f->hello.index_call);
}
