/* SPDX-License-Identifier: MIT
 * bus.h: what the plugin asks of systemd, over the system bus, about one unit.
 *
 * Signals only wake: what is so is always asked for. That is but for two facts that nothing keeps:
 * how a queue entry ended ("systemd job" here, to tell it from rota's), and that someone else had
 * the unit stopped. Functions return 0 or more, or -errno; `error` has systemd's own words. */
#ifndef UNIT_BUS_H
#define UNIT_BUS_H
#include "name.h"

#include <rota/plugin.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#define BUS_SYSTEMD "org.freedesktop.systemd1"
#define BUS_MANAGER "/org/freedesktop/systemd1"
/* Longest object path of a systemd job, and word of a property, with their ends. */
#define BUS_JOB_SIZE 64
#define BUS_WORD_SIZE 32

struct bus {
    sd_bus *bus;
    const struct rota_run *run;
    const char *unit;            /* its name, as the job has it */
    char id[NAME_MAX_BYTES + 1]; /* as systemd has it: that may be an alias */
    char *path;                  /* its object */
    char job[BUS_JOB_SIZE];      /* the systemd job that was asked for last */
    char ended[BUS_WORD_SIZE];   /* how that ended ("done"); empty: not yet */
    bool running;       /* started by bus_start(), it may run; cleared by who saw its end */
    uint32_t restarts;  /* by systemd itself, of which it was heard */
    bool interfered;    /* another systemd job stopped the unit */
    sd_bus_error error; /* of the last call that was refused */
};

/* Where the unit is now. */
struct bus_state {
    char active[BUS_WORD_SIZE]; /* ActiveState */
    bool queued;                /* a systemd job of it is under way */
};

/* Connects, and finds the unit. run and unit stay the caller's. b->bus stays NULL where the bus
 * itself cannot be reached. */
int bus_open(struct bus *b, const struct rota_run *run, const char *unit);
/* Accepts what bus_open() left half-built. */
void bus_close(struct bus *b);

/* Keeps what is known of the unit until bus_close(): systemd forgets one that has ended, with its
 * result. Asks for the same rights as the start. */
int bus_keep(struct bus *b);
/* Calls that give a systemd job; b->job and b->ended are about it from then on. */
int bus_start(struct bus *b);
int bus_stop(struct bus *b);
/* SIGKILL to all of the unit's processes. */
int bus_kill(struct bus *b);
/* Sends a message whose reply is a systemd job's path. */
int bus_ask_job(struct bus *b, sd_bus_message *message);

int bus_look(struct bus *b, struct bus_state *ret_state);
bool bus_is_down(const struct bus_state *s);
/* A word of the unit ("LoadState"), of its service part ("Type") where service is true. */
int bus_word(struct bus *b, bool service, const char *name, char ret_word[BUS_WORD_SIZE]);
/* Others, by their D-Bus type: 'b' and 'i' to an int, 'u' and 't' to a uint32_t and uint64_t. */
int bus_value(struct bus *b, bool service, const char *name, char type, void *ret_value);

/* Takes all that systemd said before its last answer. */
int bus_catch_up(struct bus *b);
/* Takes one message if there is one; else waits for one, for the run's stop where hear_stop is
 * true, or for limit_ms (below 0: 10 s). Who waits looks again after it. */
int bus_wait(struct bus *b, bool hear_stop, int limit_ms);
#endif
