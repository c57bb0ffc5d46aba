/* SPDX-License-Identifier: MIT
 * STATUS in one line for people (SCREENS.md, 10). It names instants, not distances, so that it
 * stays true while nothing happens. */
#include "base/text.h"
#include "base/units.h"
#include "supervisor/clock.h"
#include "supervisor/manager.h"
#include <stdio.h>
#include <string.h>

struct summary {
    size_t jobs, invalid, running, stuck;
    const char *wrong;              /* one of those that are invalid */
    const struct device_job *runs;  /* one of those that run */
    const struct device_job *stays; /* one of those that are stuck */
    const struct device_job *next;  /* whose next turn comes first */
    struct wall next_at;
};

static void add_job(struct summary *s, const struct device_job *d, struct boot now)
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
    if (j->state != JOB_WAITING)
        return;
    if (!s->next || job_next_turn(j, now).ms < s->next_at.ms) {
        s->next = d;
        s->next_at = job_next_turn(j, now);
    }
}

static struct summary sum_up(const struct manager *m, struct boot now)
{
    const struct config *c = m->generation->config;
    struct summary s = { .jobs = c->job_count };

    for (size_t i = 0; i < c->job_count; i++) {
        if (!c->jobs[i].invalid)
            continue;
        s.invalid++;
        s.wrong = c->jobs[i].name;
    }
    for (const struct device_job *d = m->jobs; d; d = d->next)
        add_job(&s, d, now);
    return s;
}

/* A fault that a working connection shows, of all jobs or of one; NULL: none. */
static const char *fault_words(const struct manager *m)
{
    if (m->fault.said)
        return m->fault.text;
    for (const struct device_job *d = m->jobs; d; d = d->next)
        if (d->fault.said)
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
    text_format(buf, size, "redis%s%s%s%s, %llu turns missed", lost ? " unreachable" : ": ",
                lost ? "" : w->text, since[0] ? " since " : "", since,
                (unsigned long long)m->fleet.missed);
}

static const char *redis_words(const struct manager *m, struct boot now, char *buf, size_t size)
{
    const char *fault = fault_words(m);

    if (m->link_words.down)
        say_outage(m, now, buf, size);
    else if (fault)
        text_format(buf, size, "redis: %s, %llu turns missed", fault,
                    (unsigned long long)m->fleet.missed);
    else
        text_copy(buf, size, m->fleet.clock.known ? "redis ok" : "redis not yet reached");
    return buf;
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

static void write_status(const struct manager *m, char *text, size_t size)
{
    struct boot now = clock_boot();
    struct summary s = sum_up(m, now);
    char invalid[160] = "", running[160] = "", stuck[160] = "", next[160] = "";
    char at[WORDS_INSTANT_SIZE], redis[256], unread[96] = "";
    const char *file = unread_file(m->generation->config);

    if (file)
        text_format(unread, sizeof unread, "; not read: %s", file);
    if (s.jobs == 0) {
        text_format(text, size, "no jobs%s%s", file ? "" : " yet", unread);
        return;
    }
    if (s.invalid)
        text_format(invalid, sizeof invalid, ", %zu invalid (%s%s)", s.invalid, s.wrong,
                    s.invalid > 1 ? ", ..." : "");
    if (s.running)
        text_format(running, sizeof running, ", %zu running (%s%s)", s.running,
                    s.runs->config->name, s.running > 1 ? ", ..." : "");
    if (s.stuck)
        text_format(stuck, sizeof stuck, ", %zu stuck (%s%s cannot be killed)", s.stuck,
                    s.stays->config->name, s.stuck > 1 ? ", ..." : "");
    if (s.next)
        text_format(next, sizeof next, "; next %s at %s", s.next->config->name,
                    words_instant(s.next_at, fleet_clock_at(&m->fleet.clock, now), at, sizeof at));
    text_format(text, size, "%zu job%s%s%s%s%s%s; %s", s.jobs, s.jobs == 1 ? "" : "s", invalid,
                running, stuck, unread, next,
                !m->began ? "plugins are being probed" : redis_words(m, now, redis, sizeof redis));
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
