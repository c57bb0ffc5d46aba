/* SPDX-License-Identifier: MIT
 * The least that a plugin can do, and with WAITS: until it is asked to stop. */
#include <poll.h>
#include <rota/plugin.h>

static int run(const struct rota_run *r)
{
#ifdef WAITS
    struct pollfd stop = { .fd = r->stop_fd, .events = POLLIN };

    rota_log(r, ROTA_INFO, "ready");
    poll(&stop, 1, -1);
#else
    (void)r;
#endif
    return ROTA_SUCCEEDED;
}

ROTA_PLUGIN(.name = "trivial", .version = "1", .summary = "Does next to nothing.", .run = run);
