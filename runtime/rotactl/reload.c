/* SPDX-License-Identifier: MIT */
#include "rotactl/commands.h"
#include "rotactl/output.h"
#include <sysexits.h>

/* rotad gives up after two minutes; it may have to end another reload first. */
#define RELOAD_LIMIT_MS 250000

/* rotad's lines; whether the configuration is in use, or negative errno. */
static int print(sd_bus_message *m)
{
    const char *line;
    int good, rc = sd_bus_message_enter_container(m, 'a', "s");

    if (rc < 0)
        return rc;
    while ((rc = sd_bus_message_read(m, "s", &line)) > 0) {
        output_text(stdout, line);
        putchar('\n');
    }
    if (rc >= 0)
        rc = sd_bus_message_exit_container(m);
    if (rc >= 0)
        rc = sd_bus_message_read(m, "b", &good);
    return rc < 0 ? rc : good;
}

static int ask(struct call *c, const char *method, bool *ret_good)
{
    sd_bus_message *reply = NULL;
    int good = 0, rc = call_wait(c, method, RELOAD_LIMIT_MS, &reply);

    if (rc == 0) {
        good = print(reply);
        rc = good < 0 ? call_say_odd(c) : good ? 0 : EX_CONFIG;
    } else if (rc < 0) {
        fputs("rotactl: rotad has not read the configuration within 4 min; its journal says how it "
              "went\n",
              stderr);
        rc = STATUS_NO_ANSWER;
    }
    sd_bus_message_unref(reply);
    *ret_good = good > 0;
    return rc;
}

int command_reload(struct call *c, const struct request *r)
{
    bool good;

    (void)r;
    return ask(c, "Reload", &good);
}

int command_check(struct call *c, const struct request *r)
{
    bool good;
    int rc = ask(c, "Check", &good);

    (void)r;
    if (good)
        puts("a reload would take it");
    return rc;
}
