/* SPDX-License-Identifier: MIT
 * What session.h tells of statements that did not end well. */
#include "session.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

#define QUERY_CANCELED "57014"
#define LOCK_NOT_AVAILABLE "55P03"
#define IDLE_IN_TRANSACTION "25P03"
#define TRANSACTION_TIMEOUT "25P04"
#define OUT_OF_RANGE "22023"
#define IN_TRANSACTION "25001"
#define TERMINATION "2D000"
/* Classes of states: what is wrong is the text of the SQL, or a right. */
#define CLASS_SYNTAX_OR_RIGHT "42"
#define CLASS_NOT_SUPPORTED "0A"

const char *session_state(const struct session *s)
{
    const char *state = s->failed ? PQresultErrorField(s->failed, PG_DIAG_SQLSTATE) : NULL;

    return state ? state : "";
}

static bool is_state(const struct session *s, const char *state)
{
    return strcmp(session_state(s), state) == 0;
}

static bool is_class(const struct session *s, const char *class)
{
    return strncmp(session_state(s), class, strlen(class)) == 0;
}

bool session_is_repeatable(const struct session *s)
{
    return is_state(s, "40001") || is_state(s, "40P01");
}

const char *session_words(const struct session *s, char buf[SESSION_WORDS])
{
    const char *text = PQresultErrorField(s->failed, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = PQresultErrorField(s->failed, PG_DIAG_MESSAGE_DETAIL);
    const char *hint = PQresultErrorField(s->failed, PG_DIAG_MESSAGE_HINT);
    char whole[2 * SESSION_WORDS];

    if (PQresultStatus(s->failed) == PGRES_COMMAND_OK)
        text = "the server has rolled the transaction back instead; it was broken already";
    else if (!text) /* libpq's own */
        text = PQresultErrorMessage(s->failed);
    snprintf(whole, sizeof(whole), "%s%s%s%s%s%s", text, detail ? "; " : "", detail ? detail : "",
             hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
    if (!whole[0])
        snprintf(whole, sizeof(whole), "it is empty, or of a kind that cannot be run here (COPY)");
    return words_flatten(whole, buf, SESSION_WORDS);
}

/* By which time-out the server ended it: its texts are in its own language, and who cancels by hand
 * gives the same state, but earlier. */
bool session_is_ended_by_time(const struct session *s)
{
    if (is_state(s, IDLE_IN_TRANSACTION) || is_state(s, TRANSACTION_TIMEOUT) ||
        (is_state(s, OUT_OF_RANGE) && s->out_of_time))
        return true;
    return (is_state(s, QUERY_CANCELED) || is_state(s, LOCK_NOT_AVAILABLE)) && s->server_ms > 0 &&
           s->ran_ms >= s->server_ms;
}

static int say_ended_by_time(const struct session *s, const char *what)
{
    const char *waited = is_state(s, LOCK_NOT_AVAILABLE) ? " while it waited for a lock" : "";
    const char *limit = s->by_budget ? "worst_case" : "lease";
    char took[WORDS_TIME_SIZE], had[WORDS_TIME_SIZE];

    words_time(s->ran_ms, took);
    words_time(s->server_ms, had);
    if (is_state(s, IDLE_IN_TRANSACTION))
        return rota_fail(s->run, ROTA_FAILED,
                         "%s: the server had ended the transaction already, in which this process "
                         "did nothing for too long; it was rolled back",
                         what);
    if (s->server_ms < s->limit_ms)
        return rota_fail(s->run, ROTA_FAILED,
                         "%s: ended by the server after %s%s, by the limit of %s that is set there "
                         "for this user or database (statement_timeout, transaction_timeout)",
                         what, took, waited, had);
    return rota_fail(s->run, ROTA_FAILED,
                     "%s: ended by the server after %s%s, which is what was left of the %s: give "
                     "the job a longer %s (%s = ...)",
                     what, took, waited, s->by_budget ? "worst case" : "lease", limit, limit);
}

static int say_refused(const struct session *s, const char *what)
{
    bool hopeless = is_class(s, CLASS_SYNTAX_OR_RIGHT) || is_class(s, CLASS_NOT_SUPPORTED) ||
                    is_state(s, IN_TRANSACTION) || is_state(s, TERMINATION);
    char words[SESSION_WORDS];

    return rota_fail(s->run, hopeless ? ROTA_REFUSED : ROTA_FAILED, "%s: %s", what,
                     session_words(s, words));
}

static int say_late(const struct session *s, const char *what)
{
    char took[WORDS_TIME_SIZE];

    if (s->limit_ms == 0)
        return rota_fail(
            s->run, ROTA_FAILED,
            "%s: less than %d ms is left of the lease, in which nothing is begun; give "
            "the job a longer lease (lease = ...) or worst_case",
            what, SESSION_LEAST_MS);
    return rota_fail(s->run, ROTA_FAILED,
                     "%s: the server has not answered for %s, in which it must have ended what ran",
                     what, words_time(s->ran_ms, took));
}

int session_fail(struct session *s, enum session_end end, const char *what)
{
    char words[SESSION_WORDS];

    switch (end) {
    case SESSION_STOPPED:
        return rota_fail(s->run, ROTA_DECLINED, "%s was stopped; nothing was written", what);
    case SESSION_LATE:
        return say_late(s, what);
    case SESSION_ERROR:
        return session_is_ended_by_time(s) ? say_ended_by_time(s, what) : say_refused(s, what);
    case SESSION_LOST:
    case SESSION_DONE:
        break;
    }
    if (s->failed && session_is_ended_by_time(s))
        return say_ended_by_time(s, what);
    if (s->failed)
        session_words(s, words);
    else
        words_flatten(s->lost[0] ? s->lost : "what came was no answer", words, sizeof(words));
    return rota_fail(s->run, ROTA_FAILED, "%s: the connection was lost: %s", what, words);
}
