/* SPDX-License-Identifier: MIT */
#include "session.h"
#include "place.h"
#include "words.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS_PER_S 1000
#define NS_PER_MS 1000000
/* Between the server's end of a statement and the stop of the run: the end has to be heard of. */
#define MARGIN_MS 250
#define MARGIN_SHARE 50
/* The server's time-outs are 32-bit numbers, of which transaction_timeout gets a little more. */
#define LIMIT_MAX_MS (INT32_MAX - MS_PER_S)
#define ROLLBACK_MS 2000
#define NOTICES_MAX 100
/* How libpq begins to say that it knows no such service; in English, as no locale is set here. */
#define NO_SERVICE "definition of service "

/* Each operator has the very types of one of pg_catalog's: else whoever may create one in a schema
 * of the search path could put a nearer one there, which would run with this user's rights.
 *
 * Sets the time-outs to $1 ms; or, where that is null, to what is left of it since. In one row
 * each, as far as the server has the setting: its name, and the limit that it has now. What the
 * operator has set lower for this user or database stays. A limit that is over is an error (-1). To
 * 0 first: a transaction_timeout counts from when it is set, but not while another one runs. A
 * server on a system that cannot see its client's end refuses the check of it. While a server waits
 * for the rest of a flight, of which the network has brought the beginning alone, none of its
 * time-outs before transaction_timeout counts: TCP's keepalives, in seconds, end that; Linux takes
 * no more than 32767. */
#define TIMES_SQL                                                                                  \
    "WITH now AS MATERIALIZED (SELECT extract(epoch FROM clock_timestamp())::numeric * 1000.0 "    \
    "AS ms), "                                                                                     \
    "ends AS MATERIALIZED (SELECT CASE WHEN $1::bigint IS NULL THEN "                              \
    "current_setting('rota.ends')::numeric "                                                       \
    "ELSE set_config('rota.ends', (ms + $1::numeric)::text, true)::numeric END - ms AS ms "        \
    "FROM now), "                                                                                  \
    "left_over AS MATERIALIZED (SELECT CASE WHEN ms < 1.0 THEN -1 ELSE ms END::bigint AS ms "      \
    "FROM ends), "                                                                                 \
    "limits AS MATERIALIZED (SELECT name, least(CASE name "                                        \
    "WHEN 'client_connection_check_interval' THEN 1000 "                                           \
    "WHEN 'transaction_timeout' THEN ms + 100 WHEN 'tcp_keepalives_count' THEN 3 "                 \
    "WHEN 'tcp_keepalives_idle' THEN least(greatest(ms / 5000, 1), 32767) "                        \
    "WHEN 'tcp_keepalives_interval' THEN least(greatest(ms / 5000, 1), 32767) "                    \
    "ELSE ms END, nullif(reset_val::bigint, 0)) AS ms "                                            \
    "FROM left_over, pg_catalog.pg_settings WHERE name IN ('statement_timeout', "                  \
    "'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout', "               \
    "'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count') OR "                \
    "(name = 'client_connection_check_interval' AND version() LIKE '%linux%')) "                   \
    "SELECT name, ms, set_config(name, '0', true), set_config(name, ms::text, true) FROM limits"
/* So many statements, each of which may take all that is left, may pass until the next look. */
#define AGAIN_EVERY 16

int64_t session_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

static int64_t lease_left_ms(const struct session *s)
{
    return s->run->lease_left_ms(s->run);
}

int64_t session_left_ms(const struct session *s)
{
    int64_t left = lease_left_ms(s), margin = left / MARGIN_SHARE;

    left -= margin > MARGIN_MS ? margin : MARGIN_MS;
    if (left < SESSION_LEAST_MS)
        return 0;
    return left < LIMIT_MAX_MS ? left : LIMIT_MAX_MS;
}

/* Until the socket is ready, or `until_ms`. */
static enum session_end wait_for(struct session *s, short events, int64_t until_ms, bool heed_stop)
{
    struct pollfd fds[] = { { .fd = PQsocket(s->conn), .events = events },
                            { .fd = s->run->stop_fd, .events = POLLIN } };

    for (;;) {
        int64_t left = until_ms - session_now_ms();
        int n;

        if (heed_stop && rota_should_stop(s->run))
            return SESSION_STOPPED;
        if (left <= 0)
            return SESSION_LATE;
        n = poll(fds, heed_stop ? 2 : 1, left < INT32_MAX ? (int)left : INT32_MAX);
        if (n < 0 && errno != EINTR)
            return SESSION_LOST;
        if (n > 0 && heed_stop && fds[1].revents)
            return SESSION_STOPPED;
        if (n > 0 && fds[0].revents)
            return SESSION_DONE;
    }
}

/* What the server says besides goes to the run's log. */
static void notice(void *context, const PGresult *result)
{
    struct session *s = context;
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    char line[SESSION_WORDS];

    if (!text || s->notices++ > NOTICES_MAX)
        return;
    if (s->notices > NOTICES_MAX)
        rota_log(s->run, ROTA_NOTICE, "further notices of the server are left out");
    else
        rota_log(s->run, severity && strcmp(severity, "WARNING") == 0 ? ROTA_WARNING : ROTA_INFO,
                 "%s", words_flatten(text, line, sizeof(line)));
}

/* What libpq says, and what it cannot know: where rota has the service's file and the password
 * from. */
static int say_unconnected(const struct session *s)
{
    char line[SESSION_WORDS];
    const char *more = "";

    words_flatten(PQerrorMessage(s->conn), line, sizeof(line));
    if (PQconnectionNeedsPassword(s->conn))
        more = "; password_file names the file that has it";
    else if (strncmp(line, NO_SERVICE, strlen(NO_SERVICE)) == 0)
        more = "; services are in .pg_service.conf of the job's user's home, in the system's "
               "pg_service.conf, or in the file that the job names: "
               "environment = [ \"PGSERVICEFILE=/PATH\" ]";
    return rota_fail(s->run, ROTA_FAILED, "cannot connect: %s%s", line, more);
}

static int log_in(struct session *s, int64_t until_ms)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    char took[WORDS_TIME_SIZE];
    int64_t from_ms = session_now_ms();

    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        enum session_end end =
            wait_for(s, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_ms, true);

        if (end == SESSION_STOPPED)
            return session_fail(s, end, "connecting");
        if (end == SESSION_LATE)
            return rota_fail(s->run, ROTA_FAILED, "cannot connect: no login within %s",
                             words_time(session_now_ms() - from_ms, took));
        status = PQconnectPoll(s->conn);
    }
    if (status == PGRES_POLLING_OK && PQsetnonblocking(s->conn, 1) == 0)
        return ROTA_SUCCEEDED;
    return say_unconnected(s);
}

static int connect_to(struct session *s, struct place *p)
{
    int64_t connect_ms = rota_duration_ms(s->run, "connect_timeout"), left_ms = session_left_ms(s);
    int result;

    if (left_ms == 0)
        return session_fail(s, SESSION_LATE, "connecting");
    if (connect_ms > left_ms)
        connect_ms = left_ms;
    place_options(p, connect_ms, left_ms);
    s->conn = PQconnectStartParams(p->names, p->values, 1);
    if (!s->conn)
        return rota_fail(s->run, ROTA_FAILED, "no memory");
    PQsetNoticeReceiver(s->conn, notice, s);
    if (PQstatus(s->conn) == CONNECTION_BAD)
        return say_unconnected(s);
    result = log_in(s, session_now_ms() + connect_ms);
    if (result == ROTA_SUCCEEDED)
        place_connected(p, PQsocket(s->conn));
    return result;
}

int session_check(const struct rota_run *r)
{
    struct place p;
    int result = place_init(&p, r, false);

    place_done(&p);
    return result;
}

int session_open(struct session *s, const struct rota_run *r)
{
    struct place p;
    int result;

    *s = (struct session){ .run = r };
    result = place_init(&p, r, true);
    if (result == ROTA_SUCCEEDED)
        result = connect_to(s, &p);
    place_done(&p);
    return result;
}

static void forget_failed(struct session *s)
{
    PQclear(s->failed);
    s->failed = NULL;
}

static void disconnect(struct session *s)
{
    PQfinish(s->conn);
    s->conn = NULL;
    s->in_transaction = false;
}

void session_close(struct session *s)
{
    forget_failed(s);
    disconnect(s);
}

/* The server would go on with what nobody waits for. */
static void cancel(struct session *s)
{
    PGcancel *c = PQgetCancel(s->conn);
    char why[256];

    if (c)
        PQcancel(c, why, sizeof(why));
    PQfreeCancel(c);
}

/* What a flight is made of, in its order. */
struct step {
    enum {
        STEP_BEGIN,
        STEP_RETURN,
        STEP_TIMES,
        STEP_STATEMENT,
        STEP_AGAIN,
        STEP_COMMIT,
        STEP_END
    } what;
    size_t at; /* of the statements: the next one, or this one */
};

static struct step first_step(unsigned flags)
{
    if (flags & SESSION_RETURN)
        return (struct step){ .what = STEP_RETURN };
    return (struct step){ .what = flags & SESSION_BEGIN ? STEP_BEGIN : STEP_TIMES };
}

static struct step next_step(struct step last, unsigned flags, size_t count)
{
    struct step next = { .at = last.at + (last.what == STEP_STATEMENT) };

    if (last.what == STEP_BEGIN || last.what == STEP_RETURN)
        next.what = STEP_TIMES;
    else if (last.what == STEP_COMMIT)
        next.what = STEP_END;
    else if (last.what == STEP_STATEMENT && (next.at == count || next.at % AGAIN_EVERY == 0))
        next.what = STEP_AGAIN;
    else if (next.at < count)
        next.what = STEP_STATEMENT;
    else
        next.what = flags & SESSION_COMMIT ? STEP_COMMIT : STEP_END;
    return next;
}

static bool send_one(struct session *s, const struct session_statement *t)
{
    switch (t->kind) {
    case SESSION_PREPARE:
        return PQsendPrepare(s->conn, t->name, t->sql, t->types ? t->values_count : 0, t->types);
    case SESSION_EXECUTE:
        return PQsendQueryPrepared(s->conn, t->name, t->values_count, t->values, NULL, NULL, 0);
    case SESSION_RUN:
        break;
    }
    return PQsendQueryParams(s->conn, t->sql, t->values_count, t->types, t->values, NULL, NULL, 0);
}

static bool send_step(struct session *s, struct step step,
                      const struct session_statement *statements)
{
    char limit[24];
    const char *value = step.what == STEP_TIMES ? limit : NULL;
    struct session_statement t = { .sql = TIMES_SQL, .values_count = 1, .values = &value };

    if (step.what == STEP_STATEMENT)
        t = statements[step.at];
    else if (step.what == STEP_BEGIN)
        t = (struct session_statement){ .sql = "BEGIN ISOLATION LEVEL READ COMMITTED" };
    else if (step.what == STEP_RETURN)
        t = (struct session_statement){ .sql = "ROLLBACK TO SAVEPOINT " SESSION_SAVEPOINT };
    else if (step.what == STEP_COMMIT)
        t = (struct session_statement){ .sql = "COMMIT" };
    snprintf(limit, sizeof(limit), "%lld", (long long)s->limit_ms);
    return send_one(s, &t);
}

static bool send_all(struct session *s, unsigned flags, const struct session_statement *statements,
                     size_t count)
{
    if (!PQenterPipelineMode(s->conn))
        return false;
    for (struct step step = first_step(flags); step.what != STEP_END;
         step = next_step(step, flags, count))
        if (!send_step(s, step, statements))
            return false;
    return PQpipelineSync(s->conn);
}

/* The next result of the pipeline, or NULL at the end of a statement. */
static enum session_end receive(struct session *s, PGresult **ret_result)
{
    bool heed_stop = !s->through_stop && !s->committing;

    for (;;) {
        int unsent = PQflush(s->conn);
        enum session_end end;

        if (!PQisBusy(s->conn)) {
            *ret_result = PQgetResult(s->conn);
            return SESSION_DONE;
        }
        end = wait_for(s, (short)(POLLIN | (unsent > 0 ? POLLOUT : 0)), s->give_up_ms, heed_stop);
        if (end != SESSION_DONE)
            return end;
        if (!PQconsumeInput(s->conn)) {
            /* It tells of that, and waits for nothing. */
            *ret_result = PQgetResult(s->conn);
            return SESSION_DONE;
        }
    }
}

static bool is_good(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Into *ret_result, NULL where the server skipped it; the first failure is kept. */
static enum session_end receive_one(struct session *s, PGresult **ret_result)
{
    PGresult *result, *end_of_it = NULL;
    enum session_end end = receive(s, &result);

    if (end != SESSION_DONE)
        return end;
    if (!result)
        return SESSION_LOST;
    *ret_result = is_good(result) ? result : NULL;
    if (!*ret_result && PQresultStatus(result) != PGRES_PIPELINE_ABORTED && !s->failed)
        s->failed = result;
    else if (!*ret_result)
        PQclear(result);
    /* After COPY libpq would wait for data. */
    if (s->failed && PQresultStatus(s->failed) != PGRES_FATAL_ERROR)
        return SESSION_ERROR;
    end = receive(s, &end_of_it);
    PQclear(end_of_it);
    return end != SESSION_DONE ? end : PQstatus(s->conn) == CONNECTION_BAD ? SESSION_LOST : end;
}

/* The limit that counts may be the operator's own. */
static void read_times(struct session *s, PGresult *times)
{
    for (int i = 0; PQnfields(times) >= 2 && i < PQntuples(times); i++) {
        const char *name = PQgetvalue(times, i, 0);
        long long ms = strtoll(PQgetvalue(times, i, 1), NULL, 10);

        if ((strcmp(name, "statement_timeout") == 0 || strcmp(name, "transaction_timeout") == 0) &&
            ms < s->server_ms)
            s->server_ms = ms;
    }
}

/* A transaction that was broken ends by it, too, and that is no error. */
static bool is_rolled_back(PGresult *commit)
{
    return commit && strcmp(PQcmdStatus(commit), "COMMIT") != 0;
}

static void place_failure(struct session *s, struct step step, size_t count)
{
    s->failed_at = SIZE_MAX;
    if (step.what == STEP_STATEMENT)
        s->failed_at = step.at;
    else if (step.what == STEP_COMMIT)
        s->failed_at = count;
    s->out_of_time = step.what == STEP_AGAIN;
}

static enum session_end receive_all(struct session *s, unsigned flags, size_t count,
                                    PGresult **results)
{
    for (struct step step = first_step(flags); step.what != STEP_END;
         step = next_step(step, flags, count)) {
        bool had_failed = s->failed;
        PGresult *result = NULL;
        enum session_end end = receive_one(s, &result);

        if (step.what == STEP_COMMIT && is_rolled_back(result)) {
            s->failed = result;
            result = NULL;
        }
        if (s->failed && !had_failed)
            place_failure(s, step, count);
        if (result && step.what == STEP_TIMES)
            read_times(s, result);
        if (result && results && step.what == STEP_STATEMENT)
            results[step.at] = result;
        else
            PQclear(result);
        if (end != SESSION_DONE)
            return end;
    }
    return SESSION_DONE;
}

/* The pipeline's own end: the server is in step again. */
static enum session_end receive_sync(struct session *s)
{
    PGresult *sync = NULL;
    enum session_end end = receive(s, &sync);
    bool is_sync = PQresultStatus(sync) == PGRES_PIPELINE_SYNC;

    PQclear(sync);
    if (end != SESSION_DONE)
        return end;
    return is_sync && PQexitPipelineMode(s->conn) ? SESSION_DONE : SESSION_LOST;
}

static enum session_end fly(struct session *s, unsigned flags,
                            const struct session_statement *statements, size_t count,
                            PGresult **results)
{
    enum session_end end;

    if (!send_all(s, flags, statements, count))
        return SESSION_LOST;
    s->in_transaction = true;
    s->committing = flags & SESSION_COMMIT;
    end = receive_all(s, flags, count, results);
    if (end == SESSION_DONE)
        end = receive_sync(s);
    if (end != SESSION_DONE)
        return end;
    s->committing = false;
    if (s->failed)
        return SESSION_ERROR;
    s->in_transaction = !(flags & SESSION_COMMIT);
    return SESSION_DONE;
}

enum session_end session_flight(struct session *s, unsigned flags,
                                const struct session_statement *statements, size_t count,
                                PGresult **ret_results)
{
    enum session_end end = SESSION_LOST;
    int64_t left = session_left_ms(s), lease_left = lease_left_ms(s);
    bool in_step;

    forget_failed(s);
    for (size_t i = 0; ret_results && i < count; i++)
        ret_results[i] = NULL;
    s->sent_ms = session_now_ms();
    s->limit_ms = s->server_ms = left;
    s->give_up_ms = s->sent_ms + lease_left;
    s->by_budget = s->run->budget_left_ms(s->run) <= lease_left;
    if (left == 0)
        end = SESSION_LATE;
    else if (!s->through_stop && rota_should_stop(s->run))
        end = SESSION_STOPPED;
    else if (s->conn)
        end = fly(s, flags, statements, count, ret_results);
    s->ran_ms = session_now_ms() - s->sent_ms;
    in_step = s->conn && PQpipelineStatus(s->conn) == PQ_PIPELINE_OFF;
    for (size_t i = 0; end != SESSION_DONE && ret_results && i < count; i++) {
        PQclear(ret_results[i]);
        ret_results[i] = NULL;
    }
    if (s->conn && end == SESSION_STOPPED && !in_step)
        cancel(s);
    if (end == SESSION_LOST && s->conn)
        words_flatten(PQerrorMessage(s->conn), s->lost, sizeof(s->lost));
    if (end != SESSION_DONE && !(end == SESSION_ERROR && in_step))
        disconnect(s);
    return end;
}

bool session_rollback(struct session *s)
{
    bool good = false, through_stop = s->through_stop;
    PGresult *result = NULL;

    /* A COMMIT that failed has ended it already. */
    if (!s->conn || !s->in_transaction || PQtransactionStatus(s->conn) == PQTRANS_IDLE)
        return s->conn != NULL;
    s->through_stop = true;
    s->give_up_ms = session_now_ms() + ROLLBACK_MS;
    if (PQsendQuery(s->conn, "ROLLBACK") && receive(s, &result) == SESSION_DONE) {
        PGresult *end_of_it = NULL;

        good = PQresultStatus(result) == PGRES_COMMAND_OK &&
               receive(s, &end_of_it) == SESSION_DONE && !end_of_it;
        PQclear(end_of_it);
    }
    PQclear(result);
    s->through_stop = through_stop;
    s->in_transaction = false;
    if (!good) {
        forget_failed(s);
        words_flatten(PQerrorMessage(s->conn), s->lost, sizeof(s->lost));
        disconnect(s);
    }
    return good;
}
