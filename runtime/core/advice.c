/* SPDX-License-Identifier: MIT */
#include "core/advice.h"
#include "base/units.h"

/* As long as worst_case and max_runtime may be (KEYS.md). */
#define LIMIT_MAX_MS (31 * DAY_MS)

/* From `from_ms` on people write multiples of `step_ms`. */
static const struct {
    uint32_t from_ms, step_ms;
} steps[] = {
    { 2 * DAY_MS, 12 * HOUR_MS },      { 6 * HOUR_MS, HOUR_MS },     { HOUR_MS, 30 * MINUTE_MS },
    { 10 * MINUTE_MS, 5 * MINUTE_MS }, { 2 * MINUTE_MS, MINUTE_MS }, { MINUTE_MS, 30 * SECOND_MS },
    { 10 * SECOND_MS, 5 * SECOND_MS }, { SECOND_MS, SECOND_MS },     { 0, 100 },
};

static int64_t round_up(int64_t ms)
{
    unsigned i = 0;
    int64_t step;

    while (ms < steps[i].from_ms)
        i++;
    step = steps[i].step_ms;
    return (ms + step - 1) / step * step;
}

int64_t advice_enough_ms(int64_t longest_ms)
{
    int64_t enough_ms = round_up(longest_ms * 3 / 2);

    return enough_ms < LIMIT_MAX_MS ? enough_ms : LIMIT_MAX_MS;
}

/* The lease that the job needs with such a limit; 0: the one that it has. */
static int64_t lease_for(const struct job_spec *spec, const struct advice *a)
{
    struct timing t = spec->timing;
    int64_t smallest_ms;

    if (spec->lock == LOCK_NONE)
        return 0;
    if (a->extends)
        t.max_runtime_ms = a->value_ms;
    else
        t.worst_case_ms = a->value_ms;
    return timing_derive(&t, &smallest_ms) < 0 ? smallest_ms : 0;
}

static bool is_short(const struct advice *a)
{
    return a->longest_ms * 100 > a->limit_ms * ADVICE_SHORT_PERCENT;
}

static bool is_large(const struct advice *a, const struct digest *d)
{
    return !a->extends && a->limit_ms > ADVICE_FINE_MS &&
           a->limit_ms > a->longest_ms * ADVICE_LARGE_FACTOR && digest_runs(d) >= ADVICE_LARGE_RUNS;
}

struct advice advice_of(const struct digest *d, const struct job_spec *spec)
{
    const struct timing *t = &spec->timing;
    struct advice a = { .longest_ms = digest_longest_ms(d), .extends = t->max_runtime_ms > 0 };

    a.limit_ms = a.extends ? t->max_runtime_ms : t->worst_case_ms;
    if (a.longest_ms > 0 && is_short(&a) && a.limit_ms < LIMIT_MAX_MS) {
        a.kind = ADVICE_SHORT;
        a.value_ms = advice_enough_ms(a.longest_ms);
    } else if (a.longest_ms > 0 && is_large(&a, d)) {
        a.kind = ADVICE_LARGE;
        a.value_ms = round_up(a.longest_ms * 5);
        if (a.value_ms < ADVICE_LEAST_MS)
            a.value_ms = ADVICE_LEAST_MS;
    }
    if (a.kind != ADVICE_NONE)
        a.lease_ms = lease_for(spec, &a);
    return a;
}

bool advice_is_news(struct advice_told *told, const struct advice *a)
{
    bool same = a->kind == told->kind && a->value_ms <= told->value_ms;

    if (!same)
        *told = (struct advice_told){ .kind = a->kind, .value_ms = (uint32_t)a->value_ms };
    return !same && a->kind != ADVICE_NONE;
}
