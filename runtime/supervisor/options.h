/* SPDX-License-Identifier: MIT
 * supervisor/options.h: rotad's command line. */
#ifndef ROTA_SUPERVISOR_OPTIONS_H
#define ROTA_SUPERVISOR_OPTIONS_H
#include <stdbool.h>
#include <stdio.h>

enum options_mode { MODE_RUN, MODE_CHECK, MODE_PRINT, MODE_VERSION, MODE_HELP };

struct options {
    const char *config_file; /* -c FILE; NULL: the system's places (config/config.h) */
    const char *runtime_dir; /* never NULL; points into argv, the environment or this struct */
    const char *root;        /* --root DIR; or NULL */
    const char *device;      /* --device NAME; or NULL */
    bool no_probe;           /* --no-probe */
    bool online;             /* --online */
    enum options_mode mode;
    char runtime_dir_first[256]; /* the first folder of $RUNTIME_DIRECTORY where it is a list */
};

/* Reads the arguments and $RUNTIME_DIRECTORY (a colon list; the first counts), fills *ret and
 * returns 0. Bad usage: one line on stderr, and EX_USAGE (64), with which main ends. The struct
 * must stay where it is, since runtime_dir may point into it. */
int options_parse(int argc, char **argv, struct options *ret);

/* The text of --help. */
void options_print_help(FILE *out);
#endif
