/* SPDX-License-Identifier: MIT
 * pg_queue: rows of a table as work for all devices at once. PostgreSQL's row locks keep them
 * apart, and what was done to a row is committed together with its leaving the queue: so each is
 * handled once, whoever dies when, and no lock of rota's is needed. */
#include "batch.h"
#include "session.h"
#include "statement.h"

#include <rota/plugin.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* A batch is not begun with less than this much more than the longest has taken: the session keeps
 * 250 ms to itself, and sends nothing with less than SESSION_LEAST_MS. */
#define BATCH_SPARE_MS (400 + SESSION_LEAST_MS)
/* Nor into the last fifth of the worst case and a little more: rotad would warn that the run nearly
 * took too long, at each turn of a queue that is never empty. */
#define SHARE_SPARE 4

static const struct rota_param params[] = {
    SESSION_PARAMS,
    { .name = "select",
      .type = ROTA_STRING,
      .flags = ROTA_REQUIRED,
      .help =
          "The rows that wait, with FOR UPDATE SKIP LOCKED: SELECT id, what FROM queue ORDER BY "
          "id FOR UPDATE SKIP LOCKED." },
    { .name = "handle",
      .type = ROTA_STRING,
      .flags = ROTA_REQUIRED,
      .help =
          "One statement that handles a row, whose columns it gets as $1, $2, ..., and deletes or "
          "changes it, so that select has it no more." },
    { .name = "on_failure",
      .type = ROTA_STRING,
      .help = "One statement for a row whose handling failed: it gets the columns, and after them "
              "the error's text." },
    { .name = "batch",
      .type = ROTA_INTEGER,
      .def = "100",
      .min = "1",
      .max = "10000",
      .help = "Rows of one transaction, at most." },
    { .name = NULL },
};

static int check_select(const struct rota_run *r)
{
    struct statement s = statement_look(rota_string(r, "select"));

    if (s.is_several)
        return rota_fail(r, ROTA_REFUSED, "select: several statements; write one");
    if (s.highest > 0)
        return rota_fail(r, ROTA_REFUSED,
                         "select: $%d has no value here; handle gets the row's columns as $1, $2, "
                         "...",
                         s.highest);
    if (!s.locks || !s.skips_locked)
        return rota_fail(
            r, ROTA_REFUSED,
            "select: without FOR UPDATE SKIP LOCKED two devices take the same rows, or "
            "wait for each other; write it at the end");
    return ROTA_SUCCEEDED;
}

static int check_statement(const struct rota_run *r, const char *param)
{
    struct statement s = statement_look(rota_string(r, param));

    if (s.is_several)
        return rota_fail(
            r, ROTA_REFUSED,
            "%s: several statements; write one, as by WITH ... AS (...), or a function", param);
    if (s.highest == 0)
        return rota_fail(
            r, ROTA_REFUSED,
            "%s: nothing in it says which row; write $1 for the first column of select", param);
    return ROTA_SUCCEEDED;
}

static int check(const struct rota_run *r)
{
    int result = session_check(r);

    if (result == ROTA_SUCCEEDED)
        result = check_select(r);
    if (result == ROTA_SUCCEEDED)
        result = check_statement(r, "handle");
    if (result == ROTA_SUCCEEDED && rota_is_set(r, "on_failure"))
        result = check_statement(r, "on_failure");
    return result;
}

static int say_drained(const struct queue *q)
{
    char words[TALLY_WORDS];

    if (tally_is_empty(&q->tally))
        return ROTA_NOTHING;
    tally_words(&q->tally, words);
    if (q->run->purpose == ROTA_FOR_TRY)
        rota_log(q->run, ROTA_INFO, "%s, and rolled it all back, as this was a try by hand", words);
    else
        rota_log(q->run, ROTA_INFO, "%s", words);
    return ROTA_SUCCEEDED;
}

/* The next turn goes on. */
static int say_out_of_time(const struct queue *q)
{
    char words[TALLY_WORDS];

    rota_log(q->run, ROTA_INFO,
             "%s; there may be more, but worst_case leaves no time for another batch",
             tally_words(&q->tally, words));
    return ROTA_SUCCEEDED;
}

/* Batch after batch, until there are no rows. The run's stop ends the next one's first flight. */
static int drain(struct queue *q)
{
    const struct rota_run *r = q->run;
    char words[TALLY_WORDS];
    int64_t longest_ms = 0, spare_ms = r->budget_left_ms(r) / SHARE_SPARE;

    if (spare_ms < BATCH_SPARE_MS)
        spare_ms = BATCH_SPARE_MS;
    for (;;) {
        int64_t began_ms = session_now_ms();
        int rows, result = batch_take(q, &rows);

        if (result != ROTA_SUCCEEDED)
            return result;
        if (rows == 0 || r->purpose == ROTA_FOR_TRY)
            return say_drained(q);
        rota_progress(r, -1, tally_words(&q->tally, words));
        if (session_now_ms() - began_ms > longest_ms)
            longest_ms = session_now_ms() - began_ms;
        if (r->budget_left_ms(r) < longest_ms + spare_ms)
            return say_out_of_time(q);
    }
}

/* Names that nobody else has: where a pooler gives each transaction to another server process and
 * does not know of prepared statements, "no such statement" is the end, and not what another job
 * has prepared there under the same name. */
static int name_statements(struct queue *q)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return rota_fail(q->run, ROTA_FAILED, "there are no random numbers");
    snprintf(q->handle_name, BATCH_NAME_SIZE, "rota_handle_%016" PRIx64, number);
    snprintf(q->on_failure_name, BATCH_NAME_SIZE, "rota_on_failure_%016" PRIx64, number);
    return ROTA_SUCCEEDED;
}

static int run(const struct rota_run *r)
{
    struct session session;
    struct queue q = { .run = r,
                       .session = &session,
                       .handle = rota_string(r, "handle"),
                       .on_failure = rota_string(r, "on_failure"),
                       .size = (int)rota_integer(r, "batch") };
    int result = check(r);

    if (result == ROTA_SUCCEEDED)
        result = name_statements(&q);
    if (result != ROTA_SUCCEEDED)
        return result;
    if (asprintf(&q.declare, "DECLARE " BATCH_CURSOR " NO SCROLL CURSOR FOR %s",
                 rota_string(r, "select")) < 0)
        return rota_fail(r, ROTA_FAILED, "there is no memory for select");
    result = session_open(&session, r);
    if (result == ROTA_SUCCEEDED)
        result = drain(&q);
    repeat_done(&q.repeat);
    session_close(&session);
    free(q.declare);
    return result;
}

ROTA_PLUGIN(.needs = ROTA_NEEDS_CREDENTIAL, .name = "pg_queue", .version = ROTA_VERSION,
            .summary = "Handles the rows of a queue in PostgreSQL.", .params = params, .run = run,
            .check = check);
