/* SPDX-License-Identifier: MIT */
#include "batch.h"
#include "failing.h"
#include "statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a row: a deadlock, say, with others at work on the same rows of another table. */
#define REPEATS_MAX 5
/* Rows that follow one that has failed: all that is sent after the next failure was in vain. */
#define WINDOW 32
#define TEXT_OID 25 /* PostgreSQL's pg_type.dat; the number never changes */
/* Of a row by itself: a savepoint, handle, its deferred constraints, those deferred again, and the
 * savepoint's release. */
#define STEPS 5
/* Before the rows: at most two PREPAREs; or what sets one aside, and the last three of those. */
#define STEPS_BEFORE 4

/* How a transaction ended. */
enum taken {
    TAKEN_TOLD,      /* .result has been told, or is success */
    TAKEN_REPEAT,    /* a conflict that passes */
    TAKEN_ROW_WRONG, /* with on_failure: row by row now */
};

struct batch {
    struct queue *q;
    PGresult *rows;
    int count, columns;
    Oid *types;          /* columns + 1: the last is the error's text */
    const char **values; /* all rows', one after the other */
    struct session_statement *statements;
    size_t statements_count;
    int result;
    /* Row by row: what on_failure gets of the last row that failed, and how many have. */
    const char **aside_values;
    char words[SESSION_WORDS];
    int aside;
    int window; /* rows that are sent at once, at most */
};

static enum taken told(struct batch *b, int result)
{
    b->result = result;
    return TAKEN_TOLD;
}

static void add(struct batch *b, struct session_statement statement)
{
    b->statements[b->statements_count++] = statement;
}

static void add_plain(struct batch *b, const char *sql)
{
    add(b, (struct session_statement){ .kind = SESSION_RUN, .sql = sql });
}

static void add_prepare(struct batch *b, const char *name, const char *sql, int values_count)
{
    add(b, (struct session_statement){ .kind = SESSION_PREPARE,
                                       .name = name,
                                       .sql = sql,
                                       .values_count = values_count,
                                       .types = b->types });
}

/* Once a connection; on_failure too, so that a mistake in it is not found only when it is needed.
 */
static void add_prepares(struct batch *b)
{
    if (b->q->is_known)
        return;
    if (b->q->on_failure)
        add_prepare(b, b->q->on_failure_name, b->q->on_failure, b->columns + 1);
    add_prepare(b, b->q->handle_name, b->q->handle, b->columns);
}

static void add_execute(struct batch *b, const char *name, const char *const *values, int count)
{
    add(b, (struct session_statement){
               .kind = SESSION_EXECUTE, .name = name, .values_count = count, .values = values });
}

/* true: all that the rows need is there. */
static bool lay_out(struct batch *b)
{
    size_t columns = (size_t)b->columns, count = (size_t)b->count;

    b->types = calloc(columns + 1, sizeof(*b->types));
    b->values = calloc(columns * count + 1, sizeof(*b->values));
    b->aside_values = calloc(columns + 1, sizeof(*b->aside_values));
    b->statements = calloc(count * STEPS + STEPS_BEFORE, sizeof(*b->statements));
    if (!b->types || !b->values || !b->aside_values || !b->statements)
        return false;
    for (int i = 0; i < b->columns; i++)
        b->types[i] = PQftype(b->rows, i);
    b->types[columns] = TEXT_OID;
    for (int row = 0; row < b->count; row++)
        for (int i = 0; i < b->columns; i++)
            if (!PQgetisnull(b->rows, row, i))
                b->values[(size_t)row * columns + (size_t)i] = PQgetvalue(b->rows, row, i);
    return true;
}

static const char *const *values_of(const struct batch *b, int row)
{
    return b->values + (size_t)row * (size_t)b->columns;
}

static void done(struct batch *b)
{
    PQclear(b->rows);
    free(b->types);
    free(b->values);
    free(b->aside_values);
    free(b->statements);
}

/* The connection serves for another transaction. */
static bool roll_back(struct batch *b)
{
    if (session_rollback(b->q->session))
        return true;
    b->result = failing_flight(b->q, SESSION_LOST);
    return false;
}

/* A column comes as text, and has to be the same when handle gets it: other styles of dates name
 * the time zone by letters ("IST"), which are read as another's; fewer digits are another number.
 */
#define EXACT_SQL                                                                                  \
    "SELECT set_config('DateStyle', 'ISO', true), set_config('extra_float_digits', "               \
    "greatest(current_setting('extra_float_digits')::integer, 1)::text, true)"

/* The rows, which are locked from now on. */
static enum taken fetch(struct batch *b)
{
    struct queue *q = b->q;
    char text[64];
    struct session_statement all[] = { { .kind = SESSION_RUN, .sql = EXACT_SQL },
                                       { .kind = SESSION_RUN, .sql = q->declare },
                                       { .kind = SESSION_RUN, .sql = text } };
    PGresult *results[3] = { NULL, NULL, NULL };
    enum session_end end;

    snprintf(text, sizeof(text), "FETCH FORWARD %d FROM " BATCH_CURSOR, q->size);
    end = session_flight(q->session, SESSION_BEGIN, all, 3, results);
    if (end == SESSION_ERROR && session_is_repeatable(q->session))
        return TAKEN_REPEAT;
    if (end == SESSION_ERROR && q->session->failed_at != SIZE_MAX)
        return told(b, failing_statement(q, "select"));
    if (end != SESSION_DONE)
        return told(b, failing_flight(q, end));
    PQclear(results[0]);
    PQclear(results[1]);
    b->rows = results[2];
    b->count = PQntuples(b->rows);
    b->columns = PQnfields(b->rows);
    return told(b, ROTA_SUCCEEDED);
}

/* By hand nothing is left behind. */
static unsigned commit_flag(const struct batch *b)
{
    return b->q->run->purpose == ROTA_FOR_TRY ? 0 : SESSION_COMMIT;
}

/* What follows a row that failed, or a COMMIT: TAKEN_TOLD: why the run ends is to be told. A
 * deferred constraint, which fails at COMMIT, is checked after each row when they are taken by row.
 */
static enum taken judge(const struct batch *b, bool by_row)
{
    const struct queue *q = b->q;

    if (session_is_repeatable(q->session))
        return TAKEN_REPEAT;
    return !by_row && q->on_failure && failing_is_of_row(q->session) ? TAKEN_ROW_WRONG : TAKEN_TOLD;
}

/* What COMMIT would have found. */
static void add_end_of_try(struct batch *b)
{
    if (b->q->run->purpose == ROTA_FOR_TRY && b->count > 0)
        add_plain(b, "SET CONSTRAINTS ALL IMMEDIATE");
}

/* All rows in one flight, which ends with COMMIT: so the run's stop lets it be finished. */
static enum taken handle_all(struct batch *b)
{
    struct queue *q = b->q;
    size_t first, rows_end, at;
    enum session_end end;
    enum taken taken;

    add_prepares(b);
    first = b->statements_count;
    for (int row = 0; row < b->count; row++)
        add_execute(b, q->handle_name, values_of(b, row), b->columns);
    rows_end = b->statements_count;
    add_end_of_try(b);
    end = session_flight(q->session, commit_flag(b), b->statements, b->statements_count, NULL);
    at = q->session->failed_at;
    /* What the server has read stays, even where the transaction does not. */
    q->is_known = q->is_known || end == SESSION_DONE ||
                  (end == SESSION_ERROR && at != SIZE_MAX && at >= first);
    if (end == SESSION_DONE)
        return told(b, ROTA_SUCCEEDED);
    if (end != SESSION_ERROR || at == SIZE_MAX)
        return told(b, failing_flight(q, end));
    if (at < first)
        return told(b, failing_statement(q, at + 1 < first ? "on_failure" : "handle"));
    taken = judge(b, false);
    if (taken != TAKEN_TOLD)
        return taken;
    return told(b, at < rows_end ? failing_row(q, b->rows, (int)(at - first), "handle")
                                 : failing_commit(q));
}

/* Deferred constraints are looked at for each row, but not before all of it is done: a function may
 * rely on that. */
static void add_release(struct batch *b)
{
    add_plain(b, "SET CONSTRAINTS ALL IMMEDIATE");
    add_plain(b, "SET CONSTRAINTS ALL DEFERRED");
    add_plain(b, "RELEASE SAVEPOINT " SESSION_SAVEPOINT);
}

static void add_by_row(struct batch *b, int row)
{
    add_plain(b, "SAVEPOINT " SESSION_SAVEPOINT);
    add_execute(b, b->q->handle_name, values_of(b, row), b->columns);
    add_release(b);
}

/* The row's savepoint stands again when this runs. */
static void add_aside(struct batch *b, int row)
{
    size_t columns = (size_t)b->columns;

    session_words(b->q->session, b->words);
    memcpy(b->aside_values, values_of(b, row), columns * sizeof(*b->aside_values));
    b->aside_values[columns] = b->words;
    add_execute(b, b->q->on_failure_name, b->aside_values, b->columns + 1);
    add_release(b);
    b->aside++;
}

/* From `row` on, as many as the window has; *row is the next one then, or the one that failed.
 * `aside`: the one before has failed. */
static enum taken handle_from(struct batch *b, int *row, bool aside)
{
    struct queue *q = b->q;
    int until = b->count - *row > b->window ? *row + b->window : b->count;
    unsigned commit = until == b->count ? commit_flag(b) : 0;
    enum session_end end;
    size_t first, at;

    b->statements_count = 0;
    if (aside)
        add_aside(b, *row - 1);
    first = b->statements_count;
    for (int i = *row; i < until; i++)
        add_by_row(b, i);
    end = session_flight(q->session, commit | (aside ? SESSION_RETURN : 0), b->statements,
                         b->statements_count, NULL);
    at = q->session->failed_at;
    if (end == SESSION_DONE) {
        *row = until;
        return told(b, ROTA_SUCCEEDED);
    }
    if (end != SESSION_ERROR || at == SIZE_MAX)
        return told(b, failing_flight(q, end));
    if (judge(b, true) == TAKEN_REPEAT)
        return TAKEN_REPEAT;
    if (at < first)
        return told(b, failing_row(q, b->rows, *row - 1, "on_failure"));
    if (at == b->statements_count)
        return told(b, failing_commit(q));
    *row += (int)((at - first) / STEPS);
    return failing_is_of_row(q->session) ? TAKEN_ROW_WRONG
                                         : told(b, failing_row(q, b->rows, *row, "handle"));
}

/* Each behind a savepoint: a row that fails is given to on_failure, in the same transaction. All
 * are sent at first; after one that failed only some, and more and more as long as they pass: so
 * that a batch of rows that all fail is not sent as often as it has rows. */
static enum taken handle_by_row(struct batch *b)
{
    bool aside = false;
    int row = 0;

    b->window = b->count;
    for (;;) {
        enum taken taken = handle_from(b, &row, aside);

        aside = taken == TAKEN_ROW_WRONG;
        if (aside) {
            row++;
            b->window = WINDOW;
        } else if (taken == TAKEN_TOLD && b->result == ROTA_SUCCEEDED && row < b->count) {
            b->window *= 2;
        } else {
            return taken;
        }
    }
}

/* A number in a statement for which there is no column. */
static bool has_all_columns(struct batch *b)
{
    const struct queue *q = b->q;
    int highest = statement_look(q->handle).highest;

    if (highest > b->columns) {
        b->result = failing_parameter(q, "handle", highest, b->columns);
        return false;
    }
    highest = q->on_failure ? statement_look(q->on_failure).highest : 0;
    if (highest > b->columns + 1) {
        b->result = failing_parameter(q, "on_failure", highest, b->columns + 1);
        return false;
    }
    return true;
}

/* By hand the statements are looked at even if there is no row for them. */
static enum taken handle_none(struct batch *b)
{
    if (b->q->run->purpose == ROTA_FOR_TRY)
        return handle_all(b);
    return told(b, ROTA_SUCCEEDED);
}

static enum taken take(struct batch *b, bool by_row)
{
    struct queue *q = b->q;
    enum taken taken;
    int again;

    /* A stop lets a batch be finished: that of one flight by its COMMIT, and this one by that. */
    q->session->through_stop = by_row && commit_flag(b);
    taken = fetch(b);
    if (taken != TAKEN_TOLD || b->result != ROTA_SUCCEEDED)
        return taken;
    again = repeat_find(&q->repeat, b->rows);
    if (again >= 0)
        return told(b, failing_repeat(q, b->rows, again));
    if (!has_all_columns(b))
        return TAKEN_TOLD;
    if (!lay_out(b))
        return told(b, failing_memory(q));
    if (b->count == 0)
        return handle_none(b);
    return by_row ? handle_by_row(b) : handle_all(b);
}

/* What was committed counts. */
static int count(struct batch *b)
{
    struct queue *q = b->q;

    q->tally.aside += b->aside;
    q->tally.handled += b->count - b->aside;
    if (b->count > 0 && repeat_note(&q->repeat, b->rows) < 0)
        return failing_memory(q);
    return ROTA_SUCCEEDED;
}

int batch_take(struct queue *q, int *ret_rows)
{
    bool by_row = false;
    int tries = 0;

    for (;;) {
        struct batch b = { .q = q };
        enum taken taken = take(&b, by_row);

        if (taken == TAKEN_REPEAT && ++tries > REPEATS_MAX)
            taken = told(&b, failing_conflict(q, tries));
        if (taken == TAKEN_TOLD && b.result == ROTA_SUCCEEDED)
            b.result = count(&b);
        if (taken == TAKEN_TOLD || !roll_back(&b)) {
            *ret_rows = b.count;
            done(&b);
            return b.result;
        }
        by_row = by_row || taken == TAKEN_ROW_WRONG;
        done(&b);
    }
}
