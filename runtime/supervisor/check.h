/* SPDX-License-Identifier: MIT
 * supervisor/check.h: rotad --check and rotad --print-config: read, say, end; nothing is
 * started. */
#ifndef ROTA_SUPERVISOR_CHECK_H
#define ROTA_SUPERVISOR_CHECK_H
#include "supervisor/options.h"

/* By o->mode. Returns the program's exit status: 0; EX_CONFIG (78) where there is a mistake;
 * EX_OSERR (71) where the work itself was not possible; those of check_online.h, with o->online.
 * MODE_CHECK: loads the configuration, probes its plugins, prints each problem to stderr as
 * `file:line: text`, and to stdout each good job with its next three turns, its times and the
 * takeover time. A warning is no mistake. MODE_PRINT: the configuration with every default, to
 * stdout. Only a mistake outside the jobs prevents it (78); those in single jobs are told on
 * stderr. */
int check_main(const struct options *o);

/* What librota-check.so exports, as rota_check. */
struct check_module {
    const char *version; /* of the rota that it belongs to: a rotad of another has other structs */
    int (*main)(const struct options *o);
};
#endif
