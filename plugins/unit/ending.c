/* SPDX-License-Identifier: MIT */
#include "ending.h"
#include "exits.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

/* A service's statuses from here on are systemd's own, systemd.exec(5): it could not run the
 * program as the unit says. */
#define OWN_STATUS_MIN 200
#define OWN_STATUS_MAX 245

/* What systemd knows of a unit's last start. */
struct ending {
    char result[BUS_WORD_SIZE]; /* the service's Result */
    int condition;              /* its conditions held */
    int code;                   /* waitid(2)'s si_code of the main process; 0: none ended */
    int status;                 /* exit status, or signal */
};

/* How the systemd job that was to start it ended, where that says why it never ran. */
static const struct {
    const char *ended;
    int result;
    const char *words;
} unstarted[] = {
    { "canceled", ROTA_DECLINED, "was stopped by someone else" },
    { "dependency", ROTA_FAILED, "did not start, because a unit that it needs did not" },
    { "timeout", ROTA_FAILED, "waited for longer to start than its JobTimeoutSec= allows" },
    { "assert", ROTA_FAILED, "did not start, because one of its Assert lines does not hold" },
    { "unsupported", ROTA_REFUSED, "is of a kind that this machine does not have" },
    { "once", ROTA_REFUSED, "starts only once after a boot, and has been started before" },
};

/* Values of Result, but for those that are told with a number. */
static const struct {
    const char *result, *words;
} failures[] = {
    { "timeout", "took longer than its own RuntimeMaxSec= or a TimeoutSec= allows" },
    { "watchdog", "did not feed its watchdog, and was ended" },
    { "oom-kill", "was ended, because the memory had run out" },
    { "start-limit-hit",
      "was started too often in a short time; write StartLimitIntervalSec=0 into its [Unit]" },
    { "resources", "did not start, because the machine lacked what that takes" },
    { "protocol", "did not start in the way that its Type= says" },
};

/* Where a reader finds the rest. */
#define MORE "; journalctl -u %s says more"

static int read_ending(struct bus *b, struct ending *ret_ending)
{
    struct ending e = { .code = 0 };
    int r = bus_word(b, true, "Result", e.result);

    if (r >= 0)
        r = bus_value(b, false, "ConditionResult", 'b', &e.condition);
    if (r >= 0)
        r = bus_value(b, true, "ExecMainCode", 'i', &e.code);
    if (r >= 0)
        r = bus_value(b, true, "ExecMainStatus", 'i', &e.status);
    if (r < 0)
        return r;
    *ret_ending = e;
    return 0;
}

static int result_of_exit(const struct bus *b, int status)
{
    int result = exits_listed(b->run, status);

    if (result == ROTA_NOTHING)
        return result;
    if (status >= OWN_STATUS_MIN && status <= OWN_STATUS_MAX && result < 0)
        return rota_fail(b->run, ROTA_FAILED,
                         "%s: systemd could not run its program (status %d)" MORE, b->unit, status,
                         b->unit);
    return rota_fail(b->run, result < 0 ? ROTA_FAILED : result, "%s ended with exit status %d" MORE,
                     b->unit, status, b->unit);
}

static int result_of_signal(const struct bus *b, int number)
{
    const char *name = sigabbrev_np(number);

    return rota_fail(b->run, ROTA_FAILED, "%s was killed by signal %d (SIG%s)" MORE, b->unit,
                     number, name ? name : "?", b->unit);
}

static int result_of_failure(const struct bus *b, const struct ending *e)
{
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (strcmp(e->result, failures[i].result) == 0)
            return rota_fail(b->run, ROTA_FAILED, "%s %s" MORE, b->unit, failures[i].words,
                             b->unit);
    if (strcmp(e->result, "exit-code") == 0 && e->code == CLD_EXITED && e->status != 0)
        return result_of_exit(b, e->status);
    if (strcmp(e->result, "exit-code") == 0)
        return rota_fail(b->run, ROTA_FAILED,
                         "%s: a command beside its main one ended with an error" MORE, b->unit,
                         b->unit);
    if (e->code == CLD_KILLED || e->code == CLD_DUMPED)
        return result_of_signal(b, e->status);
    return rota_fail(b->run, ROTA_FAILED, "%s failed (%s)" MORE, b->unit, e->result, b->unit);
}

int ending_result(struct bus *b)
{
    struct ending e;
    int r = read_ending(b, &e);

    if (r < 0)
        return rota_fail(b->run, ROTA_FAILED, "systemd does not tell how %s ended: %s", b->unit,
                         b->error.message ? b->error.message : strerror(-r));
    if (b->interfered)
        return rota_fail(b->run, ROTA_DECLINED, "%s was stopped by someone else", b->unit);
    for (size_t i = 0; i < sizeof(unstarted) / sizeof(unstarted[0]); i++)
        if (strcmp(b->ended, unstarted[i].ended) == 0)
            return rota_fail(b->run, unstarted[i].result, "%s %s" MORE, b->unit, unstarted[i].words,
                             b->unit);
    if (strcmp(e.result, "exec-condition") == 0 ||
        (strcmp(e.result, "success") == 0 && !e.condition))
        /* They are about this machine: another may be one where they hold. */
        return rota_fail(b->run, ROTA_DECLINED,
                         "%s did not run: one of its conditions does not hold here" MORE, b->unit,
                         b->unit);
    if (strcmp(e.result, "success") != 0)
        return result_of_failure(b, &e);
    /* To systemd some signals are a good end of a service that is no oneshot; half of the work is
     * none. */
    if (e.code == CLD_KILLED || e.code == CLD_DUMPED)
        return result_of_signal(b, e.status);
    /* SuccessExitStatus= makes a success of more than 0; a list of the job's says what it means. */
    if (e.code == CLD_EXITED && e.status != 0 && exits_listed(b->run, e.status) >= 0)
        return result_of_exit(b, e.status);
    return ROTA_SUCCEEDED;
}
