/* SPDX-License-Identifier: MIT
 * What a monitor is told of each job. A family's samples stand together, so all jobs are gone
 * through once a family. Their label is job_name: Prometheus gives whatever it reads a label `job`
 * of its own, and would rename ours. */
#include "supervisor/control_hand.h"
#include "supervisor/control_metrics.h"
#include "supervisor/manager.h"

/* All of it as of one instant. */
struct view {
    const struct openmetrics *out;
    const struct manager *manager;
    struct boot now;
};

/* --- one number a job --- */

/* False: it has none. */
typedef bool get_number(const struct view *v, const struct device_job *d, int64_t *ret);

static bool is_running(const struct device_job *d)
{
    return d->job.state == JOB_RUNNING || d->job.state == JOB_STOPPING;
}

static int64_t to_wall(const struct device_job *d, struct boot at)
{
    return time_add_ms(at.ms, job_time(&d->job)->offset_ms);
}

static bool running(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = is_running(d);
    return true;
}

static bool stuck(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = d->job.tree_left;
    return true;
}

static bool unknowns(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = d->job.counters.unknown;
    return true;
}

static bool bugs(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = d->job.counters.illegal;
    return true;
}

static bool takeovers(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = d->past ? d->past->takeovers : 0;
    return true;
}

static bool renewals(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = d->past ? d->past->renewals : 0;
    return true;
}

static bool margin(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    if (!d->past || d->past->renewals == 0)
        return false;
    *ret = d->past->least_left_ms;
    return true;
}

static bool period(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = schedule_period_ms(&d->job.spec->schedule);
    return true;
}

static bool worst_case(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    *ret = d->job.spec->timing.worst_case_ms;
    return true;
}

static bool next_turn(const struct view *v, const struct device_job *d, int64_t *ret)
{
    if (!job_time(&d->job)->known || d->job.state == JOB_OFF)
        return false;
    *ret = schedule_next(&d->job.spec->schedule, (struct wall){ to_wall(d, v->now) }).ms;
    return true;
}

static bool last_success(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    if (!d->past || d->past->done.ms == 0 || !job_time(&d->job)->known)
        return false;
    *ret = to_wall(d, d->past->done);
    return true;
}

static bool lease_end(const struct view *v, const struct device_job *d, int64_t *ret)
{
    (void)v;
    if (!is_running(d) || !control_has_lease(&d->job) || !job_time(&d->job)->known)
        return false;
    *ret = to_wall(d, d->job.lease.expires);
    return true;
}

#define SECONDS .unit = "seconds", .in_ms = true

static const struct number {
    struct openmetrics_family family;
    get_number *get;
} numbers[] = {
    { { .name = "rota_job_running", .help = "1: a run of the job is under way here." }, running },
    { { .name = "rota_job_stuck",
        .help = "1: something of its last run cannot be killed; it is not started again here." },
      stuck },
    { { .name = "rota_job_unknowns",
        .help = "Questions for a turn that were sent and not answered: perhaps granted.",
        .counts = true },
      unknowns },
    { { .name = "rota_job_takeovers",
        .help = "Runs here of turns whose device had gone silent.",
        .counts = true },
      takeovers },
    { { .name = "rota_job_renewals", .help = "Renewals of its lease here.", .counts = true },
      renewals },
    { { .name = "rota_job_renewal_margin_seconds",
        .help = "Of all renewals, the least time that was left before the run would have been "
                "stopped.",
        SECONDS },
      margin },
    { { .name = "rota_job_lease_end_timestamp_seconds",
        .help = "When the lease of the run under way ends, unless it is renewed.",
        SECONDS },
      lease_end },
    { { .name = "rota_job_last_success_timestamp_seconds",
        .help = "When a run here last succeeded, or had nothing to do.",
        SECONDS },
      last_success },
    { { .name = "rota_job_next_turn_timestamp_seconds",
        .help = "The next turn, whichever device will run it.",
        SECONDS },
      next_turn },
    { { .name = "rota_job_period_seconds",
        .help = "The least time between two turns of the job.",
        SECONDS },
      period },
    { { .name = "rota_job_worst_case_seconds", .help = "The job's worst_case.", SECONDS },
      worst_case },
    { { .name = "rota_job_illegal_events",
        .help = "Events that rota's own rules do not know: please report them.",
        .counts = true },
      bugs },
};

static void write_number(const struct view *v, const struct number *n)
{
    int64_t value;

    openmetrics_head(v->out, &n->family);
    for (const struct device_job *d = v->manager->jobs; d; d = d->next)
        if (n->get(v, d, &value))
            openmetrics_sample(v->out, &n->family,
                               &(struct openmetrics_sample){
                                   .labels = { { "job_name", d->config->name } }, .value = value });
}

/* --- several numbers a job, each with a label of its own --- */

static void put(const struct view *v, const struct openmetrics_family *f,
                const struct device_job *d, struct openmetrics_label label, int64_t value)
{
    openmetrics_sample(v->out, f,
                       &(struct openmetrics_sample){
                           .labels = { { "job_name", d->config->name }, label }, .value = value });
}

static void write_outcomes(const struct view *v)
{
    static const struct openmetrics_family family = { .name = "rota_job_runs",
                                                      .help = "Runs here that ended, by how.",
                                                      .counts = true };

    openmetrics_head(v->out, &family);
    for (const struct device_job *d = v->manager->jobs; d; d = d->next)
        for (unsigned o = 0; o < OUTCOME_VANISHED; o++)
            put(v, &family, d,
                (struct openmetrics_label){ "outcome", outcome_name((enum outcome)o) },
                d->job.counters.outcomes[o]);
}

static void write_passes(const struct view *v)
{
    static const struct openmetrics_family family = {
        .name = "rota_job_turns_passed",
        .help = "Turns that were not run here, by why: another device had it (held) or had done it "
                "(done), no answer of Redis (error), another configuration (barred), paused, no "
                "free place (full), the run before it went on (running).",
        .counts = true
    };

    openmetrics_head(v->out, &family);
    for (const struct device_job *d = v->manager->jobs; d; d = d->next) {
        const struct job_counters *c = &d->job.counters;
        const struct {
            const char *reason;
            uint32_t count;
        } passes[] = { { "held", c->passed_held },      { "done", c->passed_done },
                       { "error", c->passed_error },    { "barred", c->passed_barred },
                       { "paused", c->passed_paused },  { "full", c->passed_full },
                       { "running", c->passed_running } };

        for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
            put(v, &family, d, (struct openmetrics_label){ "reason", passes[i].reason },
                passes[i].count);
    }
}

static void write_times(const struct view *v)
{
    static const struct openmetrics_family family = {
        .name = "rota_job_run_time_seconds",
        .help = "How long runs took here that succeeded in the last weeks: of half of them at most "
                "the median, of 95 % of them at most p95.",
        SECONDS
    };

    openmetrics_head(v->out, &family);
    for (const struct device_job *d = v->manager->jobs; d; d = d->next) {
        struct digest_summary s = { .runs = 0 };

        if (d->past)
            s = digest_read(&d->past->times, v->now);
        if (s.runs == 0)
            continue;
        put(v, &family, d, (struct openmetrics_label){ "of", "median" }, s.median_ms);
        put(v, &family, d, (struct openmetrics_label){ "of", "p95" }, s.p95_ms);
        put(v, &family, d, (struct openmetrics_label){ "of", "longest" }, s.longest_ms);
    }
}

static void write_advice(const struct view *v)
{
    static const struct openmetrics_family family = {
        .name = "rota_job_advised_seconds",
        .help = "What to write for a setting that does not fit how long runs take here: kind short "
                "where the next one may be stopped for nothing, large where one that hangs would "
                "go on for long.",
        SECONDS
    };

    openmetrics_head(v->out, &family);
    for (const struct device_job *d = v->manager->jobs; d; d = d->next) {
        const struct advice_told *a = d->past ? &d->past->advice : NULL;
        bool extends = d->job.spec->timing.max_runtime_ms > 0;

        if (a && a->kind != ADVICE_NONE)
            openmetrics_sample(
                v->out, &family,
                &(struct openmetrics_sample){
                    .labels = { { "job_name", d->config->name },
                                { "setting", extends ? "max_runtime" : "worst_case" },
                                { "kind", a->kind == ADVICE_SHORT ? "short" : "large" } },
                    .value = a->value_ms });
    }
}

/* --- what keeps a job from running here --- */

static const char *bar_of(const struct control *control, const struct job_config *c,
                          const struct device_job *d)
{
    if (c->invalid)
        return "invalid";
    if (!d)
        return NULL;
    if (d->fault.said)
        return "refused";
    return control_pause_text(control, c->name) ? "paused_here" : control_bar_word(&d->job);
}

/* Both lists are in order of name. */
static void write_barred(const struct view *v)
{
    static const struct openmetrics_family family = {
        .name = "rota_job_barred",
        .help = "1, and only there where something keeps the job from running here: a mistake in "
                "its configuration (invalid), what Redis says (refused), a pause of this device "
                "(paused_here), or the fleet."
    };
    const struct config *c = v->manager->generation->config;
    const struct device_job *at = v->manager->jobs;

    openmetrics_head(v->out, &family);
    for (size_t i = 0; i < c->job_count; i++) {
        const char *why =
            bar_of(v->manager->control, &c->jobs[i], control_find_job(&at, c->jobs[i].name));

        if (why)
            openmetrics_sample(
                v->out, &family,
                &(struct openmetrics_sample){
                    .labels = { { "job_name", c->jobs[i].name }, { "reason", why } }, .value = 1 });
    }
}

static void write_mixed(const struct view *v)
{
    static const struct openmetrics_family family = {
        .name = "rota_job_mixed",
        .help = "1, and only there where other devices run the job by another configuration too."
    };

    openmetrics_head(v->out, &family);
    for (const struct device_job *d = v->manager->jobs; d; d = d->next)
        if (d->job.mixed)
            openmetrics_sample(v->out, &family,
                               &(struct openmetrics_sample){
                                   .labels = { { "job_name", d->config->name } }, .value = 1 });
}

void control_metrics_write_jobs(const struct openmetrics *o, const struct manager *m,
                                struct boot now)
{
    const struct view v = { o, m, now };

    write_outcomes(&v);
    write_passes(&v);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        write_number(&v, &numbers[i]);
    write_times(&v);
    write_advice(&v);
    write_barred(&v);
    write_mixed(&v);
}
