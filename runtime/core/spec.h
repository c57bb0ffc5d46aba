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
    uint32_t history;                      /* entries kept in Redis; 0: none */
    bool first_now;                        /* first = "now" */
    char fingerprint[FINGERPRINT_SIZE];    /* of all that makes two configurations differ (DESIGN
                                              section 5) */
    char schedule_print[FINGERPRINT_SIZE]; /* of every/cron, offset, timezone and its rules only:
                                              PROTOCOL rule 7 */
};
#endif
