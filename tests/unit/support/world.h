/* SPDX-License-Identifier: MIT
 * support/world.h: a few devices that share a few jobs, in virtual time: the core as it is, the
 * in-memory store, which answers as Redis does (test_memory_store.py), links that lose and delay
 * what goes over them, guards that end a run as PROTOCOL.md's "Time" says, workers that fail, crash
 * and overrun, devices that die. Each device's boot clock has a rate of its own. All by one seed.
 * Each promise is checked where it can be broken; a breach ends the test. */
#ifndef ROTA_TESTS_WORLD_H
#define ROTA_TESTS_WORLD_H
#include "core/memory.h"
#include "support/fake.h"

#define WORLD_DEVICES 5
#define WORLD_JOBS 3
#define WORLD_PACKETS_MAX 64
/* Starts are counted for so many of a job's newest turns. */
#define WORLD_TURNS_KEPT 32

/* A worker and its guard. Instants are the device's boot clock. */
struct world_run {
    bool active, started, tree_left;
    char token[TOKEN_SIZE];
    struct wall turn;
    enum outcome truth; /* what it really did; vanished: nothing that counts yet */
    bool recorded, given_back;
    struct boot first_instruction, returns, overrun, dies, emptied;
    struct boot deadline; /* D as the guard was told */
    int result;           /* plugin.h's; below 0: it crashes */
    enum run_stop stop;
    enum stop_reason reason;
};

struct world_device {
    struct fake fake;
    char name[8];
    struct job jobs[WORLD_JOBS];
    struct world_run runs[WORLD_JOBS];
    bool up;
    int64_t born_ms;        /* server time of boot 0 */
    int64_t ppm;            /* its clock's rate */
    int64_t next_change_ms; /* up: dies then; down: boots then */
    int64_t link_up_ms;
    uint64_t flight; /* number of the request in flight; 0: none */
    struct boot times_out;
    bool replied;
    int64_t reply_ms; /* when the reply arrives */
    struct store_reply reply;
    char text[MEMORY_VALUE_SIZE];    /* of the reply */
    unsigned starts, extends, stops; /* of the fake's, that were seen */
};

/* A request on its way to the store. */
struct world_packet {
    bool used;
    int64_t arrives_ms, reply_takes_ms;
    bool reply_lost;
    struct world_device *device;
    uint64_t flight;
    unsigned job;
    struct store_request request;
    char token[TOKEN_SIZE];
};

struct world_job {
    struct job_spec spec;
    struct memory_lock lock;
    struct memory_record record;
    int64_t done; /* the newest turn whose work was done, and recorded */
    struct {
        int64_t turn;
        int starts;
    } turns[WORLD_TURNS_KEPT];
};

struct world {
    struct unit_random random;
    int64_t now_ms; /* the server's clock */
    bool quiet;     /* no faults any more */
    struct world_job jobs[WORLD_JOBS];
    struct world_device devices[WORLD_DEVICES];
    struct world_packet packets[WORLD_PACKETS_MAX];
    uint64_t flights;
    struct {
        unsigned starts, successes, crashes, overruns, lost, deaths, unanswered;
    } seen;
};

void world_init(struct world *w, struct unit_random random);
/* Plays until the server's clock has moved by `ms`. */
void world_play(struct world *w, int64_t ms);
void world_done(struct world *w);
#endif
