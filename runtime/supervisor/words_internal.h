/* SPDX-License-Identifier: MIT
 * supervisor/words_internal.h: what words.c (how runs go), words_end.c (how they end) and
 * words_fleet.c (what the fleet means for a job) share. */
#ifndef ROTA_SUPERVISOR_WORDS_INTERNAL_H
#define ROTA_SUPERVISOR_WORDS_INTERNAL_H
#include "base/units.h"
#include "supervisor/words.h"

/* Longest piece of foreign text in a sentence. */
#define WORDS_FOREIGN_SIZE 300

/* What a sentence is made of; texts are escaped. */
struct words_context {
    const struct job *job;
    const struct report *report;
    struct boot now;
    char text[WORDS_FOREIGN_SIZE];
    char device[DEVICE_NAME_MAX + 16];
    char turn[WORDS_INSTANT_SIZE];
    char which[WORDS_INSTANT_SIZE + 48]; /* turn and attempt, or that it is by hand */
    char ran[UNITS_SIZE];
    char meanwhile[64];
};

typedef void words_sentence(const struct words_context *c);

/* The job's time. */
struct wall words_now(const struct words_context *c);
/* words_about() the context's job; at the end of a run with the outcome. */
__attribute__((format(printf, 3, 4))) void words_say(const struct words_context *c, int what,
                                                     const char *format, ...);

/* For "attempt %PRIu32 of %PRIu32". */
#define WORDS_ATTEMPT(c) (c)->job->lease.attempt, job_attempts((c)->job)
/* Whether a turn that is not run here is left to other devices. */
bool words_is_shared_out(const struct words_context *c);
/* What keeps others from running it meanwhile: "lock", or "seat". */
const char *words_lock(const struct words_context *c);

/* words_end.c */
words_sentence words_end_ended;
words_sentence words_end_given_up;

/* words_fleet.c, each for the report of its name; apart for REPORT_AHEAD too. */
words_sentence words_fleet_brake;
words_sentence words_fleet_paused;
words_sentence words_fleet_blocked;
words_sentence words_fleet_resumed;
words_sentence words_fleet_first_sight;
words_sentence words_fleet_void;
words_sentence words_fleet_mixed;
words_sentence words_fleet_mismatch;
words_sentence words_fleet_apart;
words_sentence words_fleet_outdated;
words_sentence words_fleet_newer;
#endif
