/* SPDX-License-Identifier: MIT */
#include "supervisor/topology_words.h"
#include "base/text.h"
#include "base/units.h"
#include "supervisor/clock.h"
#include "supervisor/journal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* That one server comes and goes hides nothing of the others. */
#define FIELDS(server)                                                                             \
    (struct journal_field[])                                                                       \
    {                                                                                              \
        { "ROTA_SERVER", server },                                                                 \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }

struct topology_words {
    struct manager *manager;
    size_t count;
    struct server_words {
        uint32_t said; /* a bit for each class that this absence has shown; 0: it is not away */
        struct boot since;
    } servers[];
};

static void say_away(const struct topology_words *w, struct server_words *server,
                     const struct redis_link_change *change, size_t serving)
{
    const char *reason = change->reason ? change->reason : "no reply";
    bool lost = change->fault == FAULT_LINK || change->fault == FAULT_ALIEN;
    uint32_t bit = UINT32_C(1) << change->fault;
    char next[UNITS_SIZE], why[REDIS_FAULT_REASON_SIZE];

    units_say_duration(change->window_ms, next, sizeof next);
    text_escape(why, sizeof why, reason, strlen(reason));
    if (server->said == 0)
        server->since = clock_boot();
    if (server->said & bit)
        journal_log(LOG_DEBUG, NULL, "%s: still the same (%s); next try within %s",
                    change->endpoint, why, next);
    else
        journal_log(LOG_WARNING | MESSAGE_SERVER_AWAY, FIELDS(change->endpoint),
                    "%s, one of the %zu servers of redis.quorum, %s%s%s; %zu of them serve; next "
                    "try within %s",
                    change->endpoint, w->count,
                    lost ? "does not answer (" : "cannot be used: ", why, lost ? ")" : "", serving,
                    next);
    server->said |= bit;
}

static void say_back(const struct topology_words *w, struct server_words *server,
                     const struct redis_link_change *change, size_t serving)
{
    char after[UNITS_SIZE];

    if (server->said == 0)
        return;
    server->said = 0;
    units_say_duration(boot_between(server->since, clock_boot()), after, sizeof after);
    journal_log(LOG_NOTICE | MESSAGE_SERVER_BACK, FIELDS(change->endpoint),
                "%s, one of the %zu servers of redis.quorum, answers again after %s; %zu of them "
                "serve",
                change->endpoint, w->count, after, serving);
}

static void refused(void *context, size_t number, const struct redis_refusal *refusal,
                    size_t serving)
{
    struct topology_words *w = context;
    struct server_words *server = &w->servers[number];
    char why[REDIS_FAULT_REASON_SIZE];

    w->manager->status_stale = true;
    if (!refusal->reason) {
        say_back(w, server, &(struct redis_link_change){ .endpoint = refusal->endpoint }, serving);
        return;
    }
    text_escape(why, sizeof why, refusal->reason, strlen(refusal->reason));
    if (server->said == 0)
        server->since = clock_boot();
    server->said |= UINT32_C(1) << refusal->fault;
    journal_log(LOG_WARNING | MESSAGE_SERVER_AWAY, FIELDS(refusal->endpoint),
                "%s, one of the %zu servers of redis.quorum, cannot be used: %s; %zu of them serve",
                refusal->endpoint, w->count, why, serving);
}

static void changed(void *context, size_t server, const struct redis_link_change *change,
                    size_t serving)
{
    struct topology_words *w = context;

    w->manager->status_stale = true;
    if (change->state == REDIS_LINK_UP)
        say_back(w, &w->servers[server], change, serving);
    if (change->state != REDIS_LINK_WAITING)
        return;
    say_away(w, &w->servers[server], change, serving);
    if (change->fault == FAULT_OPERATOR)
        manager_read_passwords(w->manager);
}

void topology_words_node(void *context, const struct redis_link_change *change, bool first)
{
    struct manager *m = context;
    char next[UNITS_SIZE], why[REDIS_FAULT_REASON_SIZE];

    if (!change) {
        journal_log(LOG_NOTICE | MESSAGE_SERVER_BACK, NULL,
                    "all nodes of the cluster that are needed can be used again");
        return;
    }
    units_say_duration(change->window_ms, next, sizeof next);
    text_escape(why, sizeof why, change->reason, strlen(change->reason));
    if (first)
        journal_log(LOG_WARNING | MESSAGE_SERVER_AWAY, NULL,
                    "%s cannot be used: %s; the jobs whose keys it has wait; next try within %s",
                    change->endpoint, why, next);
    if (change->fault == FAULT_OPERATOR)
        manager_read_passwords(m);
}

int topology_words_new(struct manager *m, size_t servers, struct redis_quorum_people *ret_people)
{
    struct topology_words *w = calloc(1, sizeof *w + servers * sizeof w->servers[0]);

    if (!w)
        return -ENOMEM;
    w->manager = m;
    w->count = servers;
    *ret_people = (struct redis_quorum_people){
        .changed = changed, .refused = refused, .free = free, .context = w
    };
    return 0;
}
