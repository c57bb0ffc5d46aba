/* SPDX-License-Identifier: MIT
 * ipc/messages.h: what supervisor and guard say to each other. Type numbers and tags are final:
 * within FRAME_VERSION 1 new ones are added, none is changed. Each message has one struct, one pack
 * and one unpack. Unpacked texts and arrays point into the frame (texts) or into one heap block
 * that message_free_params() or message_free_setup() frees.
 *
 *   supervisor -> guard   START | PROBE first, then DEADLINE, STOP
 *   guard -> supervisor   STARTED, OUTPUT*, LOG*, PROGRESS*, then ENDED      (after START)
 *                         PROBED                                             (after PROBE)
 * The guard keeps ENDED until it fits; of PROGRESS it keeps only the latest; OUTPUT and LOG are
 * dropped and counted where they come too fast or the supervisor is slow, but for the last ones. */
#ifndef ROTA_IPC_MESSAGES_H
#define ROTA_IPC_MESSAGES_H
#include "base/limits.h"
#include "base/param.h"
#include "base/time.h"
#include "ipc/frame.h"

enum message_type {
    MESSAGE_START = 1,
    MESSAGE_DEADLINE = 2,
    MESSAGE_STOP = 3,
    MESSAGE_PROBE = 4,
    MESSAGE_STARTED = 64,
    MESSAGE_OUTPUT = 65,
    MESSAGE_LOG = 66,
    MESSAGE_PROGRESS = 67,
    MESSAGE_ENDED = 68,
    MESSAGE_PROBED = 69,
};

/* As whom, where and within what a job's processes live. */
struct message_setup {
    bool switch_user;               /* to uid, gid and groups; false: the guard's own user */
    uint32_t uid, gid;              /* gid is the primary group, and among the groups in any case */
    const uint32_t *groups;         /* further ones */
    uint32_t group_count;           /* of groups */
    const char *user, *home;        /* for USER, LOGNAME and HOME; or NULL */
    bool apart;                     /* may signal and trace its own processes only */
    const char *working_dir;        /* absolute; NULL: / */
    const char *const *environment; /* "NAME=value", each name once, none of rota's own */
    uint32_t environment_count;
    struct limits limits;
    bool no_network;         /* but loopback */
    const char *cgroup;      /* the folder in which each run gets a group of its own; NULL: there is
                                none */
    const char *credentials; /* systemd's folder of them, where a parameter names one; else NULL */
};

/* MESSAGE_START: everything that a run needs. */
struct message_start {
    const char *plugin_path; /* absolute */
    const char *job, *device;
    int64_t turn_ms;
    int64_t fence; /* 0: none */
    uint32_t attempt, attempts;
    int64_t worst_case_ms, stop_grace_ms, margin_ms;
    int64_t max_runtime_ms; /* each progress moves O to worst_case after it, never past this after
                               the start; 0: O stays */
    struct boot deadline;   /* D: before it the whole tree is gone */
    uint32_t purpose;       /* ROTA_FOR_RUN ... of plugin.h */
    struct message_setup setup;
    uint32_t output_lines;
    const struct param_value *params;
    uint32_t param_count;
};

/* MESSAGE_DEADLINE: a confirmed renewal moved D. Only forward. */
struct message_deadline {
    struct boot deadline;
};

/* MESSAGE_STOP: ask the worker to stop now, kill it after its grace. */
struct message_stop {
    uint32_t reason; /* the supervisor's own number, returned in ENDED */
};

/* MESSAGE_PROBE: load the plugin, check the jobs' parameters. One frame a job; the guard answers
 * each. */
struct message_probe {
    const char *plugin_path;
    const char *job;
    uint32_t index;             /* the supervisor's own, returned in PROBED */
    struct message_setup setup; /* as a run has it */
    const struct param_value *params;
    uint32_t param_count;
};

struct message_started {
    int32_t worker_pid;
    struct boot started;   /* O - W: the worker's first instruction */
    const char *unapplied; /* a sentence: what of the setup could not be applied; NULL or "": all
                              was */
};

struct message_output {
    uint32_t stream;  /* 1 or 2 */
    const char *text; /* one line, without its end; escaped, its "<3>" still there */
    uint32_t dropped; /* lines of output and log lost here; then there is no text, and stream 2 */
};

struct message_log {
    uint32_t level; /* ROTA_ERR ... of plugin.h */
    const char *text;
};

struct message_progress {
    int32_t permille; /* 0 ... 1000; -1: unknown */
    const char *text;
};

/* How the worker came to its end. */
enum ended_how {
    ENDED_RETURNED = 1,  /* run() returned `result` */
    ENDED_EXITED = 2,    /* the process exited with `code` and no result */
    ENDED_SIGNALLED = 3, /* by signal `code` */
    ENDED_UNLOADABLE =
        4, /* the plugin could not be loaded, or refuses these parameters: run() was not called */
    ENDED_UNSTARTED = 5, /* no worker could be forked */
};

/* Why the guard stopped it, if it did. */
enum ended_stop {
    STOP_NONE = 0,
    STOP_OVERRUN = 1,  /* O */
    STOP_DEADLINE = 2, /* D - G: the lease was not renewed in time */
    STOP_ORDERED = 3,  /* MESSAGE_STOP */
    STOP_ORPHANED = 4, /* the supervisor is gone (never reaches it) */
};

struct message_ended {
    enum ended_how how;
    enum ended_stop stop;
    uint32_t reason;    /* of MESSAGE_STOP */
    int32_t result;     /* ENDED_RETURNED: ROTA_SUCCEEDED ..., or negative errno */
    int32_t code;       /* exit status or signal */
    bool clean;         /* ECHILD: nothing of the tree is left */
    bool killed;        /* SIGKILL was needed */
    uint32_t leftovers; /* processes that outlived the worker and were killed */
    int64_t ran_ms;
    const char *detail; /* the plugin's fail() text, the load error, or the last line of output; may
                           be "" */
};

#define PROBE_ERRORS_MAX 16
/* One thing that is wrong with a job's parameters. */
struct probe_error {
    int32_t param; /* index into the probe's params; -1: the plugin itself, or a parameter that is
                      missing */
    const char *text; /* a sentence: what is wrong and what to write */
};

/* MESSAGE_PROBED: the plugin's description, or what is wrong. */
struct message_probed {
    uint32_t index;
    bool loaded;                          /* false: errors[0] says why */
    const char *name, *version, *summary; /* where loaded */
    struct probe_error errors[PROBE_ERRORS_MAX];
    uint32_t error_count;
};

/* Each packs into `f`, replacing what it held. */
void message_pack_start(struct frame *f, const struct message_start *m);
void message_pack_deadline(struct frame *f, const struct message_deadline *m);
void message_pack_stop(struct frame *f, const struct message_stop *m);
void message_pack_probe(struct frame *f, const struct message_probe *m);
void message_pack_started(struct frame *f, const struct message_started *m);
void message_pack_output(struct frame *f, const struct message_output *m);
void message_pack_log(struct frame *f, const struct message_log *m);
void message_pack_progress(struct frame *f, const struct message_progress *m);
void message_pack_ended(struct frame *f, const struct message_ended *m);
void message_pack_probed(struct frame *f, const struct message_probed *m);

/* Each unpacks a frame of its type. 0, -EBADMSG (a field that is needed is absent or wrong),
 * -ENOMEM. Texts point into `f`, which must outlive them. Params and setup of start and
 * probe are on the heap: free with message_free_params and message_free_setup. */
int message_unpack_start(struct frame *f, struct message_start *ret_m);
int message_unpack_deadline(struct frame *f, struct message_deadline *ret_m);
int message_unpack_stop(struct frame *f, struct message_stop *ret_m);
int message_unpack_probe(struct frame *f, struct message_probe *ret_m);
int message_unpack_started(struct frame *f, struct message_started *ret_m);
int message_unpack_output(struct frame *f, struct message_output *ret_m);
int message_unpack_log(struct frame *f, struct message_log *ret_m);
int message_unpack_progress(struct frame *f, struct message_progress *ret_m);
int message_unpack_ended(struct frame *f, struct message_ended *ret_m);
int message_unpack_probed(struct frame *f, struct message_probed *ret_m);
void message_free_params(const struct param_value *params, uint32_t count);
void message_free_setup(const struct message_setup *setup); /* its lists only, and they once */
#endif
