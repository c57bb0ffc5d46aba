/* SPDX-License-Identifier: MIT
 * unit: a service of systemd's as a job. systemd gives user, sandbox, limits and logs; rota gives
 * the turn, and the stop. */
#include "bus.h"
#include "ending.h"
#include "exits.h"
#include "lifeline.h"
#include "name.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define US_PER_MS 1000
#define MS_PER_S 1000
/* What the run has used up before: a limit of the worst case itself must do. */
#define LIMIT_SPARE_MS 1000
#define KILL_AGAIN_MS 1000

static const struct rota_param params[] = {
    { .name = "unit",
      .type = ROTA_STRING,
      .flags = ROTA_REQUIRED,
      .help =
          "The service: \"backup.service\", or an instance of a template, \"backup@db.service\"." },
    EXITS_PARAMS,
    { .name = "kill_after",
      .type = ROTA_DURATION,
      .def = "3s",
      .min = "0s",
      .max = "10m",
      .help = "Between stopping the unit and killing what is left of it; less than stop_grace." },
    { .name = NULL },
};

/* Errors by their D-Bus name, as far as they are no mere failure. */
static const struct {
    const char *name;
    int result;
    const char *words;
} refusals[] = {
    { "org.freedesktop.systemd1.UnitMasked", ROTA_REFUSED, "is masked; systemctl unmask frees it" },
    { "org.freedesktop.systemd1.NoSuchUnit", ROTA_REFUSED, "is no unit that systemd knows" },
    { "org.freedesktop.systemd1.OnlyByDependency", ROTA_REFUSED,
      "may be started by other units only; take RefuseManualStart= or RefuseManualStop= out of "
      "it" },
    { "org.freedesktop.systemd1.BadUnitSetting", ROTA_REFUSED,
      "has a mistake in its file; systemd-analyze verify names it" },
    /* The name of the lifeline. */
    { "org.freedesktop.systemd1.UnitExists", ROTA_DECLINED, "is being run by another job" },
    { "org.freedesktop.systemd1.TransactionIsDestructive", ROTA_DECLINED,
      "cannot start while the machine shuts down" },
};

static bool is_denied(const struct bus *b)
{
    return sd_bus_error_has_names(&b->error, SD_BUS_ERROR_ACCESS_DENIED,
                                  SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED);
}

static const char *user_name(void)
{
    const char *name = getenv("USER");

    return name ? name : "the job's user";
}

static int say_denied(const struct bus *b)
{
    return rota_fail(
        b->run, ROTA_REFUSED,
        "%s may not start %s; write user = \"root\" in the job, or let polkit allow it "
        "(rota-plugins(7))",
        user_name(), b->unit);
}

/* What systemd answered, or did not. */
static int say_refused(const struct bus *b, int e)
{
    if (is_denied(b))
        return say_denied(b);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        if (sd_bus_error_has_name(&b->error, refusals[i].name))
            return rota_fail(b->run, refusals[i].result, "%s %s", b->unit, refusals[i].words);
    return rota_fail(b->run, ROTA_FAILED, "%s: systemd says: %s", b->unit,
                     b->error.message ? b->error.message : strerror(-e));
}

static int say_lost(const struct bus *b, int e)
{
    return rota_fail(b->run, ROTA_FAILED, "systemd cannot be asked about %s any more: %s", b->unit,
                     b->error.message ? b->error.message : strerror(-e));
}

static int say_stopped(const struct bus *b)
{
    return rota_fail(b->run, ROTA_DECLINED, "%s was stopped", b->unit);
}

static int check(const struct rota_run *r)
{
    char buf[512];
    const char *name = rota_string(r, "unit"), *why = name_why_not(name, buf, sizeof(buf));

    if (why)
        return rota_fail(r, ROTA_REFUSED, "unit: \"%s\" %s", name, why);
    return exits_check(r);
}

/* Whether the unit's file is there, and such that its end can be seen, by this user. */
static int look_at_file(struct bus *b)
{
    char load[BUS_WORD_SIZE];
    int remains = 0, r = bus_word(b, false, "LoadState", load);

    if (r < 0)
        return say_refused(b, r);
    if (strcmp(load, "not-found") == 0)
        return rota_fail(b->run, ROTA_REFUSED,
                         "there is no %s; systemctl cat shows what systemd knows by a name",
                         b->unit);
    if (strcmp(load, "masked") == 0)
        return rota_fail(b->run, ROTA_REFUSED, "%s is masked; systemctl unmask frees it", b->unit);
    if (strcmp(load, "loaded") != 0)
        return rota_fail(b->run, ROTA_REFUSED,
                         "%s has a mistake in its file; systemd-analyze verify names it", b->unit);
    r = bus_value(b, true, "RemainAfterExit", 'b', &remains);
    if (r < 0)
        return say_refused(b, r);
    if (remains)
        return rota_fail(b->run, ROTA_REFUSED,
                         "%s stays active after its end, which is not seen then; take "
                         "RemainAfterExit=yes out of it",
                         b->unit);
    r = bus_keep(b);
    return r < 0 ? say_refused(b, r) : ROTA_SUCCEEDED;
}

/* What an earlier run left behind may still be ending; what runs is not this turn's. */
static int wait_until_free(struct bus *b)
{
    struct bus_state s;

    for (;;) {
        int r = bus_look(b, &s);

        if (r < 0)
            return say_refused(b, r);
        if (bus_is_down(&s)) {
            /* What is said of the earlier run must not be taken for this one's. */
            r = bus_catch_up(b);
            return r < 0 ? say_lost(b, r) : ROTA_SUCCEEDED;
        }
        if (strcmp(s.active, "deactivating") != 0)
            return rota_fail(b->run, ROTA_DECLINED, "%s is running already", b->unit);
        if (exits_by_stop(b->run))
            return say_stopped(b);
        r = bus_wait(b, true, -1);
        if (r < 0)
            return say_lost(b, r);
    }
}

/* How long systemd itself lets the service run, UINT64_MAX: for ever; and by which lines. */
static int read_limit(struct bus *b, uint64_t *ret_us, const char **ret_lines)
{
    uint64_t start_us, run_us;
    char type[BUS_WORD_SIZE];
    int r = bus_word(b, true, "Type", type);

    if (r >= 0)
        r = bus_value(b, true, "TimeoutStartUSec", 't', &start_us);
    if (r >= 0)
        r = bus_value(b, true, "RuntimeMaxUSec", 't', &run_us);
    if (r < 0)
        return r;
    if (strcmp(type, "oneshot") == 0) {
        *ret_us = start_us;
        *ret_lines = "TimeoutStartSec=";
    } else if (strcmp(type, "simple") == 0 || strcmp(type, "exec") == 0 ||
               strcmp(type, "idle") == 0) {
        *ret_us = run_us;
        *ret_lines = "RuntimeMaxSec=";
    } else { /* works already while it starts */
        *ret_us = start_us > UINT64_MAX - run_us ? UINT64_MAX : start_us + run_us;
        *ret_lines = "TimeoutStartSec= and RuntimeMaxSec= of together ";
    }
    return 0;
}

/* The unit's own limit serves where the job's user may start the unit, and no other. */
static int look_at_limit(struct bus *b)
{
    int64_t most_ms = b->run->budget_left_ms(b->run) + LIMIT_SPARE_MS;
    const char *lines;
    uint64_t limit_us;
    int r = read_limit(b, &limit_us, &lines);

    if (r < 0)
        return say_refused(b, r);
    if (limit_us <= (uint64_t)most_ms * US_PER_MS)
        return ROTA_SUCCEEDED;
    return rota_fail(b->run, ROTA_REFUSED,
                     "nothing ends %s where rota is killed; write user = \"root\" in the job, or "
                     "%s%" PRId64 " into %s",
                     b->unit, lines, most_ms / MS_PER_S > 0 ? most_ms / MS_PER_S : 1, b->unit);
}

/* ROTA_SUCCEEDED: the lifeline stands, or none is needed. */
static int bind_to_life(struct bus *b, int *ret_lifeline)
{
    int r, fd = lifeline_open(b);

    if (fd < 0)
        return is_denied(b) ? look_at_limit(b) : say_refused(b, fd);
    *ret_lifeline = fd;
    while (!b->ended[0]) {
        if (exits_by_stop(b->run))
            return say_stopped(b);
        r = bus_wait(b, true, -1);
        if (r < 0)
            return say_lost(b, r);
    }
    if (strcmp(b->ended, "done") != 0)
        return rota_fail(b->run, ROTA_FAILED,
                         "systemd cannot run /bin/sh, which is to end %s where rota is killed (%s)",
                         b->unit, b->ended);
    return ROTA_SUCCEEDED;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

/* Below 0: longer than a wait takes. */
static int left_ms(int64_t at_ms)
{
    int64_t left = at_ms - now_ms();

    if (left > INT_MAX)
        return -1;
    return left < 0 ? 0 : (int)left;
}

/* Stops it, and comes back when it is down. */
static int stop(struct bus *b)
{
    int64_t kill_at_ms = now_ms() + rota_duration_ms(b->run, "kill_after");
    struct bus_state s;
    int r = bus_stop(b);

    if (r < 0)
        return say_refused(b, r);
    for (;;) {
        r = bus_look(b, &s);
        if (r >= 0 && bus_is_down(&s)) {
            b->running = false;
            return say_stopped(b);
        }
        if (r >= 0 && now_ms() >= kill_at_ms) {
            /* Again, since systemd may start more of it (ExecStopPost=). Where the last process
             * has just gone there is nothing to kill, which is no trouble. */
            (void)bus_kill(b);
            kill_at_ms = now_ms() + KILL_AGAIN_MS;
        }
        if (r >= 0)
            r = bus_wait(b, false, left_ms(kill_at_ms));
        if (r < 0)
            return say_lost(b, r);
    }
}

/* Starts it, and comes back when it is down, or with an error. */
static int play(struct bus *b)
{
    struct bus_state s;
    int r = bus_start(b);

    if (r < 0)
        return say_refused(b, r);
    for (;;) {
        if (exits_by_stop(b->run))
            return stop(b);
        r = bus_look(b, &s);
        if (r >= 0 && bus_is_down(&s)) {
            r = bus_catch_up(b);
            if (r < 0)
                return say_lost(b, r);
            b->running = false;
            return ending_result(b);
        }
        if (r >= 0)
            r = bus_wait(b, true, -1);
        if (r < 0)
            return say_lost(b, r);
    }
}

/* stop_fd tells of the stop, so no call over the bus has to end half-way. */
static void block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Whatever else was wrong, the run is not over before the unit is. */
static void let_go(struct bus *b, int lifeline)
{
    struct pollfd stop = { .fd = b->run->stop_fd, .events = POLLIN };

    /* By the worst case its own limit has ended it. */
    if (b->running && lifeline < 0)
        while (poll(&stop, 1, -1) < 0 && errno == EINTR)
            continue;
    lifeline_close(lifeline, !b->running);
    bus_close(b);
}

static int run(const struct rota_run *r)
{
    const char *unit = rota_string(r, "unit");
    int lifeline = -1, e, result = check(r);
    struct bus b;

    if (result != ROTA_SUCCEEDED)
        return result;
    block_signals();
    e = bus_open(&b, r, unit);
    if (e < 0)
        result =
            b.bus ? say_refused(&b, e)
                  : rota_fail(r, ROTA_FAILED, "the system bus cannot be reached: %s", strerror(-e));
    if (result == ROTA_SUCCEEDED)
        result = look_at_file(&b);
    if (result == ROTA_SUCCEEDED)
        result = wait_until_free(&b);
    if (result == ROTA_SUCCEEDED)
        result = bind_to_life(&b, &lifeline);
    /* That took a while, in which a timer may have started it. */
    if (result == ROTA_SUCCEEDED)
        result = wait_until_free(&b);
    if (result == ROTA_SUCCEEDED)
        result = exits_by_stop(r) ? say_stopped(&b) : play(&b);
    let_go(&b, lifeline);
    return result;
}

ROTA_PLUGIN(.name = "unit", .version = ROTA_VERSION, .summary = "Starts a service of systemd's.",
            .params = params, .run = run, .check = check);
