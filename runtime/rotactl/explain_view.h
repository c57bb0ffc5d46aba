/* SPDX-License-Identifier: MIT
 * rotactl/explain_view.h: what happens when with a job, by the numbers that rotad's method Explain
 * has. No call, no clock. */
#ifndef ROTA_ROTACTL_EXPLAIN_VIEW_H
#define ROTA_ROTACTL_EXPLAIN_VIEW_H
#include "rotactl/facts.h"
#include <stdbool.h>

/* FACT_NONE: does not apply. */
struct explain {
    const char *why; /* it is invalid for that; else NULL */
    int64_t worst_case_ms, max_runtime_ms, stop_grace_ms, lease_ms, margin_ms, command_timeout_ms;
    int64_t renew_ms, repeat_end_ms, must_stop_ms; /* of a lease that is renewed */
    int64_t renewals;
    int64_t takeover_ms; /* from a device's death to the next try elsewhere */
    int64_t hello_ms;    /* between two hellos of any device of the fleet */
    int64_t run_bytes, pass_bytes;
    int64_t attempts, retry_delay_ms, concurrency, stop_after_failures;
    int64_t servers; /* of a quorum */
    int64_t longest_ms, enough_ms, write_ms;
    int64_t write_lease_ms; /* besides */
    bool unlocked, local, too_short;
};

extern const struct fact explain_facts[];
extern const size_t explain_facts_count;

/* In 80 columns, whatever the screen. */
void explain_print(FILE *out, const char *job, const struct explain *e);
#endif
