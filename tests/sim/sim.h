/* SPDX-License-Identifier: MIT
 * sim/sim.h: a whole fleet in one process and in virtual time: the core as rotad runs it, the
 * in-memory store, links, processes and clocks that go wrong as the plan says, and the promises of
 * DESIGN section 2, checked at every event.
 *
 * How it is built, in the order in which a play goes through it:
 *   options.c main.c    the command line: seeds, the search for what a failure does not take
 *   plan.c              by a seed: devices, jobs, and which mishaps there are how often
 *   sim.c queue.c       the play: one queue of events, each at an instant of true time
 *   mishap.c person.c   what goes wrong, each kind by a chance of its own; who pauses and resumes
 *   device.c port.c     a device: power, clock, supervisor, and the core with its port
 *   run.c local.c       its guards and workers; its own store, for turns without the shared one
 *   net.c               its links, one to each server: each request is a flight there and back, or
 *                       is lost
 *   round.c             with a quorum of servers: each request as one to all of them
 *   server.c copy.c     the masters and the replica, which answer by core/memory*.c
 *   check*.c check.h    the promises (check_quorum.c: those of a quorum); check_served() is called
 * at each answer of the store, check_living() at each instant, check_device() after each move of a
 *                       device, check_watch() at intervals
 *   trace.c tally.h     what is said of a play
 *   reconnect.c table.c plays of their own: a large fleet's return, and what a turn costs
 *   mutants.py          puts the defects of mutants.txt in: each has to be found
 *
 * A promise is a check that calls check_breach(); what no device could keep is excused where it
 * happens, and counted. All chance comes from the seed, each kind of mishap and each device by a
 * stream of its own (chance.h): what is left out does not move the rest.
 *
 * True time (`now_ms`) is nobody's clock: the server's is off from it by a step and a rate, and
 * each device's boot clock has a beginning and a rate of its own. */
#ifndef ROTA_SIM_SIM_H
#define ROTA_SIM_SIM_H
#include "chance.h"
#include "check.h"
#include "core/fleet.h"
#include "core/job.h"
#include "core/memory_fleet.h"
#include "core/memory_seats.h"
#include "core/quorum.h"
#include "core/report.h"
#include "plan.h"
#include "queue.h"
#include "tally.h"
#include <sys/queue.h>

#define SIM_BEGIN_MS (INT64_C(1700000000) * 1000)
#define SIM_BREACH_SIZE 400
/* Keys of all jobs of a device, a blank after each. */
#define SIM_KEYS_SIZE (PLAN_JOBS_MAX * 16)

/* Of a configuration's text. */
#define SIM_CONFIG_SIZE 512

struct local;
struct rounds;

/* --- the store --- */

struct store_job {
    struct memory_lock lock;
    struct memory_pause pause;
    struct memory_claim record;
    struct memory_seats seats;
    struct ledger ledger;
    struct ledger *own; /* device scope: of each device by its number; NULL: none */
};

struct store_copy {
    struct store_job jobs[PLAN_RECORDS_MAX];
};

/* What a request is about, as it was before it, or after it. In device scope `record` and `lock`
 * are the device's: what its newest attempt is, and that attempt's seat. */
struct shot {
    struct memory_claim record;
    struct memory_lock lock;
    unsigned taken; /* seats */
    bool paused;
    bool expired; /* the claim is gone, or goes when it is looked at */
};

struct server {
    struct store_copy copy;
    struct memory_fleet fleet;     /* of two masters that of the first */
    bool loaded[STORE_VERB_COUNT]; /* scripts */
    uint64_t epoch;                /* grows with each restart: its connections are gone */
    int64_t down_until, stalled_until, refusing_until, errors_until;
    enum fault error;
    /* Of a quorum's: its clock, against true time; when it was last out of order, and when it lost
     * data or leases; and what is counted by its own grants. */
    int64_t skew_ms, ppm;
    int64_t calm_ms, lost_ms;
    struct job_check checks[PLAN_RECORDS_MAX];
};

/* --- a device --- */

enum link_state { LINK_NONE, LINK_CONNECTING, LINK_WAITING, LINK_UP };

/* A request that was sent. */
struct flight {
    struct event arrival;
    TAILQ_ENTRY(flight) entry; /* while the device waits for its reply */
    struct device *device;
    struct link *link;
    struct store_call *call; /* NULL: cancelled */
    struct store_request request;
    char token[TOKEN_SIZE];
    struct boot sent, deadline;
    uint64_t epoch; /* the server's, when it was sent */
    unsigned server;
    struct flight *next_spare;
    bool local;      /* it was never sent: the device's own store answers */
    bool waited_for; /* by the device */
    bool travels;    /* to the server */
    bool replied;
    int64_t reply_ms;
    int64_t lease_until_ms; /* granted, renewed: by the server's clock */
    struct store_reply reply;
    char keys[SIM_KEYS_SIZE];         /* of the request: hello's */
    char texts[4][MEMORY_VALUE_SIZE]; /* of the reply */
    struct wall done[PLAN_JOBS_MAX];  /* the same: hello's */
    char others[STORE_HELLO_OTHERS_MAX][FINGERPRINT_SIZE];
    char digest[FINGERPRINT_SIZE];
    char config[SIM_CONFIG_SIZE]; /* of the request, or of the reply */
};

struct link {
    struct device *device;
    unsigned home; /* its server */
    enum link_state state;
    bool wanted;     /* a connection, though nothing is queued */
    int64_t calm_ms; /* nothing has gone wrong with it since */
    int64_t at_ms;   /* CONNECTING, WAITING: what is next then */
    struct backoff backoff;
    bool hurried;              /* the first window was left out already */
    bool deaf_out, deaf_in;    /* what is sent, or comes, on this connection is lost */
    uint64_t epoch;            /* the server's, when it was made */
    int64_t last_out, last_in; /* arrivals are in order */
    int64_t dead_until;
    struct store_call *queued, **queued_end;
    TAILQ_HEAD(flights, flight) flights;
    unsigned flight_count;
};

/* A worker with its guard. Instants are the device's boot clock. */
struct run {
    LIST_ENTRY(run) entry;  /* of its device */
    LIST_ENTRY(run) living; /* of all, while its tree is alive */
    struct device *device;
    struct job *job; /* NULL: its supervisor is gone */
    const struct job_spec *spec;
    unsigned index, record; /* of the job, and of its record in the store */
    unsigned server;        /* that granted it */
    char token[TOKEN_SIZE];
    struct wall turn;
    uint32_t attempt;
    uint64_t fence;
    int64_t granted_ms;     /* true time */
    int64_t asked_ms;       /* the same: the question that was granted was sent */
    int64_t lease_until_ms; /* by the server's clock, as confirmed there */
    struct boot first_instruction, returns, overrun, dies, emptied, deadline;
    bool local;   /* granted by the device's own store */
    bool by_hand; /* of no turn of the schedule */
    bool again;   /* it was asked for before by the same token */
    bool alive, started, left, excused;
    bool reboots; /* its device, and does not return */
    bool ended;   /* `end` waits for the supervisor */
    int result;   /* plugin.h's; below 0: it crashes */
    enum run_stop stop;
    enum stop_reason reason;
    bool ordered; /* the guard has not read the order yet */
    struct run_end end;
};

enum supervisor_state { SUPERVISOR_DOWN, SUPERVISOR_UP, SUPERVISOR_STOPPED };

struct device {
    struct event wake;
    struct sim *sim;
    struct chance chance;
    char name[16], machine[32], boot[16];
    unsigned number, config;
    bool powered, frozen;
    bool wall_set; /* its own clock can be believed, and is so far off */
    int64_t wall_error_ms;
    bool reboots;          /* as soon as its processes have moved */
    int64_t born_ms, ppm;  /* boot clock */
    unsigned life;         /* counts its supervisors */
    bool saw_step;         /* its clock was known when the server's was set last */
    int64_t heard_ms;      /* it heard the server's time last */
    int64_t asked_ms;      /* for an open turn, by an operator */
    int64_t stepped_by_ms; /* by so much the server's clock was set since */
    /* QUEUE_NEVER: nothing is to come */
    int64_t power_at, thaw_at, supervisor_at, guards_at, leave_by;
    bool guards_stopped;
    enum supervisor_state supervisor;
    bool leaving;    /* asked to stop */
    int64_t calm_ms; /* nothing of its own has gone wrong since */
    int64_t window_ms;
    unsigned window_steps;
    struct core_port port;
    struct fleet fleet;
    struct job *jobs;         /* of the plan's; NULL: no supervisor */
    struct job_check *checks; /* by record; NULL: no job has runs of each device */
    struct boot armed;
    struct local *local; /* NULL: no supervisor, or no job asks it */
    struct flight *answering;
    struct link *links;    /* plan_links() of them */
    struct rounds *rounds; /* NULL: there is no quorum */
    LIST_HEAD(runs, run) runs;
};

struct mishap_stream {
    struct event event;
    struct chance chance;
};

/* Who resumes a job. */
struct person {
    struct event event;
    unsigned record;
};

struct sim {
    struct plan plan;
    struct queue queue;
    int64_t now_ms;
    struct chance net;
    int64_t clock_offset_ms, clock_ppm; /* the server's */
    /* The second only while there are two masters; or those of a quorum. */
    struct server servers[QUORUM_SERVERS_MAX];
    bool split;
    struct memory_texts texts; /* of all records */
    char keys[SIM_KEYS_SIZE];  /* the devices' room for one hello */
    struct store_copy replica; /* what a failover will bring back */
    struct event mend;         /* of a failover or a split */
    struct device *devices;
    LIST_HEAD(living, run) living;
    struct mishap_stream streams[MISHAP_COUNT];
    struct event watch;      /* what did not happen is looked for at intervals */
    int64_t calm_ms;         /* the store is in order since */
    int64_t whole_ms;        /* the fleet as a whole is */
    int64_t stepped_ms;      /* the server's clock was last set */
    bool stepped_back;       /* ever */
    int64_t seen_back_ms;    /* a device last saw that */
    int64_t lost_ms;         /* when data were lost last */
    int64_t lease_free_ms;   /* until then one may outlive its lease: the clock was set forward */
    int64_t overlap_free_ms; /* until then two runs may overlap: leases were lost */
    struct job_check checks[PLAN_RECORDS_MAX];
    struct person people[PLAN_RECORDS_MAX];
    struct flight *spares; /* to be used again */
    struct tally tally;
    uint64_t served[STORE_VERB_COUNT]; /* of the commands, so many of each */
    bool trace;
    char breach[SIM_BREACH_SIZE]; /* "": none */
};

/* Plays the whole plan, or up to the first breach. Memory that is short ends the program. */
void sim_play(struct sim *s, const struct plan *plan, bool trace);
/* The same in two steps, for who has events of its own to set between them. */
void sim_begin(struct sim *s, const struct plan *plan, bool trace);
void sim_go(struct sim *s);
void sim_done(struct sim *s);
/* Allocates, or ends the program. */
void *sim_new(size_t size);

/* --- trace.c --- */

/* A line that a person can read, where a trace is wanted; `d` may be NULL. */
void trace_say(const struct sim *s, const struct device *d, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void trace_request(const struct sim *s, const struct flight *f);
void trace_reply(const struct sim *s, const struct flight *f);
/* Of a quorum. */
void trace_decided(const struct device *d, const struct store_request *q,
                   const struct store_reply *r);

/* --- server.c --- */

struct wall server_time(const struct sim *s);
/* By the clock of one of them. */
struct wall server_clock(const struct sim *s, const struct server *server);
/* That clock is far from all others. */
bool server_is_off(const struct server *server);
/* True time at which the server's clock shows `at`, by its present rate. */
int64_t server_when(const struct sim *s, int64_t at_ms);
void server_init(struct sim *s);
void server_done(struct sim *s);
/* What is known of the fleet is gone. */
void server_forget_fleet(struct server *server);
/* Its connections are gone, and it is back at `until_ms`. */
void server_restart(struct sim *s, struct server *server, int64_t until_ms);
/* A request arrives: an event of a flight. */
void server_arrival(struct sim *s, struct event *e);

/* --- copy.c --- */

void copy_init(struct sim *s, struct store_copy *c);
void copy_done(struct store_copy *c);
/* All is lost. */
void copy_forget(struct sim *s, struct store_copy *c);
void copy_take(struct sim *s, struct store_copy *to, const struct store_copy *from);

/* --- person.c --- */

void person_init(struct sim *s);
/* Pauses some job. */
void person_pause(struct sim *s, struct chance *c);
/* Runs one of the device's jobs by hand, or stops its run. */
void person_act(struct sim *s, struct device *d, struct chance *c);
/* Somebody will resume the job, sooner or later. */
void person_call(struct sim *s, unsigned record);

/* --- local.c --- */

void local_init(struct device *d);
void local_done(struct device *d);
/* The job is there, and has not begun. */
void local_join(struct device *d, unsigned job);
void local_submit(struct device *d, struct store_call *call);
void local_cancel(struct device *d, struct store_call *call);
/* Something can be answered. */
bool local_waits(const struct device *d);
void local_move(struct device *d);

/* --- net.c --- */

void net_init(struct device *d);
void net_submit(void *context, struct store_call *call, bool urgent);
void net_cancel(void *context, struct store_call *call);
/* Does what is due: connects, hears replies, gives up on what takes too long, sends. */
void net_move(struct device *d);
/* When there is more to do, in true time. */
int64_t net_next(const struct device *d);
/* The connection is lost; `told`: the supervisor hears of it. */
void net_lose(struct link *l, bool told);
/* Since when nothing of its links, or of the servers behind them, stands in the device's way: of a
 * quorum, of most of them. */
int64_t net_calm_ms(const struct device *d);
/* Of one link: its requests, and what may be sent at once. */
void net_link_submit(struct link *l, struct store_call *call, bool urgent);
void net_link_send(struct link *l);
/* A request would be sent at once. */
bool net_link_is_free(const struct link *l);
/* The supervisor is gone. */
void net_done(struct device *d);
/* Of a flight that nobody waits for. */
void net_drop(struct flight *f);
/* All that are kept to be used again. */
void net_free_spares(struct sim *s);

/* --- round.c --- */

void round_init(struct device *d);
void round_submit(struct device *d, struct store_call *call, bool urgent);
void round_cancel(struct device *d, struct store_call *call);
/* Puts to the servers what waits, as soon as most of them can be asked. */
void round_move(struct device *d);
/* Something waits, and can be put to them. */
bool round_waits(const struct device *d);
/* The supervisor is gone, and with it what was out. */
void round_done(struct device *d);

/* --- check_quorum.c --- */

/* Every run has its lock at most of the servers, and no two have (promise 3). */
void check_quorum_living(struct sim *s);
/* What most of them know as done, or as paused, is not run (promise 1, rule 17). */
void check_quorum_started(struct sim *s, const struct run *r);
/* The device was told that its finish is recorded. */
void check_quorum_recorded(struct device *d, const struct store_request *q, int64_t sent_ms);
/* The server has lost its data, or its clock was set. */
void check_quorum_lost(struct sim *s, struct server *server);
void check_quorum_stepped(struct sim *s, struct server *server, int64_t by_ms);

/* --- port.c --- */

/* The core's port of the device. */
void port_init(struct device *d);
/* What the device says of itself in hello. */
void port_introduce(struct device *d);

/* --- device.c --- */

struct boot device_boot(const struct device *d);
/* The first true millisecond at which the device's clock shows `at`. */
int64_t device_when(const struct device *d, struct boot at);
void device_init(struct sim *s, struct device *d, unsigned number);
/* Its next instant is looked up anew: after each thing that was done to it from outside. */
void device_settle(struct device *d);
void device_done(struct device *d);
const struct job_spec *device_spec(const struct device *d, unsigned job);
/* Something of its own goes wrong, up to `until_ms`. */
void device_disturb(struct device *d, int64_t until_ms);
void device_power_off(struct device *d, int64_t boots_at_ms);
void device_freeze(struct device *d, int64_t until_ms);
void device_kill_supervisor(struct device *d, int64_t restarts_at_ms);
void device_stop_supervisor(struct device *d, int64_t until_ms);
void device_stop_guards(struct device *d, int64_t until_ms);
void device_leave(struct device *d);

/* --- run.c --- */

void run_begin(struct device *d, struct job *job);
void run_extend(struct device *d, const struct job *job);
void run_order(struct device *d, const struct job *job, enum stop_reason reason);
void run_move_all(struct device *d);
struct boot run_next_of_all(const struct device *d);
/* The supervisor is gone: the guards end their trees. */
void run_orphan_all(struct device *d);
/* The guards stand still: what the device's kernel does meanwhile. */
void run_free_all(struct device *d);
/* A guard, or a worker, of the device is killed; false: there is none. */
bool run_kill_guard(struct device *d);
bool run_kill_worker(struct device *d);

/* --- mishap.c --- */

void mishap_init(struct sim *s);
#endif
