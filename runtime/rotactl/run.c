/* SPDX-License-Identifier: MIT
 * A job by hand: run here and now, or stopped. */
#include "rotactl/call.h"
#include "rotactl/commands.h"
#include "rotactl/output.h"
#include "rotactl/word.h"
#include <sysexits.h>

/* rotad's sentence. An exit status. */
static int print(struct call *c, sd_bus_message *m)
{
    const char *word, *sentence;
    int good;

    if (sd_bus_message_read(m, "bss", &good, &word, &sentence) < 0)
        return call_say_odd(c);
    output_text(stdout, sentence);
    putchar('\n');
    return good ? 0 : STATUS_LOOK;
}

int command_run_job(struct call *c, const struct request *r)
{
    sd_bus_message *reply = NULL;
    const char *job;
    int rc = word_job(r, "run", &job);

    if (rc == 0)
        rc = call_long(c, &reply, "Run", "sbbbb", job, (int)options_has(r, OPTION_WAIT),
                       (int)options_has(r, OPTION_AS_DUE), (int)options_has(r, OPTION_FORCE),
                       (int)options_has(r, OPTION_IGNORE_LOCK));
    if (rc == 0)
        rc = print(c, reply);
    sd_bus_message_unref(reply);
    return rc;
}

int command_stop(struct call *c, const struct request *r)
{
    sd_bus_message *reply = NULL;
    const char *job;
    int rc = word_job(r, "stop", &job);

    if (rc == 0)
        rc = call_long(c, &reply, "Stop", "sb", job, (int)options_has(r, OPTION_HAND_OVER));
    if (rc == 0)
        rc = print(c, reply);
    sd_bus_message_unref(reply);
    return rc;
}
