/* SPDX-License-Identifier: MIT */
#include "failing.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

/* Of a value that names its row. */
#define NAME_MAX_BYTES 60
#define WHAT_SIZE 300

/* Classes of SQLSTATE that say nothing against a row: connection, what the server cannot do (such
 * as a statement whose table was altered since it was prepared), state of the transaction, login,
 * a schema that is not there, conflicts that pass, the statement itself or the rights to it, memory
 * and disk, locks, an operator, system errors, bugs. */
static const char *const others_faults[] = { "08", "0A", "25", "28", "2D", "3F", "40",
                                             "42", "53", "55", "57", "58", "XX" };

/* What a wrong type of a parameter comes as. */
static const char *const type_faults[] = { "42883", "42804", "42P18", "42725", "42846" };

bool failing_is_of_row(const struct session *s)
{
    const char *state = session_state(s);

    if (strlen(state) != 5)
        return false;
    for (size_t i = 0; i < sizeof(others_faults) / sizeof(others_faults[0]); i++)
        if (strncmp(state, others_faults[i], 2) == 0)
            return false;
    return true;
}

static bool is_of_type(const struct session *s)
{
    for (size_t i = 0; i < sizeof(type_faults) / sizeof(type_faults[0]); i++)
        if (strcmp(session_state(s), type_faults[i]) == 0)
            return true;
    return false;
}

/* What was reached before, as the beginning of a sentence. */
static const char *before(const struct queue *q, char buf[TALLY_WORDS + 2])
{
    char words[TALLY_WORDS];

    if (tally_is_empty(&q->tally))
        return "";
    snprintf(buf, TALLY_WORDS + 2, "%s; ", tally_words(&q->tally, words));
    return buf;
}

/* "a row (1st column 17)". */
static const char *name_row(const PGresult *rows, int row, char *buf, size_t size)
{
    const char *value = PQnfields(rows) > 0 ? PQgetvalue(rows, row, 0) : "";
    size_t length = strlen(value), shown = length;

    if (shown > NAME_MAX_BYTES)
        shown = NAME_MAX_BYTES;
    /* No character is cut in half. */
    while (shown > 0 && shown < length && (value[shown] & 0xc0) == 0x80)
        shown--;
    if (PQgetisnull(rows, row, 0))
        snprintf(buf, size, "a row (1st column null)");
    else
        snprintf(buf, size, "a row (1st column %.*s%s)", (int)shown, value,
                 shown < length ? "..." : "");
    return buf;
}

/* Its statements may each be short. */
static int say_late(const struct queue *q, const char *what)
{
    const char *limit = q->session->by_budget ? "worst_case" : "lease";
    char took[WORDS_TIME_SIZE];

    return rota_fail(q->run, ROTA_FAILED,
                     "%s: no end of it in %s, which is what was left of the %s: write a smaller "
                     "batch, or a longer %s",
                     what, words_time(q->session->ran_ms, took),
                     q->session->by_budget ? "worst case" : "lease", limit);
}

int failing_flight(const struct queue *q, enum session_end end)
{
    char done[TALLY_WORDS + 2], what[WHAT_SIZE];

    if (end == SESSION_STOPPED)
        return failing_stop(q);
    snprintf(what, sizeof(what), "%sthe %s batch", before(q, done),
             tally_is_empty(&q->tally) ? "first" : "next");
    if (end == SESSION_LATE && q->session->limit_ms > 0)
        return say_late(q, what);
    return session_fail(q->session, end, what);
}

int failing_statement(const struct queue *q, const char *param)
{
    char done[TALLY_WORDS + 2], words[SESSION_WORDS], what[WHAT_SIZE];

    if (is_of_type(q->session))
        return rota_fail(q->run, ROTA_REFUSED,
                         "%s: %s; $1, $2, ... have the types of select's columns: where another is "
                         "wanted write a cast, as in $1::bigint",
                         param, session_words(q->session, words));
    snprintf(what, sizeof(what), "%s%s", before(q, done), param);
    return session_fail(q->session, SESSION_ERROR, what);
}

int failing_row(const struct queue *q, const PGresult *rows, int row, const char *param)
{
    char done[TALLY_WORDS + 2], name[NAME_MAX_BYTES + 40], words[SESSION_WORDS], what[WHAT_SIZE];

    name_row(rows, row, name, sizeof(name));
    if (!q->on_failure && failing_is_of_row(q->session))
        return rota_fail(q->run, ROTA_FAILED, "%s%s: %s; on_failure can set such rows aside",
                         before(q, done), name, session_words(q->session, words));
    snprintf(what, sizeof(what), "%s%s of %s", before(q, done), param, name);
    return session_fail(q->session, SESSION_ERROR, what);
}

/* A deferred constraint, say. */
int failing_commit(const struct queue *q)
{
    char done[TALLY_WORDS + 2], what[WHAT_SIZE];

    snprintf(what, sizeof(what), "%sthe batch could not be committed", before(q, done));
    return session_fail(q->session, SESSION_ERROR, what);
}

/* The last one's words stand for all. */
int failing_conflict(const struct queue *q, int times)
{
    char done[TALLY_WORDS + 2], what[WHAT_SIZE];

    snprintf(what, sizeof(what), "%sthe %s batch, %d times in a row", before(q, done),
             tally_is_empty(&q->tally) ? "first" : "next", times);
    return session_fail(q->session, SESSION_ERROR, what);
}

int failing_stop(const struct queue *q)
{
    char done[TALLY_WORDS];

    return rota_fail(q->run, ROTA_DECLINED, "stopped; %s", tally_words(&q->tally, done));
}

int failing_repeat(const struct queue *q, const PGresult *rows, int row)
{
    char done[TALLY_WORDS], name[NAME_MAX_BYTES + 40];

    return rota_fail(q->run, ROTA_FAILED,
                     "%s; %s came again as it was before it was handled: let handle take a row out "
                     "of what select selects, and select show what tells rows apart",
                     tally_words(&q->tally, done), name_row(rows, row, name, sizeof(name)));
}

int failing_parameter(const struct queue *q, const char *param, int highest, int count)
{
    bool has_text = strcmp(param, "on_failure") == 0;

    return rota_fail(q->run, ROTA_REFUSED, "%s has $%d, but there are only %d: select's columns%s",
                     param, highest, count, has_text ? ", and the error's text" : "");
}

int failing_memory(const struct queue *q)
{
    char done[TALLY_WORDS + 2];

    return rota_fail(q->run, ROTA_FAILED,
                     "%sthere is no memory for a batch of %d rows; write a smaller batch",
                     before(q, done), q->size);
}
