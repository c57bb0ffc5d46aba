/* SPDX-License-Identifier: MIT
 * session.h: for the plugins that work in PostgreSQL: one connection, and transactions that the
 * server itself ends before the run's lease can have ended, whatever becomes of this process.
 *
 * Statements go in flights: all of one are sent at once (libpq's pipeline mode), and it takes one
 * round trip. After the first statement that fails the server skips the rest of its flight, COMMIT
 * too. Nothing here blocks but libpq's looking up of the server's name, and its cancel request. */
#ifndef SESSION_H
#define SESSION_H
#include <rota/plugin.h>

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

/* The rows that both plugins have, for their tables. */
/* clang-format off */
#define SESSION_PARAMS                                                                  \
    { .name = "connection",                                                             \
      .type = ROTA_STRING,                                                              \
      .help = "The server and database, a connection string or URI of libpq's, "        \
              "without a password." },                                                  \
    { .name = "service",                                                                \
      .type = ROTA_STRING,                                                              \
      .help = "Instead of connection: a name in pg_service.conf." },                    \
    { .name = "password_file",                                                          \
      .type = ROTA_STRING,                                                              \
      .help = "A file whose first line is the password, or \"credential:NAME\"." },   \
    { .name = "connect_timeout",                                                        \
      .type = ROTA_DURATION,                                                            \
      .def = "10s",                                                                     \
      .min = "100ms",                                                                   \
      .max = "10m",                                                                     \
      .help = "For connection, TLS and login together." }
/* clang-format on */

/* Below this much time no statement is sent. */
#define SESSION_LEAST_MS 100
/* Of a message in one line. */
#define SESSION_WORDS 800

struct session {
    const struct rota_run *run;
    PGconn *conn;
    /* true: the run's stop does not end a wait, so that what was begun is finished; the time-outs
     * do. COMMIT is waited for in any case. */
    bool through_stop;
    bool in_transaction;
    bool committing;  /* COMMIT was sent, and its answer has not come */
    PGresult *failed; /* of SESSION_ERROR: the server's answer, until the next flight */
    size_t failed_at; /* which of the flight's statements; count: COMMIT; SIZE_MAX: none of them */
    bool out_of_time; /* it was between two statements that nothing was left */
    /* Of the last flight; the clock is the one that goes on in a suspend. */
    int64_t sent_ms;
    int64_t ran_ms;
    int64_t limit_ms;   /* by what was left of the lease */
    int64_t server_ms;  /* the server's limit: that, or less where the operator has set less */
    int64_t give_up_ms; /* when the server must have ended what runs: it is not waited for longer */
    bool by_budget;     /* the worst case was nearer than the lease's end */
    int notices;        /* logged so far */
    char lost[SESSION_WORDS]; /* of SESSION_LOST: libpq's words */
};

enum session_kind {
    SESSION_RUN,     /* sql, with values as $1 ... as text; NULL: null */
    SESSION_PREPARE, /* sql, under name */
    SESSION_EXECUTE, /* what was prepared under name, with values */
};

struct session_statement {
    enum session_kind kind;
    const char *name;
    const char *sql;
    int values_count;
    const char *const *values;
    const Oid *types; /* of RUN's and PREPARE's values, values_count of them; NULL: inferred */
};

enum session_end {
    SESSION_DONE,    /* all of it */
    SESSION_ERROR,   /* the server refused a statement: session.failed; the transaction is broken */
    SESSION_STOPPED, /* the run is to stop: what ran was cancelled, and the connection is closed */
    SESSION_LATE,    /* too little of the lease is left, or no answer came in it: closed */
    SESSION_LOST,    /* the connection is gone */
};

/* SESSION_RETURN: after SESSION_ERROR in a transaction that goes on: before all else, the time-outs
 * too, comes a ROLLBACK TO SAVEPOINT of SESSION_SAVEPOINT, which the caller has set. */
enum { SESSION_BEGIN = 1, SESSION_COMMIT = 2, SESSION_RETURN = 4 };
#define SESSION_SAVEPOINT "rota_row"

/* For check(): ROTA_SUCCEEDED; or ROTA_REFUSED, and why is told. Connects nowhere. */
int session_check(const struct rota_run *r);

/* Connects and logs in. ROTA_SUCCEEDED; or another result, and why is told. session_close() is due
 * in any case. */
int session_open(struct session *s, const struct rota_run *r);
void session_close(struct session *s);

/* On the clock that goes on in a suspend. */
int64_t session_now_ms(void);

/* What the server may take from now on: what is left of the lease, less a margin in which its end
 * is heard of; 0 where that is too little for any statement. */
int64_t session_left_ms(const struct session *s);

/* Sends the statements, with SESSION_BEGIN after a BEGIN, with SESSION_COMMIT before a COMMIT, in
 * any case behind time-outs by what is left of the lease now; the server looks at its clock again
 * between many, so that together they take no longer. ret_results has room for count; on
 * SESSION_DONE the caller frees each by PQclear(), else there are none. NULL: not wanted. */
enum session_end session_flight(struct session *s, unsigned flags,
                                const struct session_statement *statements, size_t count,
                                PGresult **ret_results);

/* Ends the transaction. false: the connection is gone, or was closed: that ends it too. */
bool session_rollback(struct session *s);

/* After SESSION_ERROR: the five letters of its kind, never NULL. */
const char *session_state(const struct session *s);
/* It may go well if the transaction is repeated at once: a deadlock, a serialization failure. */
bool session_is_repeatable(const struct session *s);
/* After SESSION_ERROR or SESSION_LOST: a time-out of the server's was it, and the transaction was
 * rolled back, also where COMMIT was under way. */
bool session_is_ended_by_time(const struct session *s);
/* After SESSION_ERROR: message, detail and hint in one line. */
const char *session_words(const struct session *s, char buf[SESSION_WORDS]);
/* Tells why a flight did not end well, after `what` ("the batch"), and returns the run's result. */
int session_fail(struct session *s, enum session_end end, const char *what);
#endif
