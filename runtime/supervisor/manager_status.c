/* SPDX-License-Identifier: MIT
 * STATUS in one line for people (SCREENS.md, 10). It names instants, not distances, so that it
 * stays true while nothing happens. */
#include "supervisor/clock.h"
#include "supervisor/control.h"
#include "supervisor/local_module.h"
#include "supervisor/manager.h"
#include "supervisor/words_clock.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct line {
    size_t used;
    char text[HEALTH_STATUS_SIZE];
};

/* What does not fit is cut off. */
__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *format, ...)
{
    char *at = l->text + l->used;
    va_list args;

    va_start(args, format);
    vsnprintf(at, sizeof l->text - l->used, format, args);
    va_end(args);
    l->used += strlen(at);
}

struct summary {
    size_t jobs, invalid, disabled, elsewhere, running, stuck, no_clock;
    size_t mismatch, outdated, newer, mixed, paused, blocked, queued, slow;
    const char *wrong;              /* one of those that are invalid */
    const struct device_job *runs;  /* one of those that run */
    const struct device_job *stays; /* one of those that are stuck */
    const struct device_job *slows; /* one of those whose runs come close to worst_case */
    const struct device_job *next;  /* of those that may run: which asks for a turn first */
    struct wall next_at;
};

static void add_job(struct summary *s, const struct manager *m, const struct device_job *d)
{
    const struct job *j = &d->job;
    bool paused = control_pauses(m->control, j, (struct wall){ 0 });

    if (j->state == JOB_RUNNING || j->state == JOB_STOPPING || j->state == JOB_STARTING) {
        s->running++;
        s->runs = d;
    }
    if (j->tree_left) {
        s->stuck++;
        s->stays = d;
    }
    if (d->past && d->past->advice.kind == ADVICE_SHORT) {
        s->slow++;
        s->slows = d;
    }
    s->no_clock += j->state == JOB_NO_CLOCK;
    s->mismatch += j->apart || j->bar == JOB_MISMATCHED;
    s->outdated += j->bar == JOB_OUTDATED;
    s->newer += j->bar == JOB_NEWER;
    s->mixed += j->mixed;
    s->paused += paused || j->bar == JOB_PAUSED;
    s->blocked += j->bar == JOB_BLOCKED;
    s->queued += j->queued && j->state == JOB_WATCHING;
    if (j->state != JOB_WAITING || j->apart || paused || j->bar != JOB_NOT_BARRED)
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
        add_job(&s, m, d);
    if (s.next)
        s.next_at = job_next_turn(&s.next->job, now);
    return s;
}

/* A fault that a working connection shows, of all jobs or of one; NULL: none. */
static const char *fault_words(const struct manager *m)
{
    if (m->fault.said)
        return m->fault.said->text;
    for (const struct device_job *d = m->jobs; d; d = d->next)
        if (d->fault.said)
            return d->fault.said->text;
    return NULL;
}

static void add_missed(struct line *l, const struct manager *m)
{
    add(l, ", %" PRIu64 " turn%s missed", m->fleet.missed, m->fleet.missed == 1 ? "" : "s");
}

static void add_outage(struct line *l, const struct manager *m, struct boot now)
{
    const struct words_fault_link *w = &m->link_words;

    if (w->fault == FAULT_LINK)
        add(l, "redis unreachable");
    else
        add(l, "redis: %s", w->text);
    if (m->fleet.clock.known) {
        struct wall wall = fleet_clock_at(&m->fleet.clock, now);
        char since[WORDS_INSTANT_SIZE];

        add(l, " since %s",
            words_instant(wall_add(wall, boot_between(now, w->since)), wall, since, sizeof since));
    }
    add_missed(l, m);
}

static void add_redis(struct line *l, const struct manager *m, struct boot now)
{
    const char *fault = fault_words(m);

    if (m->link_words.down) {
        add_outage(l, m, now);
    } else if (fault) {
        add(l, "redis: %s", fault);
        add_missed(l, m);
    } else {
        add(l, m->fleet.clock.known ? "redis ok" : "redis not yet reached");
    }
}

static void add_local(struct line *l, const struct manager *m)
{
    const struct device_clock *c = m->local_module->clock(m->local);
    char doubt[128];

    add(l, "local, this device alone");
    if (c->doubted)
        add(l, "; %s", words_clock_doubt(c, doubt, sizeof doubt));
}

static void add_store(struct line *l, const struct manager *m, struct boot now)
{
    if (!m->began)
        add(l, "plugins are being probed");
    else if (m->store)
        add_redis(l, m, now);
    else if (m->local)
        add_local(l, m);
    else
        add(l, "nothing runs here");
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

/* Those that do not run here, and why. */
static void add_idle(struct line *l, const struct summary *s)
{
    if (s->invalid)
        add(l, ", %zu invalid (%s%s)", s->invalid, s->wrong, s->invalid > 1 ? ", ..." : "");
    if (s->disabled)
        add(l, ", %zu disabled", s->disabled);
    if (s->elsewhere)
        add(l, ", %zu on other devices", s->elsewhere);
}

/* Those that the fleet keeps from running here, or runs by another configuration too. */
static void add_barred(struct line *l, const struct summary *s)
{
    const struct {
        size_t count;
        const char *word;
    } kinds[] = { { s->mismatch, "mismatch" }, { s->outdated, "outdated" },
                  { s->newer, "newer" },       { s->paused, "paused" },
                  { s->blocked, "blocked" },   { s->queued, "in a queue" },
                  { s->mixed, "mixed" } };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].count > 0)
            add(l, ", %zu %s", kinds[i].count, kinds[i].word);
}

/* Those that run, or would. */
static void add_busy(struct line *l, const struct summary *s, const struct manager *m)
{
    if (s->running)
        add(l, ", %zu running (%s%s)", s->running, s->runs->config->name,
            s->running > 1 ? ", ..." : "");
    if (s->stuck)
        add(l, ", %zu stuck (%s%s cannot be killed)", s->stuck, s->stays->config->name,
            s->stuck > 1 ? ", ..." : "");
    if (s->slow)
        add(l, ", %zu nearly too slow (%s%s)", s->slow, s->slows->config->name,
            s->slow > 1 ? ", ..." : "");
    if (s->no_clock)
        add(l, ", %zu wait%s for the %s", s->no_clock, s->no_clock == 1 ? "s" : "",
            m->store ? "fleet's clock" : "clock");
}

/* Nothing is drained as long as something runs. */
static const char *drain_words(const struct manager *m)
{
    if (!m->draining)
        return "";
    return m->runs ? ", draining" : ", drained";
}

static void add_unread(struct line *l, const char *file)
{
    if (file)
        add(l, "; not read: %s", file);
}

static void add_next(struct line *l, const struct summary *s, struct boot now)
{
    char at[WORDS_INSTANT_SIZE];

    if (s->next)
        add(l, "; next %s at %s", s->next->config->name,
            words_instant(s->next_at, fleet_clock_at(job_time(&s->next->job), now), at, sizeof at));
}

static void write_status(const struct manager *m, struct line *l)
{
    struct boot now = clock_boot();
    struct summary s = sum_up(m, now);
    const char *file = unread_file(m->generation->config);

    if (s.jobs == 0) {
        add(l, "no jobs%s%s", file ? "" : " yet", drain_words(m));
        add_unread(l, file);
        return;
    }
    add(l, "%zu job%s", s.jobs, s.jobs == 1 ? "" : "s");
    add_idle(l, &s);
    add(l, "%s", drain_words(m));
    add_busy(l, &s, m);
    add_barred(l, &s);
    add_unread(l, file);
    add_next(l, &s, now);
    add(l, "; ");
    add_store(l, m, now);
}

void manager_update_status(struct manager *m)
{
    struct line l = { .used = 0 };

    if (!m->status_stale)
        return;
    m->status_stale = false;
    control_changed(m->control);
    if (m->stopping)
        add(&l, "stopping");
    else
        write_status(m, &l);
    (void)health_status(m->health, l.text);
}
