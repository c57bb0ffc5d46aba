/* SPDX-License-Identifier: MIT */
#include "supervisor/check.h"

#include "base/units.h"
#include "config/config.h"
#include "supervisor/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <systemd/sd-event.h>
#include <time.h>

#define TURNS_SHOWN 3

struct check {
    sd_event *event;
    struct probe *probe;
    struct worker_user user;
};

static int on_child(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    struct check *k = context;
    pid_t pid;
    int status;

    (void)source;
    (void)info;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        probe_child_ended(k->probe, pid, status);
    return 0;
}

static void on_done(void *context, struct config *config)
{
    struct check *k = context;

    (void)config;
    sd_event_exit(k->event, 0);
}

static int run_probe(struct check *k, struct config *config)
{
    sigset_t child;
    int r;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
        return -errno;
    r = sd_event_new(&k->event);
    if (r < 0)
        return r;
    r = sd_event_add_signal(k->event, NULL, SIGCHLD, on_child, k);
    if (r < 0)
        return r;
    r = probe_new(
        &(struct probe_env){ .event = k->event, .user = &k->user, .done = on_done, .context = k },
        config, &k->probe);
    return r < 0 ? r : sd_event_loop(k->event);
}

static int probe_all(struct config *config)
{
    struct check k = { 0 };
    int r = worker_user_find(config, &k.user);

    if (r == -ENOENT) /* a mistake of job_user, found before; nobody is there to load a plugin as */
        return 0;
    if (r >= 0)
        r = run_probe(&k, config);
    probe_free(k.probe);
    sd_event_unref(k.event);
    return r;
}

/* Where the file of problem i is named for the first time: files keep the order in which they
 * were read. */
static size_t first_of_file(const struct problems *p, size_t i)
{
    size_t first = 0;

    while (strcmp(p->items[first].file, p->items[i].file) != 0)
        first++;
    return first;
}

static int compare_problems(const void *a, const void *b, void *context)
{
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const struct problems *p = context;
    size_t file_i = first_of_file(p, i), file_j = first_of_file(p, j);

    if (file_i != file_j)
        return file_i < file_j ? -1 : 1;
    if (p->items[i].line != p->items[j].line)
        return p->items[i].line < p->items[j].line ? -1 : 1;
    return i < j ? -1 : 1;
}

/* In the order of the files' lines: the probe's problems came last, whatever their place. */
static int print_problems(const struct config *c)
{
    struct problems sorted = c->problems;
    size_t *order = calloc(sorted.count + 1, sizeof(*order));

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < sorted.count; i++)
        order[i] = i;
    qsort_r(order, sorted.count, sizeof(*order), compare_problems, &sorted);
    for (size_t i = 0; i < sorted.count; i++) {
        const struct problem *problem = &sorted.items[order[i]];
        char *text = config_problem_text(problem);

        fprintf(stderr, "%s%s\n", text ? text : problem->text,
                problem->level == PROBLEM_WARNING ? " (a warning)" : "");
        free(text);
    }
    if (sorted.count < sorted.errors + sorted.warnings)
        fprintf(stderr, "the first %zu are shown, of %zu in all\n", sorted.count,
                sorted.errors + sorted.warnings);
    free(order);
    return 0;
}

/* As coarse as all three turns allow: "02:30", "02:30:05" or "02:30:05.250". */
static void print_clock(const struct tm *utc, int64_t ms, int64_t finest_ms)
{
    printf("%02d:%02d", utc->tm_hour, utc->tm_min);
    if (finest_ms % MINUTE_MS != 0)
        printf(":%02d", utc->tm_sec);
    if (finest_ms % SECOND_MS != 0)
        printf(".%03d", (int)(ms % SECOND_MS));
}

/* Each turn by its clock time, with the date where it is another than the one before. */
static void print_turns(const struct schedule *schedule, struct wall now)
{
    struct wall turns[TURNS_SHOWN];
    int64_t finest_ms = 0;
    int day = -1, year = 0;

    for (int i = 0; i < TURNS_SHOWN; i++) {
        turns[i] = schedule_next(schedule, i == 0 ? now : turns[i - 1]);
        if (turns[i].ms % SECOND_MS != 0 || (finest_ms == 0 && turns[i].ms % MINUTE_MS != 0))
            finest_ms = turns[i].ms;
    }
    fputs("  next      ", stdout);
    for (int i = 0; i < TURNS_SHOWN; i++) {
        time_t seconds = (time_t)(turns[i].ms / SECOND_MS);
        struct tm utc;

        if (!gmtime_r(&seconds, &utc))
            break;
        fputs(i == 0 ? "" : ", ", stdout);
        if (utc.tm_yday != day || utc.tm_year != year)
            printf("%04d-%02d-%02d ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
        print_clock(&utc, turns[i].ms, finest_ms);
        day = utc.tm_yday;
        year = utc.tm_year;
    }
    fputs("\n", stdout);
}

static void print_timing(const struct job_spec *spec)
{
    const struct timing *t = &spec->timing;
    char worst[UNITS_SIZE], lease[UNITS_SIZE], grace[UNITS_SIZE], renew[UNITS_SIZE];

    printf("  timing    worst case %s, lease %s, grace %s, ",
           units_say_duration(t->worst_case_ms, worst, sizeof(worst)),
           units_say_duration(t->lease_ms, lease, sizeof(lease)),
           units_say_duration(t->stop_grace_ms, grace, sizeof(grace)));
    if (t->renew_ms > 0)
        printf("renewed every %s\n", units_say_duration(t->renew_ms, renew, sizeof(renew)));
    else
        printf("never renewed\n");
}

static void print_takeover(const struct job_spec *spec)
{
    int64_t within_ms = timing_takeover_ms(&spec->timing, spec->splay_ms);
    char within[UNITS_SIZE];

    units_say_duration(within_ms, within, sizeof(within));
    if (spec->attempts == 1)
        puts("  takeover  none: after a crash the turn is not tried again (attempts = 1)");
    else if (within_ms >= schedule_period_ms(&spec->schedule))
        printf("  takeover  none: the next turn comes first; after a crash within %s\n", within);
    else
        printf("  takeover  a crash is taken over within %s, %u attempts in all\n", within,
               spec->attempts);
}

static void print_jobs(const struct config *c)
{
    struct timespec ts;
    struct wall now;
    bool any = false;

    clock_gettime(CLOCK_REALTIME, &ts);
    now.ms = ts.tv_sec * SECOND_MS + ts.tv_nsec / 1000000;
    for (size_t i = 0; i < c->job_count; i++) {
        const struct job_config *job = &c->jobs[i];

        if (job->invalid)
            continue;
        if (!any)
            puts("Turns are in UTC, by this device's own clock.\n");
        any = true;
        puts(job->name);
        print_turns(&job->spec.schedule, now);
        print_timing(&job->spec);
        print_takeover(&job->spec);
        puts("");
    }
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static const char *file_name(const struct options *o)
{
    return o->config_file ? o->config_file : ROTA_SYSCONFDIR "/rota/rotad.conf";
}

static void print_sum(const struct config *c, const char *file)
{
    size_t errors = c->problems.errors, warnings = c->problems.warnings;

    if (errors > 0)
        printf("%s: %zu mistake%s", file, errors, plural(errors));
    else if (c->job_count == 0)
        printf("%s: no jobs yet, all good", file);
    else
        printf("%s: %zu job%s, all good", file, c->job_count, plural(c->job_count));
    if (warnings > 0)
        printf(", %zu warning%s", warnings, plural(warnings));
    puts("");
}

static int say_impossible(const char *what, int error)
{
    fprintf(stderr, "rotad: %s: %s\n", what, strerror(-error));
    return EX_OSERR;
}

/* The last word: a full disk or a closed pipe is no success. */
static int end_output(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return say_impossible("standard output cannot be written", -errno);
    return status;
}

static int check(struct config *c, const char *file)
{
    int r = probe_all(c);

    if (r < 0)
        return say_impossible("the plugins cannot be probed", r);
    r = print_problems(c);
    if (r < 0)
        return say_impossible("the check was given up", r);
    print_jobs(c);
    print_sum(c, file);
    return end_output(c->problems.errors > 0 ? EX_CONFIG : 0);
}

static int print(struct config *c)
{
    int r = print_problems(c);

    if (r < 0)
        return say_impossible("the configuration cannot be printed", r);
    if (c->fatal)
        return EX_CONFIG;
    r = config_print(c, stdout);
    if (r < 0)
        return say_impossible("the configuration cannot be printed", r);
    return end_output(0);
}

int check_main(const struct options *o)
{
    struct config_source source = { .file = o->config_file, .plugin_dir_default = ROTA_PLUGINDIR };
    struct config *c;
    int r;

    r = config_load(&source, &c);
    if (r < 0)
        return say_impossible("the configuration cannot be read", r);
    r = o->mode == MODE_PRINT ? print(c) : check(c, file_name(o));
    config_free(c);
    return r;
}
