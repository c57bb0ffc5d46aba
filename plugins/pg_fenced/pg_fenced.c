/* SPDX-License-Identifier: MIT
 * pg_fenced: the operator's SQL in one transaction, which first moves the job's fence forward in a
 * table of the database. Where a newer fence is there, this run's lease is no longer the job's, and
 * nothing is written. Turn and work are committed together, so a turn that was done is seen, too.
 */
#include "fence.h"
#include "session.h"
#include "sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a transaction that was in another one's way. */
#define REPEATS_MAX 5
#define NOT_SUPPORTED "0A000"

static const struct rota_param params[] = {
    SESSION_PARAMS,
    { .name = "sql",
      .type = ROTA_STRING,
      .help = "The statements that do the work, all in one transaction." },
    { .name = "sql_file",
      .type = ROTA_STRING,
      .flags = ROTA_PATH,
      .help = "Instead of sql: a file that holds them." },
    { .name = "fence_table",
      .type = ROTA_STRING,
      .def = "rota_fence",
      .help = "The table that keeps the newest fence of each job, TABLE or SCHEMA.TABLE." },
    { .name = "fence_name",
      .type = ROTA_STRING,
      .min = "1",
      .max = "200",
      .help = "The job's row in it, where that is not to be the job's name: no other job may use "
              "it." },
    { .name = NULL },
};

/* What the SQL can read by current_setting(), until the transaction's end. */
#define GIVE_SQL                                                                                   \
    "SELECT set_config('rota.sql', $1, true), set_config('rota.fence', $2, true), "                \
    "set_config('rota.turn', $3, true), set_config('rota.job', $4, true), "                        \
    "set_config('rota.device', $5, true), set_config('rota.attempt', $6, true), "                  \
    "set_config('rota.rows', '', true)"

/* One statement for the server, so that its time-out bounds all that the text holds; and a text
 * that PL/pgSQL runs cannot end the transaction. */
#define DO_SQL                                                                                     \
    "DO $rota$ DECLARE n bigint; BEGIN EXECUTE current_setting('rota.sql'); "                      \
    "GET DIAGNOSTICS n = ROW_COUNT; PERFORM set_config('rota.rows', n::text, true); END $rota$"

#define ROWS_SQL "SELECT current_setting('rota.rows')"

enum { WORK_GIVE, WORK_DO, WORK_ROWS, WORK_STATEMENTS };

struct fenced {
    const struct rota_run *run;
    char *sql;
    struct fence fence;
    struct session session;
    char rows[24]; /* of the last statement */
};

static int check(const struct rota_run *r)
{
    int result = session_check(r);

    if (result == ROTA_SUCCEEDED)
        result = sql_check(r);
    return result == ROTA_SUCCEEDED ? fence_check(r) : result;
}

/* In the operator's text; 0: elsewhere, as in a function that it calls. */
static int line_of(const struct fenced *f)
{
    const char *query = PQresultErrorField(f->session.failed, PG_DIAG_INTERNAL_QUERY);
    const char *position = PQresultErrorField(f->session.failed, PG_DIAG_INTERNAL_POSITION);

    if (!query || !position || strcmp(query, f->sql) != 0)
        return 0;
    return words_line(f->sql, (int)strtol(position, NULL, 10));
}

static int fail_work(struct fenced *f, enum session_end end)
{
    const char *name = sql_name(f->run), *by;
    char what[512];
    int line;

    snprintf(what, sizeof(what), "%s", name);
    if (end != SESSION_ERROR || f->session.failed_at != WORK_DO)
        return session_fail(&f->session, end, what);
    line = line_of(f);
    if (line > 0)
        snprintf(what, sizeof(what), "%s, line %d", name, line);
    /* PL/pgSQL's own refusal, whatever its language. */
    by = PQresultErrorField(f->session.failed, PG_DIAG_SOURCE_FUNCTION);
    if (by && strcmp(by, "exec_stmt_dynexecute") == 0 &&
        strcmp(session_state(&f->session), NOT_SUPPORTED) == 0)
        return rota_fail(
            f->run, ROTA_REFUSED,
            "%s: the statements are one transaction with the fence, and can neither "
            "end it nor talk to a client: leave BEGIN, COMMIT, ROLLBACK and SAVEPOINT, "
            "COPY FROM STDIN and TO STDOUT, and SELECT INTO out",
            what);
    return session_fail(&f->session, end, what);
}

/* The first flight: the transaction begins by the fence. */
static int move_fence(struct fenced *f, enum session_end *ret_end)
{
    PGresult *results[FENCE_STATEMENTS];
    int result;

    *ret_end =
        session_flight(&f->session, SESSION_BEGIN, f->fence.statements, FENCE_STATEMENTS, results);
    if (*ret_end == SESSION_ERROR && f->session.failed_at < FENCE_STATEMENTS)
        return fence_fail(&f->fence, &f->session);
    if (*ret_end != SESSION_DONE)
        return session_fail(&f->session, *ret_end, f->fence.table);
    result = fence_verdict(&f->fence, results);
    for (size_t i = 0; i < FENCE_STATEMENTS; i++)
        PQclear(results[i]);
    return result;
}

/* The second one: the operator's SQL. */
static int work(struct fenced *f, enum session_end *ret_end)
{
    char number[24], turn[24], attempt[12];
    const char *const values[] = { f->sql, number, turn, f->run->job, f->run->device, attempt };
    const struct session_statement statements[WORK_STATEMENTS] = {
        [WORK_GIVE] = { .sql = GIVE_SQL, .values_count = 6, .values = values },
        [WORK_DO] = { .sql = DO_SQL },
        [WORK_ROWS] = { .sql = ROWS_SQL },
    };
    PGresult *results[WORK_STATEMENTS];

    snprintf(number, sizeof(number), "%" PRIu64, f->run->fence);
    snprintf(turn, sizeof(turn), "%" PRId64, f->run->turn_ms);
    snprintf(attempt, sizeof(attempt), "%" PRIu32, f->run->attempt);
    *ret_end = session_flight(&f->session, 0, statements, WORK_STATEMENTS, results);
    if (*ret_end != SESSION_DONE)
        return fail_work(f, *ret_end);
    snprintf(f->rows, sizeof(f->rows), "%s", PQgetvalue(results[WORK_ROWS], 0, 0));
    for (size_t i = 0; i < WORK_STATEMENTS; i++)
        PQclear(results[i]);
    return ROTA_SUCCEEDED;
}

/* The third one. */
static int commit(struct fenced *f, enum session_end *ret_end)
{
    struct session *s = &f->session;
    char words[SESSION_WORDS];

    *ret_end = session_flight(s, SESSION_COMMIT, NULL, 0, NULL);
    if (*ret_end == SESSION_DONE) {
        rota_log(f->run, ROTA_INFO,
                 "committed under fence %" PRIu64 "; rows of the last statement: %s", f->run->fence,
                 f->rows);
        return ROTA_SUCCEEDED;
    }
    if (s->committing && !session_is_ended_by_time(s))
        return rota_fail(f->run, ROTA_FAILED,
                         "the connection was lost while COMMIT was under way (%s); whether it was "
                         "committed is not known: the next try sees it by the turn in %s",
                         s->failed ? session_words(s, words)
                                   : (s->lost[0] ? s->lost : "no answer came in time"),
                         f->fence.table);
    return session_fail(s, *ret_end, "COMMIT");
}

/* Instead of it; what COMMIT would have found is found. */
static int end_try(struct fenced *f, enum session_end *ret_end)
{
    const struct session_statement check = { .sql = "SET CONSTRAINTS ALL IMMEDIATE" };

    *ret_end = session_flight(&f->session, 0, &check, 1, NULL);
    if (*ret_end != SESSION_DONE)
        return session_fail(&f->session, *ret_end, "COMMIT");
    rota_log(f->run, ROTA_NOTICE,
             "tried by hand: rolled back, nothing was written; rows of the last statement: %s",
             f->rows);
    return ROTA_SUCCEEDED;
}

static int transaction(struct fenced *f, enum session_end *ret_end)
{
    int result = move_fence(f, ret_end);

    if (result == ROTA_SUCCEEDED)
        result = work(f, ret_end);
    if (result != ROTA_SUCCEEDED)
        return result;
    return f->run->purpose == ROTA_FOR_TRY ? end_try(f, ret_end) : commit(f, ret_end);
}

/* Whoever was in the way is gone, most likely. */
static int transactions(struct fenced *f)
{
    for (int repeats = 0;; repeats++) {
        enum session_end end = SESSION_DONE;
        int result = transaction(f, &end);
        bool again =
            end == SESSION_ERROR && session_is_repeatable(&f->session) && repeats < REPEATS_MAX;

        if (!session_rollback(&f->session) || !again)
            return result;
        rota_log(f->run, ROTA_INFO, "in the way of another transaction; repeated (%d of %d)",
                 repeats + 1, REPEATS_MAX);
        f->run->fail(f->run, NULL); /* what was told of it is not why the run ends */
    }
}

static int run(const struct rota_run *r)
{
    struct fenced f = { .run = r };
    int result = check(r);

    if (result != ROTA_SUCCEEDED)
        return result;
    if (r->fence == 0 && r->purpose == ROTA_FOR_RUN)
        return rota_fail(
            r, ROTA_REFUSED,
            "this run has no fence: there is none with scope = \"device\", lock = \"none\", "
            "redis.quorum, or rotactl run --ignore-lock; write require_fence = true in "
            "the job, and --check tells");
    result = sql_read(r, &f.sql);
    if (result != ROTA_SUCCEEDED)
        return result;
    fence_init(&f.fence, r);
    result = session_open(&f.session, r);
    if (result == ROTA_SUCCEEDED)
        result = transactions(&f);
    session_close(&f.session);
    free(f.sql);
    return result;
}

ROTA_PLUGIN(.name = "pg_fenced", .version = ROTA_VERSION,
            .needs = ROTA_NEEDS_LOST | ROTA_NEEDS_CREDENTIAL,
            .summary = "Runs SQL in PostgreSQL, which refuses a run whose lock is no longer its "
                       "own.",
            .params = params, .run = run, .check = check);
