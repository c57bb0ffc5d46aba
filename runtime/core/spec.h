/* SPDX-License-Identifier: MIT
 * core/spec.h: what the core knows of a job's configuration. Owned by the configuration, which
 * outlives every job that points to it. */
#ifndef ROTA_CORE_SPEC_H
#define ROTA_CORE_SPEC_H
#include "core/fingerprint.h"
#include "core/schedule.h"
#include "core/timing.h"
#include <stdbool.h>
#include <stdint.h>

/* Job names are [A-Za-z][A-Za-z0-9_-]{0,62}. */
#define JOB_NAME_MAX 63
/* Device names, 1 ... 64 bytes. */
#define DEVICE_NAME_MAX 64

enum job_scope {
    SCOPE_FLEET, /* one run a turn in the fleet */
    SCOPE_DEVICE /* one on each device, under a seat */
};

enum job_lock {
    LOCK_STORE, /* in the store; in device scope seats take its place */
    LOCK_NONE   /* every device runs each turn, and the store is asked for nothing but the time */
};

struct job_spec {
    const char *name;
    const char *key; /* names the job's keys in the store: `was`, else the name */
    struct schedule schedule;
    struct timing timing; /* derived */
    int64_t splay_ms;
    int64_t catch_up_ms;
    int64_t retry_delay_ms;
    int64_t retention_ms;
    uint32_t attempts;
    uint32_t history; /* entries kept in Redis; 0: none */
    enum job_scope scope;
    uint32_t concurrency;         /* device scope: seats in the whole fleet */
    uint32_t stop_after_failures; /* device scope: in a row, then the job is paused; 0: off */
    uint32_t version;             /* 0: off */
    enum job_lock lock;
    const char *lock_key; /* exactly this key is the lock; NULL: one of the job's own */
    bool first_now;       /* first = "now" */
    bool run_unreachable; /* if_unreachable = "run": device scope, by the device's own clock */
    bool require_fence;   /* no run without a fence, by hand either */
    char fingerprint[FINGERPRINT_SIZE];    /* of all that makes two configurations differ (DESIGN
                                              section 5) */
    char schedule_print[FINGERPRINT_SIZE]; /* of every/cron, offset, timezone and its rules only:
                                              PROTOCOL rule 7 */
};
#endif
