/* SPDX-License-Identifier: MIT */
#include "redis/differ/sides_compare.h"

#include "base/text.h"
#include "core/memory_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "size", "devices", "jobs", "seen", "confs" };
#define KINDS (sizeof kinds / sizeof kinds[0])

void sides_compare_send_fleet(struct sides *s)
{
    char keys[KINDS][SIDES_KEY_SIZE];

    for (size_t i = 0; i < KINDS; i++)
        sides_key(SIDES_JOBS, kinds[i], keys[i]);
    redisAppendCommand(s->redis, "HMGET %s now before hellos hellos_before boots boots_before",
                       keys[0]);
    redisAppendCommand(s->redis, "HGETALL %s", keys[1]);
    redisAppendCommand(s->redis, "HGETALL %s", keys[2]);
    redisAppendCommand(s->redis, "ZRANGE %s 0 -1 WITHSCORES", keys[3]);
    redisAppendCommand(s->redis, "HGETALL %s", keys[4]);
    for (size_t i = 0; i < KINDS; i++)
        redisAppendCommand(s->redis, "PTTL %s", keys[i]);
}

static void compare_size(struct sides *s, const struct memory_fleet *f, const redisReply *size)
{
    const int64_t numbers[] = { f->now_ms,        f->before_ms, f->hellos,
                                f->hellos_before, f->boots,     f->boots_before };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sides_compare_number(s, "size", numbers[i],
                             strtoll(sides_compare_text_of(size->element[i]), NULL, 10));
}

static void compare_greeter(struct sides *s, const struct memory_greeter *g, const char *entry)
{
    const char *digest = strrchr(entry, ' ');
    char memory[200];

    sides_compare_text(s, "digest of a device", g->digest[0] ? g->digest : "-",
                       digest ? digest + 1 : "");
    /* between them is the version, which no answer of hello depends on */
    text_format(memory, sizeof memory, "%" PRId64 " %s %s ", g->time.ms, g->boot,
                g->older_boot[0] ? g->older_boot : "-");
    if (strncmp(memory, entry, strlen(memory)) != 0)
        sides_compare_failed(s, g->name, memory, entry);
}

static void compare_greeters(struct sides *s, struct memory_fleet *f, const redisReply *list)
{
    struct memory_table table = memory_fleet_devices(f);
    int64_t known = 0;

    for (uint32_t i = 0; i < f->devices; i++)
        known += f->room.devices[i].time.ms != 0;
    sides_compare_number(s, "devices of the fleet", known, (int64_t)list->elements / 2);
    for (size_t i = 0; i + 1 < list->elements; i += 2) {
        const struct memory_greeter *g = memory_table_find(&table, list->element[i]->str);

        if (g)
            compare_greeter(s, g, list->element[i + 1]->str);
        else
            sides_compare_failed(s, "device", "nothing", list->element[i]->str);
    }
}

static void compare_jobs(struct sides *s, struct memory_fleet *f, const redisReply *list)
{
    struct memory_table table = memory_fleet_jobs(f);
    int64_t known = 0;

    for (uint32_t i = 0; i < f->jobs; i++)
        known += f->room.jobs[i].done.ms != 0;
    sides_compare_number(s, "jobs of the fleet", known, (int64_t)list->elements / 2);
    for (size_t i = 0; i + 1 < list->elements; i += 2) {
        const struct memory_settled *job = memory_table_find(&table, list->element[i]->str);

        sides_compare_number(s, list->element[i]->str, job ? job->done.ms : -1,
                             strtoll(list->element[i + 1]->str, NULL, 10));
    }
}

static const char *text_in(const redisReply *texts, const char *digest)
{
    for (size_t i = 0; i + 1 < texts->elements; i += 2)
        if (strcmp(texts->element[i]->str, digest) == 0)
            return texts->element[i + 1]->str;
    return "nothing";
}

static void compare_confs(struct sides *s, const struct memory_fleet *f, const redisReply *seen,
                          const redisReply *texts)
{
    int64_t with_text = 0;

    sides_compare_number(s, "configurations", f->conf_count, (int64_t)seen->elements / 2);
    for (uint32_t i = 0; i < f->conf_count && 2 * i < seen->elements; i++) {
        const struct memory_conf *conf = &f->confs[i];

        sides_compare_text(s, "digest", conf->digest, seen->element[2 * i]->str);
        sides_compare_number(s, "seen", conf->seen.ms,
                             strtoll(seen->element[2 * i + 1]->str, NULL, 10));
        if (conf->has_text)
            sides_compare_text(s, "configuration", f->room.texts + conf->slot * f->room.text_size,
                               text_in(texts, conf->digest));
        with_text += conf->has_text;
    }
    sides_compare_number(s, "texts", with_text, (int64_t)texts->elements / 2);
}

void sides_compare_fleet(struct sides *s)
{
    struct memory_fleet *f = &s->fleet.fleet;
    redisReply *replies[2 * KINDS];
    const struct wall *const ends[] = { &f->size_end, &f->devices_end, &f->jobs_end, &f->confs_end,
                                        &f->texts_end };

    for (size_t i = 0; i < 2 * KINDS; i++)
        replies[i] = sides_compare_next(s);
    memory_fleet_expire(f, s->now);
    compare_size(s, f, replies[0]);
    compare_greeters(s, f, replies[1]);
    compare_jobs(s, f, replies[2]);
    compare_confs(s, f, replies[3], replies[4]);
    for (size_t i = 0; i < KINDS; i++)
        sides_compare_end(s, kinds[i], *ends[i], replies[KINDS + i]);
    for (size_t i = 0; i < 2 * KINDS; i++)
        freeReplyObject(replies[i]);
}
