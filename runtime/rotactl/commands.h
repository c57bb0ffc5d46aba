/* SPDX-License-Identifier: MIT
 * rotactl/commands.h: what rotactl can do. */
#ifndef ROTA_ROTACTL_COMMANDS_H
#define ROTA_ROTACTL_COMMANDS_H
#include "rotactl/call.h"
#include "rotactl/options.h"

/* Says what there is to say, and returns the exit status. The call opens with its first question:
 * a fault in the words is told without one. */
typedef int command_run(struct call *c, const struct request *r);
command_run command_status;
command_run command_show;
command_run command_drain;
command_run command_undrain;
command_run command_reload;
command_run command_check;
command_run command_run_job;
command_run command_stop;
command_run command_timeline;
command_run command_fleet;
command_run command_explain;
command_run command_history;
command_run command_pause;
command_run command_resume;
command_run command_release;
command_run command_forget;
command_run command_metrics;

struct command {
    const char *name;
    const char
        *words; /* of its line in the help: what follows the name, but for its options; or NULL */
    const char *summary; /* and what it does; a line of the help a line */
    command_run *run;
    uint32_t options; /* OPTION()s that it takes, in the order of the help */
};

extern const struct command commands[];
extern const size_t commands_count;

/* The command of that name; NULL after a line on stderr. */
const struct command *commands_find(const char *name);
/* All commands and options, on standard output. */
void commands_print_help(void);
#endif
