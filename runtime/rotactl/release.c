/* SPDX-License-Identifier: MIT
 * What is deleted in Redis by a person's hand: a lock, or all of a job. */
#include "base/units.h"
#include "rotactl/call.h"
#include "rotactl/commands.h"
#include "rotactl/fleet_answer.h"
#include "rotactl/fleet_known.h"
#include "rotactl/output.h"
#include "rotactl/word.h"
#include <stdlib.h>
#include <string.h>

static void say(const char *before, const char *text, const char *after)
{
    fputs(before, stdout);
    output_text(stdout, text);
    puts(after);
}

/* --- release --- */

static void show_holder(const char *job, const char *holder, int64_t left_ms)
{
    char left[UNITS_SIZE];

    output_text(stdout, job);
    say(": the lock is held by ", holder, ".");
    if (left_ms >= 0)
        printf("It ends by itself in %s, unless it is renewed.\n",
               units_say_duration(left_ms, left, sizeof left));
    else
        puts("It never ends by itself.");
    puts("If that device still runs the job, another one may run it at the same time, until the\n"
         "first one notices: at its next renewal, or at the end of what it was given.");
}

/* Anything but "yes" leaves it as it is. */
static bool is_wanted(void)
{
    char line[16];

    fputs("Release it? Write yes: ", stdout);
    (void)fflush(stdout);
    return fgets(line, sizeof line, stdin) && strcmp(line, "yes\n") == 0;
}

/* By the token that was shown, and no other. */
static int release(struct call *c, const char *job, const char *holder)
{
    const char *word, *present;
    sd_bus_message *reply = NULL;
    int64_t now;
    int rc = call_ask(c, &reply, "Release", "ss", job, holder);

    if (rc == 0 && sd_bus_message_read(reply, "sxs", &word, &now, &present) < 0)
        rc = call_say_odd(c);
    if (rc == 0 && strcmp(word, "released") == 0) {
        puts("released");
    } else if (rc == 0) {
        if (*present)
            say("left as it is: it is held by ", present, " now");
        else
            puts("nothing to release: nobody holds it any more");
        rc = STATUS_LOOK;
    }
    sd_bus_message_unref(reply);
    return rc;
}

static int ask_and_release(struct call *c, const char *job)
{
    sd_bus_message *reply = NULL;
    struct fleet_look look;
    int rc = call_ask(c, &reply, "FleetJob", "s", job);

    if (rc == 0 && fleet_answer_look(reply, &look) < 0)
        rc = call_say_odd(c);
    if (rc == 0 && !*look.holder) {
        rc = fleet_known_check(c, job);
        if (rc == 0)
            puts("nobody holds the job's lock");
    } else if (rc == 0) {
        show_holder(job, look.holder, look.left_ms);
        if (is_wanted()) {
            rc = release(c, job, look.holder);
        } else {
            puts("left as it is");
            rc = STATUS_LOOK;
        }
    }
    sd_bus_message_unref(reply);
    return rc;
}

/* --- forget --- */

/* Also where nothing is known of the job: leftovers go. 0, or an exit status. */
static int say_forgotten(const char *job, bool was_known)
{
    if (!was_known) {
        say("Redis knew nothing of ", job, "; rotactl fleet has all jobs");
        return STATUS_LOOK;
    }
    say("forgotten: Redis knows nothing of ", job, " any more");
    return 0;
}

static int forget(struct call *c, const char *job)
{
    const char *word, *by;
    sd_bus_message *reply = NULL;
    int64_t now;
    bool known = false;
    int rc = fleet_known_trace(c, job, &known);

    if (rc == 0)
        rc = call_ask(c, &reply, "Forget", "s", job);
    if (rc == 0 && sd_bus_message_read(reply, "sxs", &word, &now, &by) < 0)
        rc = call_say_odd(c);
    if (rc == 0 && strcmp(word, "forgotten") == 0) {
        rc = say_forgotten(job, known);
    } else if (rc == 0) {
        if (strcmp(word, "used") == 0)
            puts("left as it is: a device that was heard of lately has the job in its "
                 "configuration; take it out there first");
        else
            say("left as it is: it is held by ", by, "");
        rc = STATUS_LOOK;
    }
    sd_bus_message_unref(reply);
    return rc;
}

/* --- the commands --- */

int command_release(struct call *c, const struct request *r)
{
    const char *job;
    int rc = word_job(r, "release", &job);

    return rc == 0 ? ask_and_release(c, job) : rc;
}

int command_forget(struct call *c, const struct request *r)
{
    const char *job;
    int rc = word_job(r, "forget", &job);

    return rc == 0 ? forget(c, job) : rc;
}
