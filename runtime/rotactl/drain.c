/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "rotactl/commands.h"
#include "rotactl/output.h"
#include "rotactl/word.h"
#include <errno.h>

/* Where nothing runs, rotad's answer takes no longer. Never 0: for sd-bus that is 25 s. */
#define ANSWER_MS 100
/* After which people are told what is waited for. */
#define SILENCE_MS 1000
/* What was asked to stop is killed after its stop_grace; then Redis is told. Longer is not waited:
 * the locks end by themselves. */
#define STOP_LIMIT_MS (2 * MINUTE_MS)

static int read_good(struct call *c, sd_bus_message *m, bool *ret_good)
{
    int good, rc = sd_bus_message_skip(m, "as");

    if (rc >= 0)
        rc = sd_bus_message_read(m, "b", &good);
    if (rc < 0)
        return call_say_odd(c);
    *ret_good = good;
    return 0;
}

/* Waits for the end of what runs. 0; an exit status, with a line; -ETIMEDOUT. */
static int drain(struct call *c, const char *method, int64_t limit_ms)
{
    sd_bus_message *reply = NULL;
    bool drained = false;
    int rc = call_wait(c, method, limit_ms, &reply);

    if (rc == 0)
        rc = read_good(c, reply, &drained);
    sd_bus_message_unref(reply);
    if (rc != 0)
        return rc;
    if (drained) {
        puts("drained: nothing runs, and nothing starts until rotactl undrain or a restart of "
             "rotad");
        return 0;
    }
    fputs("rotactl: somebody has written rotactl undrain meanwhile; jobs take turns again\n",
          stderr);
    return STATUS_LOOK;
}

/* 0, or an exit status, with a line. */
static int say_what_runs(struct call *c, const char *before)
{
    const char *device, *status;
    sd_bus_message *reply = NULL;
    int rc = call_now(c, "Status", &reply);

    if (rc == 0 && sd_bus_message_read(reply, "ss", &device, &status) < 0)
        rc = call_say_odd(c);
    if (rc == 0) {
        fputs(before, stdout);
        output_text(stdout, status);
        putchar('\n');
        (void)fflush(stdout);
    }
    sd_bus_message_unref(reply);
    return rc;
}

static int hand_over(struct call *c)
{
    int rc = say_what_runs(c, "what still runs is asked to stop, and another device may take it: ");

    if (rc == 0)
        rc = drain(c, "HandOver", STOP_LIMIT_MS);
    if (rc >= 0)
        return rc;
    rc = say_what_runs(c, "not over 2 min after it was asked to stop: ");
    return rc == 0 ? STATUS_LOOK : rc;
}

int command_drain(struct call *c, const struct request *r)
{
    int64_t asked = CALL_NO_LIMIT, limit, silence;
    int rc = word_time(r, OPTION_TIMEOUT, &asked);

    if (rc != 0)
        return rc;
    limit = asked < ANSWER_MS ? ANSWER_MS : asked;
    silence = limit < SILENCE_MS ? limit : SILENCE_MS;
    rc = drain(c, "Drain", silence);
    if (rc == -ETIMEDOUT && limit > silence) {
        rc = say_what_runs(c, "waiting: ");
        if (rc == 0)
            rc = drain(c, "Drain", limit == CALL_NO_LIMIT ? limit : limit - silence);
    }
    return rc == -ETIMEDOUT ? hand_over(c) : rc;
}

int command_undrain(struct call *c, const struct request *r)
{
    sd_bus_message *reply = NULL;
    int rc = call_now(c, "Undrain", &reply);

    (void)r;
    sd_bus_message_unref(reply);
    return rc;
}
