/* SPDX-License-Identifier: MIT
 * support/bench.h: one job on one fake device, moved through virtual time by the test. The server's
 * clock is `server_ahead_ms` ahead of the boot clock; a job's turns are every BENCH_PERIOD_MS. */
#ifndef ROTA_TESTS_BENCH_H
#define ROTA_TESTS_BENCH_H
#include "support/fake.h"

#define BENCH_PERIOD_MS 60000
/* Where the test begins: server's time, half a period after a turn. */
#define BENCH_BEGIN_MS (INT64_C(1700000000) / 60 * 60000 + 30000)

struct bench {
    struct fake fake;
    struct job_spec spec;
    struct job job;
    struct job_alone alone;
    struct boot now;
    int64_t server_ahead_ms;
};

/* A job whose lease is its whole budget: L = B = 19.25 s, M 250 ms, G 5 s, C 3 s, never renewed. */
struct job_spec bench_short_spec(void);
/* A job that is renewed: W 10 min, L 60 s, M 600 ms, B 609.6 s, every 20 s. */
struct job_spec bench_renewed_spec(void);

/* The job has begun, and the fleet's clock is known: it waits for its next turn, or is about to ask
 * for the latest one where `settled` is false. */
void bench_begin(struct bench *b, const struct job_spec *spec, bool settled);
/* Nothing illegal has happened, the job moves, and nothing is left behind. */
void bench_done(struct bench *b);

struct wall bench_server(const struct bench *b);
/* The newest turn that is due by the server's clock. */
struct wall bench_turn(const struct bench *b);
/* Lets time pass, with every tick that the job armed, at its instant. */
void bench_pass(struct bench *b, int64_t ms);
/* To the instant at which the job is armed. */
void bench_to_tick(struct bench *b);
/* To the next turn's instant, when the job's question is queued. */
void bench_to_question(struct bench *b);
/* Sends the next request: it has to be of `verb`. */
void bench_send(struct bench *b, enum store_verb verb);
/* Both: the job asks for its next turn. */
void bench_ask(struct bench *b);
/* Nothing waits to be sent. */
void bench_silent(struct bench *b);

/* Replies to what was sent, at b->now. */
void bench_grant(struct bench *b, uint32_t attempt);
void bench_held(struct bench *b, int64_t left_ms, const char *holder, uint32_t watch);
void bench_refuse(struct bench *b, enum acquire_answer answer, int64_t left_ms, const char *why);
void bench_renewed(struct bench *b, enum renew_answer answer);
void bench_recorded(struct bench *b, bool gave_up);
void bench_no_answer(struct bench *b);
void bench_error(struct bench *b);

/* Asks for the next turn, is granted it (10 ms on the way), and its worker starts. */
void bench_run(struct bench *b);
/* The worker returns `result` (plugin.h's number). */
void bench_return(struct bench *b, int result);
/* It ends otherwise. */
void bench_end(struct bench *b, enum run_exit how, enum run_stop stop, bool clean);
#endif
