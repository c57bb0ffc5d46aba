/* SPDX-License-Identifier: MIT
 * A job that this device, or none of the fleet, is to run for a while, and its return. */
#include "rotactl/call.h"
#include "rotactl/commands.h"
#include "rotactl/fleet_known.h"
#include "rotactl/output.h"
#include "rotactl/word.h"
#include <stdio.h>
#include <sysexits.h>

static int refuse(const char *sentence)
{
    fprintf(stderr, "rotactl: %s\n", sentence);
    return EX_USAGE;
}

/* What stood there before. 0, or an exit status, with a line. */
static int read_before(struct call *c, sd_bus_message *m, const char **ret_before)
{
    const char *word;
    int64_t now;

    return sd_bus_message_read(m, "sxs", &word, &now, ret_before) < 0 ? call_say_odd(c) : 0;
}

static void say_before(const char *before, const char *sentence)
{
    fputs(sentence, stdout);
    output_text(stdout, before);
    putchar('\n');
}

static int pause_job(struct call *c, const char *job, const char *why, int64_t for_ms)
{
    const char *before;
    sd_bus_message *reply = NULL;
    int rc = fleet_known_check(c, job);

    if (rc == 0)
        rc = call_ask(c, &reply, "Pause", "ssx", job, why, for_ms);
    if (rc == 0)
        rc = read_before(c, reply, &before);
    if (rc == 0) {
        puts("paused: no device starts it; what runs goes on to its end");
        if (*before)
            say_before(before, "this took the place of a pause by ");
    }
    sd_bus_message_unref(reply);
    return rc;
}

static int resume_job(struct call *c, const char *job, bool catch_up)
{
    const char *before;
    sd_bus_message *reply = NULL;
    int rc = call_ask(c, &reply, "Resume", "sb", job, (int)catch_up);

    if (rc == 0)
        rc = read_before(c, reply, &before);
    if (rc == 0 && *before) {
        say_before(before, "resumed; it was paused by ");
    } else if (rc == 0) {
        rc = fleet_known_check(c, job);
        if (rc == 0)
            puts("it was not paused");
    }
    sd_bus_message_unref(reply);
    return rc;
}

/* What stood there before, and whether a turn is taken after all. 0, or an exit status, with a
 * line. */
static int read_here(struct call *c, sd_bus_message *m, const char **ret_before, int *ret_taken_up)
{
    return sd_bus_message_read(m, "sb", ret_before, ret_taken_up) < 0 ? call_say_odd(c) : 0;
}

static int pause_here(struct call *c, const char *job, const char *why, int64_t for_ms)
{
    const char *before;
    sd_bus_message *reply = NULL;
    int taken_up, rc = call_ask(c, &reply, "PauseHere", "ssx", job, why, for_ms);

    if (rc == 0)
        rc = read_here(c, reply, &before, &taken_up);
    if (rc == 0) {
        printf("paused on this device, until %srotad ends; what runs goes on to its end\n",
               for_ms > 0 ? "that time is over, or " : "it is resumed, or ");
        if (*before)
            say_before(before, "this took the place of a pause by ");
    }
    sd_bus_message_unref(reply);
    return rc;
}

static int resume_here(struct call *c, const char *job, bool catch_up)
{
    const char *before;
    sd_bus_message *reply = NULL;
    int taken_up, rc = call_ask(c, &reply, "ResumeHere", "sb", job, (int)catch_up);

    if (rc == 0)
        rc = read_here(c, reply, &before, &taken_up);
    if (rc == 0 && *before)
        say_before(before, "resumed; it was paused by ");
    else if (rc == 0)
        puts("it was not paused on this device");
    if (rc == 0 && catch_up)
        puts(taken_up ? "the turn that fell due meanwhile is asked for now"
                      : "no turn is to be taken after all");
    sd_bus_message_unref(reply);
    return rc;
}

int command_pause(struct call *c, const struct request *r)
{
    const char *job;
    int64_t for_ms = 0;
    int rc = word_job(r, "pause", &job);

    if (rc == 0 && !options_has(r, OPTION_REASON))
        rc = refuse("say why, for the others: --reason \"NAS full\"");
    if (rc == 0)
        rc = word_time(r, OPTION_FOR, &for_ms);
    if (rc == 0 && options_has(r, OPTION_FOR) && for_ms == 0)
        rc = word_say_no_time(r, OPTION_FOR);
    if (rc != 0)
        return rc;
    if (options_has(r, OPTION_FLEET))
        return pause_job(c, job, r->values[OPTION_REASON], for_ms);
    return pause_here(c, job, r->values[OPTION_REASON], for_ms);
}

int command_resume(struct call *c, const struct request *r)
{
    const char *job;
    int rc = word_job(r, "resume", &job);

    if (rc != 0)
        return rc;
    if (options_has(r, OPTION_FLEET))
        return resume_job(c, job, options_has(r, OPTION_CATCH_UP));
    return resume_here(c, job, options_has(r, OPTION_CATCH_UP));
}
