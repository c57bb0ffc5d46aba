/* SPDX-License-Identifier: MIT
 * supervisor/check.h: rotad as it is called for anything but to serve: it reads, says, ends;
 * nothing is started. */
#ifndef ROTA_SUPERVISOR_CHECK_H
#define ROTA_SUPERVISOR_CHECK_H
#include "supervisor/module.h"

/* By all that options.h knows. Returns the program's exit status: 0; EX_USAGE (64) where the
 * options are wrong; EX_CONFIG (78) where there is a mistake; EX_OSERR (71) where the work itself
 * was not possible; those of check_online.h, with --online.
 * --check: loads the configuration, probes its plugins, prints each problem to stderr as
 * `file:line: text`, and to stdout each good job with its next three turns, its times and the
 * takeover time. A warning is no mistake. --print-config: the configuration with every default, to
 * stdout. Only a mistake outside the jobs prevents it (78); those in single jobs are told on
 * stderr. --help: all options. */
int check_main(int argc, char **argv);

/* What librota-check.so exports. */
#define CHECK_SYMBOL "rota_check"

struct check_module {
    struct module module;
    int (*main)(int argc, char **argv);
};
#endif
