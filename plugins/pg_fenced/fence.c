/* SPDX-License-Identifier: MIT */
#include "fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS_PER_S 1000
#define INSTANT_SIZE 32
#define COLUMNS                                                                                    \
    "(name text PRIMARY KEY, fence bigint NOT NULL, turn bigint NOT NULL, device text NOT "        \
    "NULL, at timestamptz NOT NULL DEFAULT now())"

int fence_check(const struct rota_run *r)
{
    const char *table = rota_string(r, "fence_table");
    char quoted[WORDS_TABLE_SIZE];

    if (words_table(table, quoted))
        return ROTA_SUCCEEDED;
    return rota_fail(r, ROTA_REFUSED,
                     "fence_table is \"%s\"; write TABLE or SCHEMA.TABLE, of lower-case letters, "
                     "digits and _",
                     table);
}

void fence_init(struct fence *f, const struct rota_run *r)
{
    const char *name = rota_string(r, "fence_name");
    /* A try by hand has no fence, and is rolled back: it must be refused by none. */
    int64_t number = r->purpose == ROTA_FOR_TRY ? INT64_MAX : (int64_t)r->fence;

    *f = (struct fence){ .run = r, .table = rota_string(r, "fence_table") };
    words_table(f->table, f->quoted);
    snprintf(f->number, sizeof(f->number), "%" PRId64, number);
    snprintf(f->turn, sizeof(f->turn), "%" PRId64, r->turn_ms);
    f->values[0] = name ? name : r->job;
    f->values[1] = f->number;
    f->values[2] = f->turn;
    f->values[3] = r->device;
    /* Where another transaction holds the row this waits for it, and sees what it has written. */
    snprintf(f->move, sizeof(f->move),
             "INSERT INTO %s AS f (name, fence, turn, device, at) VALUES ($1, $2, $3, $4, now()) "
             "ON CONFLICT (name) DO UPDATE SET fence = EXCLUDED.fence, turn = EXCLUDED.turn, "
             "device = EXCLUDED.device, at = EXCLUDED.at "
             "WHERE f.fence::bigint < EXCLUDED.fence::bigint "
             "AND f.turn::bigint <> EXCLUDED.turn::bigint",
             f->quoted);
    /* A statement of its own: the first one cannot see a row that it has waited for and left. */
    snprintf(f->look, sizeof(f->look), "SELECT fence, turn, device FROM %s WHERE name = $1",
             f->quoted);
    f->statements[0] =
        (struct session_statement){ .sql = f->move, .values_count = 4, .values = f->values };
    f->statements[1] =
        (struct session_statement){ .sql = f->look, .values_count = 1, .values = f->values };
}

static const char *instant(int64_t ms, char buf[INSTANT_SIZE])
{
    time_t at = (time_t)(ms / MS_PER_S);
    struct tm utc;

    if (!gmtime_r(&at, &utc) || strftime(buf, INSTANT_SIZE, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
        snprintf(buf, INSTANT_SIZE, "%" PRId64, ms);
    return buf;
}

int fence_verdict(const struct fence *f, PGresult *const results[FENCE_STATEMENTS])
{
    const PGresult *row = results[1];
    char when[INSTANT_SIZE], device[128];
    int64_t number, turn, mine = (int64_t)f->run->fence;

    if (strcmp(PQcmdTuples(results[0]), "1") == 0)
        return ROTA_SUCCEEDED;
    /* Not every server is PostgreSQL. */
    if (PQntuples(row) != 1 || PQnfields(row) != 3)
        return rota_fail(f->run, ROTA_FAILED, "%s: the row of %s cannot be seen by this user",
                         f->table, f->values[0]);
    number = strtoll(PQgetvalue(row, 0, 0), NULL, 10);
    turn = strtoll(PQgetvalue(row, 0, 1), NULL, 10);
    instant(turn, when);
    words_flatten(PQgetvalue(row, 0, 2), device, sizeof(device));
    /* The work was committed together with this row. */
    if (turn == f->run->turn_ms && number <= mine)
        return rota_fail(f->run, ROTA_NOTHING,
                         "turn %s was done already by %s under fence %" PRId64, when, device,
                         number);
    if (number < mine)
        return rota_fail(f->run, ROTA_FAILED,
                         "%s: the row of %s was not changed, and nothing says why: is there a "
                         "trigger or a rule on the table?",
                         f->table, f->values[0]);
    return rota_fail(f->run, ROTA_LOST,
                     "fence %" PRIu64 " is %s %" PRId64 ", with which %s has written turn %s; "
                     "nothing was done",
                     f->run->fence, number == mine ? "no newer than" : "older than", number, device,
                     when);
}

int fence_fail(const struct fence *f, struct session *s)
{
    const char *state = session_state(s);
    char words[SESSION_WORDS];

    if (strcmp(state, "42P01") == 0 || strcmp(state, "3F000") == 0)
        return rota_fail(
            f->run, ROTA_REFUSED,
            "there is no table %s in database %s; its owner makes it: CREATE TABLE %s " COLUMNS,
            f->table, PQdb(s->conn), f->table);
    if (strcmp(state, "42501") == 0)
        return rota_fail(f->run, ROTA_REFUSED,
                         "fence_table: %s; its owner allows it: GRANT SELECT, INSERT, UPDATE ON %s "
                         "TO %s",
                         session_words(s, words), f->table, PQuser(s->conn));
    if (strcmp(state, "25006") == 0)
        return rota_fail(f->run, ROTA_FAILED,
                         "fence_table: %s; the server is a standby, or set to read only: write "
                         "target_session_attrs=read-write, and all servers, into the connection",
                         session_words(s, words));
    if (strncmp(state, "42", 2) == 0)
        return rota_fail(f->run, ROTA_REFUSED,
                         "%s is not the table that is needed here: %s; that is made by: CREATE "
                         "TABLE %s " COLUMNS,
                         f->table, session_words(s, words), f->table);
    return session_fail(s, SESSION_ERROR, f->table);
}
