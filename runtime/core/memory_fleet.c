/* SPDX-License-Identifier: MIT
 *
 * To be read beside redis/scripts/hello.lua, index.lua, config_get.lua and config_put.lua. */
#include "core/memory_internal.h"

#include "base/text.h"
#include "base/units.h"
#include <assert.h>
#include <string.h>

/* A longer time until the next hello counts as this. */
#define WEIGHT_MAX_MS (30 * DAY_MS)
/* Who was heard of since is in the fleet's size already. */
#define HEARD_MS (2 * HOUR_MS)

/* --- lists that live as a whole --- */

static bool greeter_is_free(const void *entry)
{
    return ((const struct memory_greeter *)entry)->time.ms == 0;
}

static bool settled_is_free(const void *entry)
{
    return ((const struct memory_settled *)entry)->done.ms == 0;
}

struct memory_table memory_fleet_devices(struct memory_fleet *f)
{
    return (struct memory_table){ .entries = f->room.devices,
                                  .size = sizeof f->room.devices[0],
                                  .order = f->room.devices_by_name,
                                  .capacity = f->room.devices_max,
                                  .count = &f->devices,
                                  .is_free = greeter_is_free };
}

struct memory_table memory_fleet_jobs(struct memory_fleet *f)
{
    return (struct memory_table){ .entries = f->room.jobs,
                                  .size = sizeof f->room.jobs[0],
                                  .order = f->room.jobs_by_name,
                                  .capacity = f->room.jobs_max,
                                  .count = &f->jobs,
                                  .is_free = settled_is_free };
}

/* At least so long from now on. */
static void keep(struct wall *end, struct wall now, int64_t retention_ms)
{
    *end = memory_later(*end, wall_add(now, retention_ms));
}

static void forget_greeter(struct memory_greeter *g)
{
    g->time.ms = 0;
    g->boot[0] = g->older_boot[0] = g->digest[0] = '\0';
}

static void expire_size(struct memory_fleet *f, struct wall now)
{
    if (now.ms <= f->size_end.ms)
        return;
    f->hour = f->now_ms = f->before_ms = 0;
    f->hellos = f->hellos_before = f->boots = f->boots_before = 0;
}

static void expire_devices(struct memory_fleet *f, struct wall now)
{
    if (now.ms <= f->devices_end.ms)
        return;
    f->devices = 0;
    f->devices_end.ms = 0;
}

static void expire_jobs(struct memory_fleet *f, struct wall now)
{
    if (now.ms <= f->jobs_end.ms)
        return;
    f->jobs = 0;
    f->jobs_end.ms = 0;
}

void memory_fleet_expire(struct memory_fleet *f, struct wall now)
{
    expire_size(f, now);
    expire_devices(f, now);
    expire_jobs(f, now);
    memory_confs_expire(f, now);
}

/* --- hello.lua --- */

static void turn_hour(struct memory_fleet *f, struct wall now)
{
    int64_t hour = now.ms / HOUR_MS;
    bool next = f->hour == hour - 1;

    if (f->hour == hour)
        return;
    f->before_ms = next ? f->now_ms : 0;
    f->hellos_before = next ? f->hellos : 0;
    f->boots_before = next ? f->boots : 0;
    f->now_ms = 0;
    f->hellos = f->boots = 0;
    f->hour = hour;
}

static void count_hello(struct memory_fleet *f, struct wall now, int64_t weight_ms,
                        struct wall heard)
{
    turn_hour(f, now);
    if (weight_ms > 0) {
        f->now_ms += weight_ms < WEIGHT_MAX_MS ? weight_ms : WEIGHT_MAX_MS;
        f->hellos++;
    } else if (weight_ms == 0 && wall_between(heard, now) >= HEARD_MS) {
        f->boots++;
    }
    f->size_end = wall_add(now, 2 * HOUR_MS);
}

/* The share of the hour before is what this one has left. */
static uint32_t fleet_size(const struct memory_fleet *f, struct wall now)
{
    int64_t left_ms = HOUR_MS - now.ms % HOUR_MS;
    int64_t before_ms =
        f->before_ms / HOUR_MS * left_ms + f->before_ms % HOUR_MS * left_ms / HOUR_MS;
    int64_t size = (f->now_ms + before_ms) / HOUR_MS;

    if (size > UINT32_MAX)
        return UINT32_MAX;
    return size > 1 ? (uint32_t)size : 1;
}

static void list_done(struct memory_fleet *f, const char *names, struct store_reply *reply)
{
    struct memory_table table = memory_fleet_jobs(f);

    reply->hello.done = f->room.done;
    for (names += strspn(names, " "); *names; names += strspn(names, " ")) {
        size_t len = strcspn(names, " ");
        char name[MEMORY_NAME_SIZE] = "";
        const struct memory_settled *job;

        assert(reply->hello.jobs < STORE_HELLO_JOBS_MAX);
        if (len < sizeof name)
            memcpy(name, names, len);
        job = memory_table_find(&table, name);
        f->room.done[reply->hello.jobs++].ms = job ? job->done.ms : 0;
        names += len;
    }
}

/* A boot that comes back after another one was there is two machines of one name. */
static bool greet(struct memory_greeter *g, struct wall now, const char *boot)
{
    bool twin = strcmp(g->older_boot, boot) == 0 && strcmp(boot, "-") != 0;

    if (strcmp(g->boot, boot) != 0) {
        text_copy(g->older_boot, sizeof g->older_boot, g->boot);
        text_copy(g->boot, sizeof g->boot, boot);
    }
    g->time = now;
    return twin;
}

static bool any_settled(const struct memory_fleet *f)
{
    for (uint32_t i = 0; i < f->jobs; i++)
        if (f->room.jobs[i].done.ms != 0)
            return true;
    return false;
}

/* What is older than the retention goes, two looked at each time. */
static void forget_old(struct memory_fleet *f, struct wall now, int64_t retention_ms)
{
    struct memory_table devices = memory_fleet_devices(f), jobs = memory_fleet_jobs(f);

    for (int i = 0; i < 2; i++) {
        struct memory_greeter *g = memory_table_next(&devices, &f->look_at_device);

        if (wall_add(g->time, retention_ms).ms < now.ms)
            forget_greeter(g);
    }
    for (int i = 0; i < 2 && f->jobs > 0; i++) {
        struct memory_settled *job = memory_table_next(&jobs, &f->look_at_job);

        if (wall_add(job->done, retention_ms).ms < now.ms)
            job->done.ms = 0;
    }
    if (!any_settled(f))
        f->jobs_end.ms = 0;
}

/* What the device had before; "": the same, or others have it too, who will say so. */
static void take_former(const struct memory_fleet *f, const struct memory_greeter *g,
                        const char *digest, char ret_former[MEMORY_DIGEST_SIZE])
{
    bool left = strcmp(g->digest, digest) != 0 && memory_confs_is_left(f, g->digest, g->time);

    text_copy(ret_former, MEMORY_DIGEST_SIZE, left ? g->digest : "");
}

static void hello(struct memory_fleet *f, struct wall now, const struct store_request *request,
                  struct store_reply *reply)
{
    struct memory_table table = memory_fleet_devices(f);
    const char *digest = request->hello.digest;
    char former[MEMORY_DIGEST_SIZE];
    struct memory_greeter *g;
    bool known = digest[0] && memory_confs_have_text(f, digest);

    g = memory_table_have(&table, request->device);
    if (!g) {
        memory_no_room(reply);
        return;
    }
    list_done(f, request->hello.jobs, reply);
    memory_confs_cut(f, now);
    take_former(f, g, digest, former);
    memory_confs_list(f, now, request, former, reply);
    reply->hello.wanted =
        digest[0] && !known && memory_confs_have_room(f, now, request->hello.used_ms);
    count_hello(f, now, request->hello.weight_ms, g->time);
    reply->hello.twin = greet(g, now, request->boot);
    text_copy(g->digest, sizeof g->digest, digest);
    forget_old(f, now, request->hello.retention_ms);
    keep(&f->devices_end, now, request->hello.retention_ms);
    memory_confs_refresh(f, now, request, known, former);
    reply->hello.fleet = fleet_size(f, now);
    reply->hello.hellos = f->hellos + f->hellos_before;
    reply->hello.boots = f->boots + f->boots_before;
}

/* --- index.lua, config_get.lua, config_put.lua --- */

static void index_job(struct memory_fleet *f, struct wall now, const struct store_request *request,
                      struct store_reply *reply)
{
    struct memory_table table = memory_fleet_jobs(f);
    struct memory_settled *job = memory_table_have(&table, request->job->key);

    if (!job) {
        memory_no_room(reply);
        return;
    }
    if (job->done.ms < request->turn.ms || job->done.ms > now.ms)
        job->done = request->turn;
    keep(&f->jobs_end, now, request->job->retention_ms);
}

void memory_fleet_answer(struct memory_fleet *f, struct wall now,
                         const struct store_request *request, struct store_reply *ret_reply)
{
    memory_begin_reply(now, ret_reply);
    switch (request->verb) {
    case STORE_HELLO:
        memory_fleet_expire(f, now);
        hello(f, now, request, ret_reply);
        break;
    case STORE_INDEX:
        expire_jobs(f, now);
        index_job(f, now, request, ret_reply);
        break;
    case STORE_CONFIG_GET:
        memory_confs_expire_texts(f, now);
        memory_confs_get(f, request, ret_reply);
        break;
    case STORE_CONFIG_PUT:
        memory_confs_expire(f, now);
        memory_confs_put(f, now, request, ret_reply);
        break;
    default:
        assert(false); /* memory_answer()'s */
    }
}
