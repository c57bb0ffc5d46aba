/* SPDX-License-Identifier: MIT
 * Numbers for a monitor: of this device, as its rotad writes them, or of the fleet. */
#include "rotactl/commands.h"
#include "rotactl/metrics_fleet.h"
#include <stdio.h>

static int print_own(struct call *c, bool strict)
{
    sd_bus_message *reply = NULL;
    const char *text;
    int rc = call_find(c, &reply, "Metrics", "b", strict);

    if (rc < 0 || (rc == 0 && sd_bus_message_read(reply, "s", &text) <= 0))
        rc = call_say_odd(c);
    else if (rc == 0)
        fputs(text, stdout); /* rotad has escaped what is not its own */
    sd_bus_message_unref(reply);
    return rc;
}

int command_metrics(struct call *c, const struct request *r)
{
    const struct openmetrics out = { stdout, options_has(r, OPTION_OPENMETRICS) };

    return options_has(r, OPTION_FLEET) ? metrics_fleet_print(c, &out) : print_own(c, out.strict);
}
