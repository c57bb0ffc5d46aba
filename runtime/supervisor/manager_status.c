/* SPDX-License-Identifier: MIT
 * STATUS in one line for people (SCREENS.md, 10). It names instants, not distances, so that it
 * stays true while nothing happens. */
#include "base/text.h"
#include "base/units.h"
#include "supervisor/clock.h"
#include "supervisor/manager.h"
#include "supervisor/words_clock.h"
#include <stdio.h>
#include <string.h>

struct summary {
    size_t jobs, invalid, disabled, elsewhere, running, stuck, no_clock;
    size_t mismatch, outdated, newer, mixed, paused, blocked, queued;
    const char *wrong;              /* one of those that are invalid */
    const struct device_job *runs;  /* one of those that run */
    const struct device_job *stays; /* one of those that are stuck */
    const struct device_job *next;  /* of those that may run: which asks for a turn first */
    struct wall next_at;
};

static void add_job(struct summary *s, const struct device_job *d)
{
    const struct job *j = &d->job;

    if (j->state == JOB_RUNNING || j->state == JOB_STOPPING || j->state == JOB_STARTING) {
        s->running++;
        s->runs = d;
    }
    if (j->tree_left) {
        s->stuck++;
        s->stays = d;
    }
    s->no_clock += j->state == JOB_NO_CLOCK;
    s->mismatch += j->apart || j->bar == JOB_MISMATCHED;
    s->outdated += j->bar == JOB_OUTDATED;
    s->newer += j->bar == JOB_NEWER;
    s->mixed += j->mixed;
    s->paused += j->bar == JOB_PAUSED;
    s->blocked += j->bar == JOB_BLOCKED;
    s->queued += j->queued && j->state == JOB_WATCHING;
    if (j->state != JOB_WAITING || j->apart || j->bar != JOB_NOT_BARRED)
        return;
    /* By the instant that it waits for, which is there; its turn costs some arithmetic. */
    if (!s->next || j->armed.ms < s->next->job.armed.ms)
        s->next = d;
}

static void add_config(struct summary *s, const struct job_config *config)
{
    if (config->invalid) {
        s->invalid++;
        s->wrong = config->name;
    } else if (!config->enabled) {
        s->disabled++;
    } else if (config->elsewhere) {
        s->elsewhere++;
    }
}

static struct summary sum_up(const struct manager *m, struct boot now)
{
    const struct config *c = m->generation->config;
    struct summary s = { .jobs = c->job_count };

    for (size_t i = 0; i < c->job_count; i++)
        add_config(&s, &c->jobs[i]);
    for (const struct device_job *d = m->jobs; d; d = d->next)
        add_job(&s, d);
    if (s.next)
        s.next_at = job_next_turn(&s.next->job, now);
    return s;
}

/* A fault that a working connection shows, of all jobs or of one; NULL: none. */
static const char *fault_words(const struct manager *m)
{
    if (m->fault.text)
        return m->fault.text;
    for (const struct device_job *d = m->jobs; d; d = d->next)
        if (d->fault.text)
            return d->fault.text;
    return NULL;
}

static void say_outage(const struct manager *m, struct boot now, char *buf, size_t size)
{
    const struct words_fault_link *w = &m->link_words;
    bool lost = w->fault == FAULT_LINK;
    char since[WORDS_INSTANT_SIZE] = "";

    if (m->fleet.clock.known) {
        struct wall wall = fleet_clock_at(&m->fleet.clock, now);

        words_instant(wall_add(wall, boot_between(now, w->since)), wall, since, sizeof since);
    }
    text_format(buf, size, "redis%s%s%s%s, %llu turn%s missed", lost ? " unreachable" : ": ",
                lost ? "" : w->text, since[0] ? " since " : "", since,
                (unsigned long long)m->fleet.missed, m->fleet.missed == 1 ? "" : "s");
}

static const char *redis_words(const struct manager *m, struct boot now, char *buf, size_t size)
{
    const char *fault = fault_words(m);

    if (m->link_words.down)
        say_outage(m, now, buf, size);
    else if (fault)
        text_format(buf, size, "redis: %s, %llu turn%s missed", fault,
                    (unsigned long long)m->fleet.missed, m->fleet.missed == 1 ? "" : "s");
    else
        text_copy(buf, size, m->fleet.clock.known ? "redis ok" : "redis not yet reached");
    return buf;
}

static const char *local_words(const struct manager *m, char *buf, size_t size)
{
    const struct device_clock *c = local_store_clock(m->local);
    char doubt[128];

    if (!c->doubted)
        return "local, this device alone";
    words_clock_doubt(c, doubt, sizeof doubt);
    text_format(buf, size, "local, this device alone; %s", doubt);
    return buf;
}

static const char *store_words(const struct manager *m, struct boot now, char *buf, size_t size)
{
    if (!m->began)
        return "plugins are being probed";
    if (m->local && !m->store)
        return local_words(m, buf, size);
    return m->store ? redis_words(m, now, buf, size) : "nothing runs here";
}

/* A file whose jobs could not be read: they are in no count. */
static const char *unread_file(const struct config *c)
{
    for (size_t i = 0; i < c->problems.count; i++) {
        const struct problem *p = &c->problems.items[i];
        const char *slash = strrchr(p->file, '/');

        if (p->level == PROBLEM_ERROR && strncmp(p->text, "job '", 5) != 0)
            return slash ? slash + 1 : p->file;
    }
    return NULL;
}

/* Those that do not run here, and why; "" where all do. */
static void write_idle(const struct summary *s, char *text, size_t size)
{
    char invalid[128] = "", disabled[32] = "", elsewhere[48] = "";

    if (s->invalid)
        text_format(invalid, sizeof invalid, ", %zu invalid (%s%s)", s->invalid, s->wrong,
                    s->invalid > 1 ? ", ..." : "");
    if (s->disabled)
        text_format(disabled, sizeof disabled, ", %zu disabled", s->disabled);
    if (s->elsewhere)
        text_format(elsewhere, sizeof elsewhere, ", %zu on other devices", s->elsewhere);
    text_format(text, size, "%s%s%s", invalid, disabled, elsewhere);
}

/* Those that the fleet keeps from running here, or runs by another configuration too. */
static void write_barred(const struct summary *s, char *text, size_t size)
{
    const struct {
        size_t count;
        const char *word;
    } kinds[] = { { s->mismatch, "mismatch" }, { s->outdated, "outdated" },
                  { s->newer, "newer" },       { s->paused, "paused" },
                  { s->blocked, "blocked" },   { s->queued, "in a queue" },
                  { s->mixed, "mixed" } };
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && used < size; i++) {
        if (kinds[i].count == 0)
            continue;
        text_format(text + used, size - used, ", %zu %s", kinds[i].count, kinds[i].word);
        used = strlen(text);
    }
}

/* Those that run, or would. */
static void write_busy(const struct summary *s, const struct manager *m, char *text, size_t size)
{
    char running[128] = "", stuck[128] = "", no_clock[64] = "";

    if (s->running)
        text_format(running, sizeof running, ", %zu running (%s%s)", s->running,
                    s->runs->config->name, s->running > 1 ? ", ..." : "");
    if (s->stuck)
        text_format(stuck, sizeof stuck, ", %zu stuck (%s%s cannot be killed)", s->stuck,
                    s->stays->config->name, s->stuck > 1 ? ", ..." : "");
    if (s->no_clock)
        text_format(no_clock, sizeof no_clock, ", %zu wait%s for the %s", s->no_clock,
                    s->no_clock == 1 ? "s" : "", m->store ? "fleet's clock" : "clock");
    text_format(text, size, "%s%s%s", running, stuck, no_clock);
}

static void write_status(const struct manager *m, char *text, size_t size)
{
    struct boot now = clock_boot();
    struct summary s = sum_up(m, now);
    char idle[224], busy[320], barred[128], unread[96] = "", next[128] = "";
    char at[WORDS_INSTANT_SIZE], store[256];
    const char *file = unread_file(m->generation->config);

    if (file)
        text_format(unread, sizeof unread, "; not read: %s", file);
    if (s.jobs == 0) {
        text_format(text, size, "no jobs%s%s", file ? "" : " yet", unread);
        return;
    }
    write_idle(&s, idle, sizeof idle);
    write_busy(&s, m, busy, sizeof busy);
    write_barred(&s, barred, sizeof barred);
    if (s.next)
        text_format(
            next, sizeof next, "; next %s at %s", s.next->config->name,
            words_instant(s.next_at, fleet_clock_at(job_time(&s.next->job), now), at, sizeof at));
    text_format(text, size, "%zu job%s%s%s%s%s%s; %s", s.jobs, s.jobs == 1 ? "" : "s", idle, busy,
                barred, unread, next, store_words(m, now, store, sizeof store));
}

void manager_update_status(struct manager *m)
{
    char text[HEALTH_STATUS_SIZE];

    if (!m->status_stale)
        return;
    m->status_stale = false;
    if (m->stopping)
        text_copy(text, sizeof text, "stopping");
    else
        write_status(m, text, sizeof text);
    (void)health_status(m->health, text);
}
