/* SPDX-License-Identifier: MIT
 *
 * The configurations in use: `confs` and `seen` of hello.lua, config_get.lua and config_put.lua. */
#include "core/memory_internal.h"

#include "base/text.h"
#include "base/units.h"
#include <assert.h>
#include <string.h>

/* So many are kept. */
#define KEPT 64
/* A configuration's text comes so soon after the hello that was asked for it. */
#define SAME_DEVICE_MS MINUTE_MS

void memory_confs_expire_texts(struct memory_fleet *f, struct wall now)
{
    if (now.ms <= f->texts_end.ms)
        return;
    for (uint32_t i = 0; i < f->conf_count; i++)
        f->confs[i].has_text = false;
    f->texts_end.ms = 0;
}

/* Lives no shorter than the texts. */
void memory_confs_expire(struct memory_fleet *f, struct wall now)
{
    memory_confs_expire_texts(f, now);
    if (now.ms <= f->confs_end.ms)
        return;
    f->conf_count = 0;
    f->confs_end.ms = 0;
}

/* The list is by the time when they were last seen, and by digest where that is the same. */

static uint32_t conf_number(const struct memory_fleet *f, const char *digest)
{
    uint32_t i = 0;

    while (i < f->conf_count && strcmp(f->confs[i].digest, digest) != 0)
        i++;
    return i;
}

bool memory_confs_have_text(const struct memory_fleet *f, const char *digest)
{
    uint32_t i = conf_number(f, digest);

    return i < f->conf_count && f->confs[i].has_text;
}

static void remove_conf(struct memory_fleet *f, uint32_t i)
{
    memmove(f->confs + i, f->confs + i + 1, (f->conf_count - i - 1) * sizeof f->confs[0]);
    f->conf_count--;
}

static bool was_seen_before(const struct memory_conf *a, const struct memory_conf *b)
{
    if (a->seen.ms != b->seen.ms)
        return a->seen.ms < b->seen.ms;
    return strcmp(a->digest, b->digest) < 0;
}

static void insert_conf(struct memory_fleet *f, const struct memory_conf *conf)
{
    uint32_t i = f->conf_count;

    assert(f->conf_count < MEMORY_CONFS_MAX);
    while (i > 0 && !was_seen_before(&f->confs[i - 1], conf))
        i--;
    memmove(f->confs + i + 1, f->confs + i, (f->conf_count - i) * sizeof f->confs[0]);
    f->confs[i] = *conf;
    f->conf_count++;
}

static bool slot_is_used(const struct memory_fleet *f, uint32_t slot)
{
    for (uint32_t i = 0; i < f->conf_count; i++)
        if (f->confs[i].slot == slot)
            return true;
    return false;
}

/* Seen now; a new one has no text yet. Returns its text's slot. */
static uint32_t see_conf(struct memory_fleet *f, const char *digest, struct wall now, bool text)
{
    struct memory_conf conf = { .slot = 0 };
    uint32_t i = conf_number(f, digest);

    if (i < f->conf_count) {
        conf = f->confs[i];
        remove_conf(f, i);
    } else {
        text_copy(conf.digest, sizeof conf.digest, digest);
        while (slot_is_used(f, conf.slot))
            conf.slot++;
    }
    conf.seen = now;
    conf.has_text = conf.has_text || text;
    insert_conf(f, &conf);
    return conf.slot;
}

/* At least so long from now on; what is empty has no end to keep. */
static void keep(struct memory_fleet *f, struct wall now, int64_t retention_ms)
{
    struct wall end = wall_add(now, retention_ms);
    bool any_text = false;

    for (uint32_t i = 0; i < f->conf_count; i++)
        any_text = any_text || f->confs[i].has_text;
    f->texts_end.ms = any_text ? memory_later(f->texts_end, end).ms : 0;
    f->confs_end.ms = f->conf_count > 0 ? memory_later(f->confs_end, end).ms : 0;
}

/* Kept apart, for the list may change before the answer is read. */
static void add_other(struct memory_fleet *f, const char *digest, struct store_reply *reply)
{
    char *copy = f->others[reply->hello.others];

    text_copy(copy, sizeof f->others[0], digest);
    reply->hello.other[reply->hello.others++] = copy;
}

void memory_confs_cut(struct memory_fleet *f, struct wall now)
{
    struct memory_conf last;

    while (f->conf_count > 0 && f->confs[f->conf_count - 1].seen.ms > now.ms) {
        last = f->confs[--f->conf_count];
        last.seen = now;
        insert_conf(f, &last);
    }
}

bool memory_confs_is_left(const struct memory_fleet *f, const char *former, struct wall heard)
{
    uint32_t i = conf_number(f, former);

    return i == f->conf_count || wall_between(heard, f->confs[i].seen) < SAME_DEVICE_MS;
}

/* Those that others use, the newest first; one more than is told is looked at. */
void memory_confs_list(struct memory_fleet *f, struct wall now, const struct store_request *request,
                       const char *former, struct store_reply *reply)
{
    uint32_t seen = 0;

    for (uint32_t i = f->conf_count; i-- > 0 && seen <= STORE_HELLO_OTHERS_MAX; seen++) {
        const struct memory_conf *conf = &f->confs[i];

        if (wall_between(conf->seen, now) > request->hello.used_ms)
            return;
        if (strcmp(conf->digest, request->hello.digest) != 0 && strcmp(conf->digest, former) != 0 &&
            reply->hello.others < STORE_HELLO_OTHERS_MAX)
            add_other(f, conf->digest, reply);
    }
}

/* Full of such as are in use, the store takes no more. */
bool memory_confs_have_room(const struct memory_fleet *f, struct wall now, int64_t used_ms)
{
    return f->conf_count < KEPT || wall_between(f->confs[0].seen, now) > used_ms;
}

void memory_confs_refresh(struct memory_fleet *f, struct wall now,
                          const struct store_request *request, bool known, const char *former)
{
    const char *digest = request->hello.digest;
    int64_t retention_ms = request->hello.retention_ms;
    struct memory_conf eldest;
    uint32_t left;

    if (f->conf_count == 0)
        return;
    eldest = f->confs[0];
    if (known)
        see_conf(f, digest, now, true);
    if (strcmp(eldest.digest, digest) != 0 && wall_add(eldest.seen, retention_ms).ms < now.ms)
        remove_conf(f, conf_number(f, eldest.digest));
    left = conf_number(f, former);
    if (left < f->conf_count)
        remove_conf(f, left);
    keep(f, now, retention_ms);
}

void memory_confs_get(const struct memory_fleet *f, const struct store_request *request,
                      struct store_reply *reply)
{
    uint32_t i = conf_number(f, request->config.digest);

    reply->config.text = "";
    if (i < f->conf_count && f->confs[i].has_text)
        reply->config.text = f->room.texts + f->confs[i].slot * f->room.text_size;
}

/* The eldest gives way where there are too many. */
void memory_confs_put(struct memory_fleet *f, struct wall now, const struct store_request *request,
                      struct store_reply *reply)
{
    const char *digest = request->config.digest, *text = request->config.text;
    uint32_t count = f->conf_count, at = 0, slot;

    if (strlen(text) >= f->room.text_size) {
        memory_no_room(reply);
        return;
    }
    slot = see_conf(f, digest, now, true);
    text_copy(f->room.texts + slot * f->room.text_size, f->room.text_size, text);
    for (uint32_t i = KEPT; i <= count; i++) {
        if (strcmp(f->confs[at].digest, digest) == 0)
            at++;
        else
            remove_conf(f, at);
    }
    keep(f, now, request->config.retention_ms);
}
