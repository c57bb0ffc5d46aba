/* SPDX-License-Identifier: MIT
 * librota-local.so: its one symbol, and all of the store. */
#include "base/text.h"
#include "base/units.h"
#include "core/call_queue.h"
#include "core/memory.h"
#include "supervisor/clock.h"
#include "supervisor/local_module.h"
#include "supervisor/wall_clock.h"
#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* That the clock was set is told; that it was synchronised without being set, or has reached the
 * build's day by itself, is not. Looked for only while nothing can run. */
#define LOCAL_LOOK_MS MINUTE_MS
/* Less is slewing, which puts no record more than a turn into the future. */
#define LOCAL_STEP_MS SECOND_MS

/* One job's, found by its key. */
struct keyed {
    char key[JOB_NAME_MAX + 1]; /* first: what the tree compares */
    unsigned users;
    struct boot since; /* turns that were due before have passed */
    struct memory_lock lock;
    struct memory_claim record;
    struct keyed *next;
};

struct local_store {
    struct local_store_env env;
    struct device_clock clock;
    struct wall_clock watch;
    bool known;        /* there is a time that can be believed */
    int64_t offset_ms; /* time = boot + offset */
    struct call_queue queue;
    sd_event_source *turn; /* enabled: something is to be answered */
    sd_event_source *look;
    struct keyed *entries;
    void *tree; /* of the same entries, by key */
};

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct keyed *find(const struct local_store *s, const char *key)
{
    struct keyed *const *found = tfind(key, &s->tree, compare);

    return found ? *found : NULL;
}

/* --- time --- */

/* A lease and a wait last as long as they were meant to, whatever becomes of the clock. Turns stay:
 * they are names. */
static void move_record(struct memory_claim *r, int64_t by_ms)
{
    r->lock->until = wall_add(r->lock->until, by_ms);
    r->expires = wall_add(r->expires, by_ms);
    if (r->retry.ms != 0)
        r->retry = wall_add(r->retry, by_ms);
    for (size_t i = 0; i < MEMORY_SCHEDULES_MAX; i++)
        r->sights[i].until = wall_add(r->sights[i].until, by_ms);
}

static void move_records(struct local_store *s, struct boot now, int64_t by_ms)
{
    for (struct keyed *e = s->entries; e; e = e->next) {
        if (e->record.turn.ms != 0)
            move_record(&e->record, by_ms);
        if (by_ms <= -LOCAL_STEP_MS)
            e->since = now;
    }
}

static struct wall time_at(const struct local_store *s, struct boot now)
{
    return (struct wall){ time_add_ms(now.ms, s->offset_ms) };
}

/* Where it cannot be set, the word that the clock was set is still there. */
static void set_look(struct local_store *s)
{
    uint64_t at = clock_to_us(boot_add(clock_boot(), LOCAL_LOOK_MS));
    bool wanted = !s->known && sd_event_source_set_time(s->look, at) >= 0;

    (void)sd_event_source_set_enabled(s->look, wanted ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* False where there is none. */
static bool read_time(struct local_store *s, struct boot now, struct wall *ret_time)
{
    if (s->env.fleet_time && s->env.fleet_time(s->env.context, now, ret_time))
        return true;
    if (!s->clock.known)
        return false;
    *ret_time = device_clock_at(&s->clock, now);
    return true;
}

/* Returns by how many ms it has moved. */
static int64_t set_time(struct local_store *s, struct boot now, struct wall time)
{
    int64_t offset = time_sub_ms(time.ms, now.ms), moved = time_sub_ms(offset, s->offset_ms);

    s->offset_ms = offset;
    if (!s->known) {
        s->known = true;
        /* Beside Redis a job's turns were taken before anything was asked here. */
        for (struct keyed *e = s->entries; e && !s->env.fleet_time; e = e->next)
            e->since = now;
        return 0;
    }
    if (moved != 0)
        move_records(s, now, moved);
    return moved;
}

/* Reads the clocks. Returns by how many ms time has moved. */
static int64_t look(struct local_store *s)
{
    struct device_clock_reading r = wall_clock_read();
    struct wall time;
    int64_t moved;
    enum device_clock_news news = device_clock_take(&s->clock, &r, &moved);

    if (news != DEVICE_CLOCK_AS_BEFORE)
        s->env.clock_news(s->env.context, news);
    return read_time(s, r.at, &time) ? set_time(s, r.at, time) : 0;
}

/* --- answers --- */

static bool is_first_sight(const struct memory_claim *r, struct wall now,
                           const struct store_request *q)
{
    return (r->turn.ms == 0 || now.ms > r->expires.ms) && !q->job->first_now;
}

/* More than a turn ahead: the clock was set back. Rule 8, but at once: the store knows when that
 * was, so no turn has to be given up to find it out. */
static bool lies_in_future(const struct memory_claim *r, struct wall now,
                           const struct store_request *q)
{
    int64_t top = r->turn.ms > r->done.ms ? r->turn.ms : r->done.ms;

    return !memory_holder(r->lock, now)[0] && top > now.ms && top > q->next.ms;
}

static void mend(struct local_store *s, struct keyed *e, struct boot now,
                 const struct store_request *q)
{
    struct memory_claim *r = &e->record;
    struct wall wall = time_at(s, now);

    if (!is_first_sight(r, wall, q) && !lies_in_future(r, wall, q))
        return;
    r->turn.ms = r->paused.ms = 0; /* and no record any more, so that it is made anew */
    memory_assume(r, wall, q->job, schedule_latest(&q->job->schedule, time_at(s, e->since)));
}

static void answer(struct local_store *s, struct store_call *call)
{
    struct boot now = clock_boot();
    struct store_request request = { 0 };
    struct store_reply reply = { .sent = now, .received = now };
    struct keyed *e = NULL;

    if (!call->compose(call, now, &request))
        return;
    call->verb = request.verb;
    call->sent = now;
    if (request.job)
        e = find(s, request.job->key);
    if (e && request.verb == STORE_ACQUIRE)
        mend(s, e, now, &request);
    memory_answer_alone(e ? &e->record : NULL, time_at(s, now), &request, &reply);
    /* Beside Redis it would be none that grows over all devices (PROTOCOL rule 12). */
    if (s->env.fleet_time && request.verb == STORE_ACQUIRE)
        reply.acquire.fence = 0;
    call->answer(call, &reply);
}

/* What is asked meanwhile has its turn in the next round: no job can keep the loop to itself. */
static void answer_queued(struct local_store *s)
{
    struct store_call *call;

    for (size_t left = call_queue_count(&s->queue); left > 0; left--) {
        call = call_queue_pop(&s->queue);
        if (!call) /* cancelled by an answer before it */
            return;
        answer(s, call);
    }
}

static void tell_moved(struct local_store *s)
{
    struct boot now = clock_boot();
    struct store_reply sample = {
        .status = STORE_ANSWERED, .sent = now, .received = now, .server = time_at(s, now)
    };

    s->env.moved(s->env.context, &sample);
}

/* Told before anything is composed, so that no question is for a turn of the old time. */
static void wake(struct local_store *s)
{
    if (look(s) != 0)
        tell_moved(s);
    if (s->known)
        answer_queued(s);
    set_look(s);
}

static int on_turn(sd_event_source *source, void *userdata)
{
    (void)source;
    wake(userdata);
    return 0;
}

static int on_look(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    wake(userdata);
    return 0;
}

static void was_set(void *context)
{
    wake(context);
}

static void submit(struct local_store *s, struct store_call *call)
{
    call_queue_push(&s->queue, call);
    (void)sd_event_source_set_enabled(s->turn, SD_EVENT_ONESHOT);
}

static void cancel(struct local_store *s, struct store_call *call)
{
    if (call->state == CALL_QUEUED)
        call_queue_remove(&s->queue, call);
}

static bool own_time(struct local_store *s, struct boot now, struct wall *ret_time)
{
    look(s);
    set_look(s);
    if (s->known)
        *ret_time = time_at(s, now);
    return s->known;
}

static const struct device_clock *own_clock(const struct local_store *s)
{
    return &s->clock;
}

/* --- records --- */

static void forget(struct local_store *s, struct keyed **at)
{
    struct keyed *e = *at;

    *at = e->next;
    (void)tdelete(e, &s->tree, compare);
    free(e);
}

/* Jobs that are gone from the configuration for longer than their retention. */
static void forget_expired(struct local_store *s)
{
    struct keyed **at = &s->entries;
    struct wall now;

    if (!s->known)
        return;
    now = time_at(s, clock_boot());
    while (*at) {
        if ((*at)->users == 0 && now.ms > (*at)->record.expires.ms)
            forget(s, at);
        else
            at = &(*at)->next;
    }
}

static struct keyed *add(struct local_store *s, const char *key)
{
    struct keyed *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    text_copy(e->key, sizeof e->key, key);
    if (!tsearch(e, &s->tree, compare)) {
        free(e);
        return NULL;
    }
    e->record.lock = &e->lock;
    e->since = clock_boot();
    e->next = s->entries;
    s->entries = e;
    return e;
}

static int open_record(struct local_store *s, const char *key)
{
    struct keyed *e;

    forget_expired(s);
    e = find(s, key);
    if (!e)
        e = add(s, key);
    if (!e)
        return -ENOMEM;
    e->users++;
    return 0;
}

static void close_record(struct local_store *s, const char *key)
{
    struct keyed *e = find(s, key);

    assert(e); /* it is kept while it has users */
    e->users--;
}

/* --- the store --- */

static int add_sources(struct local_store *s)
{
    sd_event *event = s->env.event;
    int rc = sd_event_add_defer(event, &s->turn, on_turn, s);

    if (rc >= 0)
        rc = sd_event_source_set_enabled(s->turn, SD_EVENT_OFF);
    if (rc >= 0)
        rc = sd_event_source_set_priority(s->turn, s->env.priority);
    if (rc >= 0)
        rc = sd_event_add_time(event, &s->look, CLOCK_BOOTTIME, UINT64_MAX, 0, on_look, s);
    if (rc >= 0)
        rc = sd_event_source_set_enabled(s->look, SD_EVENT_OFF);
    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(s->turn, "local store");
    (void)sd_event_source_set_description(s->look, "look at the clock");
    return wall_clock_watch(&s->watch, event, s->env.priority, was_set, s);
}

static void free_store(struct local_store *s)
{
    if (!s)
        return;
    call_queue_clear(&s->queue);
    while (s->entries)
        forget(s, &s->entries);
    wall_clock_done(&s->watch);
    sd_event_source_disable_unref(s->turn);
    sd_event_source_disable_unref(s->look);
    free(s);
}

static int make_store(const struct local_store_env *env, struct local_store **ret_store)
{
    struct local_store *s = calloc(1, sizeof *s);
    int rc;

    if (!s)
        return -ENOMEM;
    *s = (struct local_store){ .env = *env,
                               .clock = { .built = wall_clock_built() },
                               .watch = { .fd = -1 } };
    rc = add_sources(s);
    if (rc < 0) {
        free_store(s);
        return rc;
    }
    *ret_store = s;
    return 0;
}

extern const struct local_module rota_local;
__attribute__((visibility("default"))) const struct local_module rota_local = {
    .module = { .version = ROTA_VERSION, .layout = MODULE_LAYOUT },
    .make = make_store,
    .free = free_store,
    .open = open_record,
    .close = close_record,
    .submit = submit,
    .cancel = cancel,
    .time = own_time,
    .clock = own_clock,
};
