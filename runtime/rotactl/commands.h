/* SPDX-License-Identifier: MIT
 * rotactl/commands.h: what rotactl can do. */
#ifndef ROTA_ROTACTL_COMMANDS_H
#define ROTA_ROTACTL_COMMANDS_H
#include "rotactl/call.h"

struct request {
    const char *runtime_dir;
    bool json;        /* --json */
    bool has_timeout; /* --timeout was given: */
    int64_t timeout_ms;
};

/* Each asks over an open call, says what there is to say, and returns the exit status. */
typedef int command_run(struct call *c, const struct request *r);
command_run command_status;
command_run command_drain;
command_run command_undrain;
command_run command_reload;
#endif
