/* SPDX-License-Identifier: MIT
 * core/advice.h: whether a job's worst_case fits how long its runs take here, and what to write
 * instead.
 *
 * Too short: the longest run took more than ADVICE_SHORT_PERCENT of it, so the next one may be
 * stopped for nothing; said after a single such run. With overrun = "extend" progress carries a run
 * past worst_case, and what it may come too close to is max_runtime. The advice is half as much
 * again as the longest.
 *
 * Too long: it is more than ADVICE_LARGE_FACTOR times the longest of ADVICE_LARGE_RUNS runs or
 * more, so a run that hangs blocks its turns for long. The advice is five times the longest, at
 * least ADVICE_LEAST_MS. Nothing is said of a worst_case up to ADVICE_FINE_MS, nor with "extend",
 * where it is how long a run may be silent.
 *
 * Both are rounded up to what a person writes: 45s, 8m, 1h30m. A worst_case that makes the job one
 * that is renewed may need a longer lease (core/timing.h); then that is part of the advice. */
#ifndef ROTA_CORE_ADVICE_H
#define ROTA_CORE_ADVICE_H
#include "core/digest.h"
#include "core/spec.h"

#define ADVICE_SHORT_PERCENT 80
#define ADVICE_LARGE_FACTOR 20
#define ADVICE_LARGE_RUNS 10
#define ADVICE_LEAST_MS INT64_C(10000) /* less is stopped by chance on a busy device */
#define ADVICE_FINE_MS INT64_C(60000)  /* a hang of a minute harms nobody */

enum advice_kind { ADVICE_NONE, ADVICE_SHORT, ADVICE_LARGE } __attribute__((packed));

/* What was last told of a job. Zeroed at first. */
struct advice_told {
    uint32_t value_ms;
    enum advice_kind kind;
};

struct advice {
    enum advice_kind kind;
    bool extends;       /* it is about max_runtime */
    int64_t longest_ms; /* the run that it follows from */
    int64_t limit_ms;   /* worst_case or max_runtime, as it is */
    int64_t value_ms;   /* and as it should be written */
    int64_t lease_ms;   /* besides: the lease that this takes; 0: the present one will do */
};

/* By the runs that succeeded here (`d`, up to date); of other ends none says how long a healthy run
 * takes. */
struct advice advice_of(const struct digest *d, const struct job_spec *spec);
/* What would do as worst_case, or max_runtime, by a longest run that took so long. */
int64_t advice_enough_ms(int64_t longest_ms);
/* Which key it is about. */
static inline const char *advice_key(const struct advice *a)
{
    return a->extends ? "max_runtime" : "worst_case";
}

/* Whether it is to be told: it is of another kind than what was told, or asks for more; then it is
 * what was told, from now on. An advice that holds no more is forgotten. */
bool advice_is_news(struct advice_told *told, const struct advice *a);
#endif
