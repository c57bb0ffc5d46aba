/* SPDX-License-Identifier: MIT
 * supervisor/manager.h: the running rotad: jobs, their runs, the store, the children, in one event
 * loop. manager.c owns them and takes signals; manager_port.c is the core's way out;
 * manager_store.c is what keeps the turns; manager_ready.c has a guard ready in time;
 * manager_jobs.c keeps the set of jobs; manager_status.c says how it is; reload.c reads a new
 * configuration; manager_drain.c lets this device stand aside; control.h is where rotactl asks. */
#ifndef ROTA_SUPERVISOR_MANAGER_H
#define ROTA_SUPERVISOR_MANAGER_H
#include "config/config.h"
#include "core/job.h"
#include "redis/store.h"
#include "supervisor/health.h"
#include "supervisor/local.h"
#include "supervisor/machine.h"
#include "supervisor/options.h"
#include "supervisor/past.h"
#include "supervisor/probe.h"
#include "supervisor/resolver.h"
#include "supervisor/run.h"
#include "supervisor/wall_clock.h"
#include "supervisor/words.h"
#include "supervisor/words_fault.h"
#include "supervisor/worker_user.h"

/* What may wait for what in the loop: the lower number goes first. */
enum priority {
    PRIORITY_STORE = -20, /* replies and renewals */
    PRIORITY_RUN = -10,   /* guards' words */
    PRIORITY_CHILD = -9,  /* after the words, so that a guard's last ones are read first */
    PRIORITY_TIMER = 0,
    PRIORITY_WATCHDOG = 1, /* it looks at the timers */
    PRIORITY_SIGNAL = 10,
    PRIORITY_CONTROL = 15, /* clients wait for all else */
    PRIORITY_STATUS = 20
};

/* A loaded configuration and how many jobs still run by it. */
struct generation {
    struct config *config;
    size_t users;
};

/* A job of this device, with what belongs to it outside the core. */
struct device_job {
    struct job job; /* first: the core's pointer is ours */
    struct device_job *next;
    struct generation *generation;
    const struct job_config *config; /* in `generation` */
    struct run *run;                 /* the newest; NULL where there is none */
    struct past *past;               /* NULL before the first run */
    struct words_fault fault;
    struct job_alone alone[]; /* one, with run_unreachable */
};

/* device_job's, of a job that has left: it comes again, if it left for a drain and is still the
 * same. */
struct kept_past {
    struct kept_past *next;
    struct past *past;
    const struct job_config *config;
    struct generation *generation; /* whose config that is: a user of it */
};

struct run_entry {
    struct run *run;
    struct device_job *owner;
    struct run_entry *next;
};

struct manager {
    sd_event *event;
    const struct options *options;
    struct generation *generation; /* the present one */
    struct core_port port;
    struct fleet fleet;
    sd_event_source *timer;    /* of the fleet and its jobs, and of the guard that is ready */
    struct redis_store *store; /* NULL with store = "local", and while there was never a job */
    struct local_store *local; /* with store = "local"; beside Redis for jobs that need it */
    const struct local_module *local_module; /* what can be done with it; NULL: not needed yet */
    bool local_missed;                       /* it could not be loaded; said */
    struct resolver resolver;
    struct wall_clock clock_watch; /* while Redis cannot be used, perhaps by it */
    struct words_fault_link link_words;
    struct words_fault fault; /* of all jobs */
    struct device_job *jobs;  /* in order of name, as in the configuration */
    struct kept_past *kept;
    struct run_entry *runs;
    struct probe *probe;
    struct reload *reload;
    struct health *health;
    struct control *control;
    char device[DEVICE_NAME_MAX + 1]; /* outlives each configuration; fixed by the first job */
    struct machine machine;           /* by that name */
    char digest[FINGERPRINT_SIZE];    /* of the configuration, as the fleet is told */
    char *room;                       /* for hello; NULL: none is said */
    struct worker_user user;
    bool user_known;
    struct delegation cgroups;
    struct setup_env setup_env; /* of both */
    struct run_env run_env;
    struct ready_guard ready;
    sd_event_source *stop_timer, *after;
    sd_event_source *held_lines; /* of the journal */
    uint32_t clock_jumps;        /* of fleet time, and of the local store's */
    bool began;                  /* the probe is done: jobs take turns */
    bool stopping;
    bool draining;       /* takes no turns, as asked for */
    bool reload_again;   /* asked for while one was under way */
    struct boot stop_at; /* the loop ends then, whatever is left */
    bool jobs_stale;     /* manager_settle() has something to do */
    bool jobs_missing;   /* and jobs of the configuration may not be there yet */
    bool jobs_new;       /* jobs were added, and may have their first questions still to ask */
    bool status_stale;
    bool password_missed; /* its file could not be read again; said once an outage */
};

/* From now on the manager's signals wait until its loop takes them: a SIGHUP at the start must not
 * kill. 0 or -errno. */
int manager_block_signals(void);
/* Builds everything for `config`, which the manager takes over (also where it fails). 0 or negative
 * errno. `m` must stay where it is. */
int manager_init(struct manager *m, sd_event *event, struct config *config,
                 const struct options *options);
/* READY; then the plugins are probed, and the jobs begin. */
int manager_begin(struct manager *m);
void manager_done(struct manager *m);

/* manager_jobs.c: makes the set of jobs that of m->generation, step by step: what runs goes on, and
 * is replaced when it has ended. Called again after every event; ends the loop when all is told
 * while stopping. */
void manager_settle(struct manager *m);
void manager_free_jobs(struct manager *m);
/* SIGTERM: no new runs; workers are asked, then killed, then reaped, then the store is told; then
 * the loop ends. */
void manager_stop(struct manager *m);
/* The loop ends then at the latest. */
void manager_stop_at(struct manager *m, struct boot at);
/* Reads the configuration again; who waits at the control socket hears how that went. */
void manager_reload(struct manager *m);
/* Every mistake of the configuration, to the journal. */
void manager_say_problems(const struct config *c);

/* manager_port.c */
void manager_port_init(struct manager *m);
bool manager_is_ours(void *context, pid_t pid);
void manager_run_over(void *context, struct run *run);
void manager_unapplied(void *context, struct job *job, const char *sentence);
int manager_add_timer(struct manager *m);
/* As whom workers and probes run, found and said once. 0 or -errno: then no plugin is loaded. */
int manager_find_user(struct manager *m);

/* manager_ready.c: after every event: there is a guard that waits, where a job is about to ask. */
void manager_settle_ready(struct manager *m);
void manager_drop_ready(struct manager *m);
/* A child was reaped. True: it was that guard, and its job has none until it asks. */
bool manager_ready_ended(struct manager *m, pid_t pid);

/* manager_store.c: the store, by the configuration. */
bool manager_has_store(const struct manager *m);
/* The store and the workers' user, if they are not there yet: with the first job, so that no jobs
 * means no traffic. */
int manager_prepare(struct manager *m);
/* What a job's turns are kept in here, if anything: before its first turn, and after its last. 0 or
 * negative errno. */
int manager_open_job(struct manager *m, const struct job_spec *spec);
void manager_close_job(struct manager *m, const struct job_spec *spec);
/* Says hello from now on, or what has changed in the configuration since. 0 or -ENOMEM. */
int manager_introduce(struct manager *m);
/* After a reload: gives the store the configuration's password, and wipes that. Whatever the last
 * try to connect ended by, TLS's files for instance, may be mended: the next one comes at once.
 * There must be a store in Redis. */
void manager_take_password(struct manager *m);
/* Redis refuses a password, which may have been replaced in its file: reads that again. */
void manager_read_passwords(struct manager *m);
/* Tells the store when the connection is next needed. */
void manager_expect(struct manager *m);
void manager_submit(void *context, struct store_call *call, bool urgent);
void manager_cancel(void *context, struct store_call *call);

/* manager_drain.c: no job here takes a turn any more; what runs goes on to its end, or is asked to
 * stop. Every job leaves, as though removed from the configuration. */
void manager_leave_jobs(struct manager *m, bool stop_runs);
/* The same until manager_undrain(), over reloads too; what runs goes on, or is asked to stop. */
void manager_drain(struct manager *m);
void manager_hand_over(struct manager *m);
/* Jobs begin as they do when rotad starts. */
void manager_undrain(struct manager *m);
/* After every event: tells those that wait for it where nothing runs any more, and Redis knows how
 * that ended or cannot be told now. */
void manager_settle_drain(struct manager *m);

/* manager_status.c: one line for people, when something has changed. */
void manager_update_status(struct manager *m);

/* reload.c: the child that reads a new configuration first. */
/* Probes of many plugins take their time; a parser that hangs does not get more than this. */
#define RELOAD_LIMIT_MS 120000
struct reload;
typedef void reload_done(void *context, bool good);
struct reload_env {
    sd_event *event;
    const char *config_file, *device; /* or NULL; as in struct config_source */
    /* What it warns of is not said again; outlives the reload. NULL: it is only a check, whose
     * lines are for who has asked for it. */
    const struct config *running;
    reload_done *done;
    struct control *control; /* where the lines that it logs are said too */
    void *context;
};
int reload_new(const struct reload_env *env, struct reload **ret_reload);
bool reload_child_ended(struct reload *r, pid_t pid, int status);
pid_t reload_pid(const struct reload *r);
void reload_free(struct reload *r);
#endif
