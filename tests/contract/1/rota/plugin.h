/* SPDX-License-Identifier: MIT
 * rota/plugin.h: what a rota job plugin is. C11 and C++11; a plugin links to nothing of rota.
 * Life: a worker is forked, loads the file, calls run() once and exits. So there is no init and no
 * cleanup: the process is the cleanup. check() is called in a probe, never beside real work: once a
 * process, which may be forked from one that has loaded the file for many jobs.
 * Promise: within ROTA_ABI 1 structs only grow at the end; no name, number or meaning changes. */
#ifndef ROTA_PLUGIN_H
#define ROTA_PLUGIN_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ROTA_ABI 1u /* another number is another contract: the host refuses it */

enum {                  /* results. Below 0: failed, -errno. Anything else: failed, and a bug */
    ROTA_SUCCEEDED = 0, /* done for the fleet; from check(): the parameters are good */
    ROTA_NOTHING = 1,   /* there was nothing to do; counts as done */
    ROTA_FAILED = 2,    /* counts as an attempt; tried again after retry_delay */
    ROTA_REFUSED = 3,   /* trying again cannot help: the turn is given up */
    ROTA_DECLINED = 4   /* not here, or stopped half-way: no attempt counted, another may take it */
};
enum { /* types, written as in a conf file: durations "1h30m", sizes "64MiB" */
    ROTA_STRING = 1, ROTA_INTEGER = 2, ROTA_NUMBER = 3, ROTA_BOOLEAN = 4,
    ROTA_DURATION = 5, ROTA_SIZE = 6, ROTA_STRINGS = 7
};
enum { ROTA_REQUIRED = 1u, ROTA_SECRET = 2u, /* never printed */ ROTA_PATH = 4u /* absolute */ };
enum { ROTA_ERR = 3, ROTA_WARNING = 4, ROTA_NOTICE = 5, ROTA_INFO = 6, ROTA_DEBUG = 7 };
enum { ROTA_FOR_RUN = 1, ROTA_FOR_CHECK = 2, ROTA_FOR_TRY = 3 /* by hand: no lock, no fence */ };

struct rota_param {      /* the array ends with a NULL name */
    const char *name;    /* [a-z][a-z0-9_]*, at most 63 bytes */
    uint32_t type;       /* ROTA_STRING ... */
    uint32_t flags;      /* ROTA_REQUIRED | ... */
    const char *def;     /* default, read as in a conf file; NULL: none */
    const char *min;     /* least and greatest value, or length; NULL: no limit */
    const char *max;
    const char *choices; /* "fast|slow": all values that a string may have; NULL: any */
    const char *help;    /* one sentence for who writes the conf file */
};

struct rota_run { /* the host's, read-only. Members after v1.0's last are reached by ROTA_HAS */
    uint32_t abi, size;
    const char *job, *device; /* names, for people */
    int64_t turn_ms;          /* the turn that this run is for: Unix ms, fleet time */
    uint64_t fence;           /* grows with every lease of the job; 0: there is none */
    uint32_t attempt, attempts, purpose; /* 1 ... attempts; ROTA_FOR_RUN ... */
    /* Readable once the run is to stop: poll it, never read or close it. SIGTERM comes too: the
     * host catches it, so that a call that blocks returns EINTR; children get their own. Who does
     * not come back within stop_grace is killed. After the stop no result counts as success. */
    int stop_fd;
    void *host;               /* not yours */
    /* From any thread. Texts live until run() returns. Asking for a parameter that was not
     * declared, or by another type, is a bug: the worker ends with a message that says so. */
    int (*is_set)(const struct rota_run *, const char *name); /* given, or by its default */
    const char *(*string)(const struct rota_run *, const char *name); /* NULL: not set */
    /* Never NULL, ends with NULL. What is not set is 0 below. */
    const char *const *(*strings)(const struct rota_run *, const char *name);
    int64_t (*integer)(const struct rota_run *, const char *name, uint32_t type); /* ms, bytes */
    double (*number)(const struct rota_run *, const char *name);
    int64_t (*lease_left_ms)(const struct rota_run *);  /* until stopped, if no renewal succeeds */
    int64_t (*budget_left_ms)(const struct rota_run *); /* until worst_case is used up */
    int (*should_stop)(const struct rota_run *);        /* async-signal-safe */
    /* fraction <0: unknown. With overrun = "extend" each call gives worst_case anew. */
    void (*progress)(const struct rota_run *, double fraction, const char *text);
    void (*log)(const struct rota_run *, int level, const char *text);
    /* Why; the last one counts. "(...)" adds to the last line of output; no text: that line. */
    void (*fail)(const struct rota_run *, const char *text);
};

struct rota_plugin { /* the first three keep their places for ever */
    uint32_t abi, size, param_size, reserved;
    uint64_t needs; /* features that it cannot work without; a bit unknown to the host: refused */
    const char *name, *version, *summary;
    const struct rota_param *params;       /* NULL: takes none */
    int (*run)(const struct rota_run *);   /* required */
    int (*check)(const struct rota_run *); /* or NULL; quick, no side effects */
};
#define ROTA_HAS(r, m) ((r)->size >= offsetof(struct rota_run, m) + sizeof((r)->m))

#define ROTA_EXPORT __attribute__((visibility("default")))
#define ROTA_INLINE static inline __attribute__((unused))
#define ROTA_PRINTF __attribute__((format(printf, 3, 4)))
extern ROTA_EXPORT const struct rota_plugin rota_plugin; /* the one symbol a plugin exports */
/* ROTA_PLUGIN(.name = "x", .version = "1", .summary = "...", .params = p, .run = run); */
#define ROTA_PLUGIN(...) const struct rota_plugin rota_plugin = { .abi = ROTA_ABI, \
    .size = sizeof(struct rota_plugin), .param_size = sizeof(struct rota_param), \
    .reserved = 0, __VA_ARGS__ }

ROTA_INLINE int rota_is_set(const struct rota_run *r, const char *n) { return r->is_set(r, n); }
ROTA_INLINE const char *rota_string(const struct rota_run *r, const char *n)
{ return r->string(r, n); }
ROTA_INLINE const char *const *rota_strings(const struct rota_run *r, const char *n)
{ return r->strings(r, n); }
ROTA_INLINE int64_t rota_integer(const struct rota_run *r, const char *n)
{ return r->integer(r, n, ROTA_INTEGER); }
ROTA_INLINE int rota_boolean(const struct rota_run *r, const char *n)
{ return r->integer(r, n, ROTA_BOOLEAN) != 0; }
ROTA_INLINE int64_t rota_duration_ms(const struct rota_run *r, const char *n)
{ return r->integer(r, n, ROTA_DURATION); }
ROTA_INLINE int64_t rota_size_bytes(const struct rota_run *r, const char *n)
{ return r->integer(r, n, ROTA_SIZE); }
ROTA_INLINE double rota_number(const struct rota_run *r, const char *n) { return r->number(r, n); }
ROTA_INLINE int rota_should_stop(const struct rota_run *r) { return r->should_stop(r); }
ROTA_INLINE void rota_progress(const struct rota_run *r, double fraction, const char *text)
{ r->progress(r, fraction, text); }
ROTA_PRINTF ROTA_INLINE void rota_log(const struct rota_run *r, int level, const char *fmt, ...)
{
    char t[1024]; va_list a;
    va_start(a, fmt); vsnprintf(t, sizeof t, fmt, a); va_end(a); r->log(r, level, t);
}
/* return rota_fail(r, ROTA_FAILED, "cannot open %s: %s", path, strerror(errno)); */
ROTA_PRINTF ROTA_INLINE int rota_fail(const struct rota_run *r, int result, const char *fmt, ...)
{
    char t[1024]; va_list a;
    va_start(a, fmt); vsnprintf(t, sizeof t, fmt, a); va_end(a); r->fail(r, t); return result;
}
#ifdef __cplusplus
}
#endif
#endif
