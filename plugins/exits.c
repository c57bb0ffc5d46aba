/* SPDX-License-Identifier: MIT */
#include "exits.h"

#include <ctype.h>
#include <poll.h>
#include <stdlib.h>

#define STATUS_MAX 255
/* sysexits.h's EX_TEMPFAIL, as in the default of decline_exit. */
#define DECLINE_DEFAULT 75

static const struct {
    const char *param;
    int result;
} exits[] = {
    { "nothing_exit", ROTA_NOTHING },
    { "decline_exit", ROTA_DECLINED },
    { "refuse_exit", ROTA_REFUSED },
};

#define EXITS (sizeof(exits) / sizeof(exits[0]))

/* 1 ... 255, or -1. */
static int status_of(const char *text)
{
    char *end;
    long status;

    if (!isdigit((unsigned char)text[0]))
        return -1;
    status = strtol(text, &end, 10);
    return *end || status < 1 || status > STATUS_MAX ? -1 : (int)status;
}

int exits_listed(const struct rota_run *r, int status)
{
    for (size_t i = 0; i < EXITS; i++)
        for (const char *const *at = rota_strings(r, exits[i].param); *at; at++)
            if (status_of(*at) == status)
                return exits[i].result;
    return -1;
}

int exits_check(const struct rota_run *r)
{
    bool seen[STATUS_MAX + 1] = { false };

    for (size_t i = 0; i < EXITS; i++) {
        for (const char *const *at = rota_strings(r, exits[i].param); *at; at++) {
            int status = status_of(*at);

            if (status < 0)
                return rota_fail(r, ROTA_REFUSED, "%s has \"%s\"; write exit statuses from 1 to %d",
                                 exits[i].param, *at, STATUS_MAX);
            if (seen[status])
                return rota_fail(
                    r, ROTA_REFUSED,
                    "%s has %d%s, which is listed before; an exit status has one meaning",
                    exits[i].param, status,
                    exits[i].result == ROTA_DECLINED && status == DECLINE_DEFAULT ? " (its default)"
                                                                                  : "");
            seen[status] = true;
        }
    }
    return ROTA_SUCCEEDED;
}

/* The guard writes there before it sends the first SIGTERM, so a child that died of it is seen as
 * stopped. */
bool exits_by_stop(const struct rota_run *r)
{
    struct pollfd fd = { .fd = r->stop_fd, .events = POLLIN };

    return rota_should_stop(r) || poll(&fd, 1, 0) > 0;
}
