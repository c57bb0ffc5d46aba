/* SPDX-License-Identifier: MIT
 * support/fake.h: one device without a process, a clock or a Redis: a port that writes down what
 * the core wishes for, and a store that composes a call when the test sends it and answers what the
 * test says. One call is in flight at a time, as on a connection where the next request waits for
 * the reply. */
#ifndef ROTA_TESTS_FAKE_H
#define ROTA_TESTS_FAKE_H
#include "unit.h"

#include "core/fleet.h"
#include "core/job.h"
#include "core/report.h"

#define FAKE_CALLS_MAX 8

struct fake {
    struct core_port port;
    struct fleet fleet;
    struct unit_random random;
    bool no_random;     /* all random bytes are 0: nothing is delayed by chance */
    bool no_memory;     /* no text is kept */
    bool paused;        /* jobs are, on this device ... */
    struct wall passed; /* ... and this is the newest turn that was said to pass by it */

    struct store_call *queued[FAKE_CALLS_MAX];
    size_t queued_count;
    struct store_call *flying;    /* composed, and not answered */
    struct store_request request; /* of the last call that was sent; its texts are below */
    char token[TOKEN_SIZE];
    char detail[STORE_TEXT_SIZE];
    struct boot sent;

    int start_result; /* what start() gives */
    unsigned starts, extends, stops;
    struct job *started; /* by the last start() */
    struct job *extended, *stopped;
    enum stop_reason stop_reason;
    struct boot armed;                       /* the one timer */
    unsigned reports[REPORT_ILLEGAL + 1];    /* how many of each kind */
    char report_device[DEVICE_NAME_MAX + 1]; /* of the last REPORT_TAKEOVER or REPORT_PASSED */
    int64_t silent_ms, moved_ms;             /* of the last REPORT_TAKEOVER, REPORT_CLOCK_JUMP */
    bool asked, waited;                      /* of the last REPORT_TOO_LATE */
    int64_t meanwhile;                       /* of the last REPORT_ENDED */
    int64_t left_ms;                         /* of the last REPORT_RENEWED or REPORT_REGAINED */
    int by_hand; /* of the last REPORT_BY_HAND: enum acquire_answer; -1: no answer */
};

/* `device` is kept. */
void fake_init(struct fake *f, const char *device, uint32_t slots, struct unit_random random);
void fake_done(struct fake *f);
/* Hands the next queued call to the store at `now`, dropping those that are not wanted any more.
 * True: f->flying and f->request are it. Nothing may be in flight. */
bool fake_send(struct fake *f, struct boot now);
/* Answers what is in flight; f->sent and the sender's verb are filled in. */
void fake_reply(struct fake *f, struct store_reply reply, struct boot now);
#endif
