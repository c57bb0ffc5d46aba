/* SPDX-License-Identifier: MIT
 * rotactl/options.h: what stands on rotactl's command line. */
#ifndef ROTA_ROTACTL_OPTIONS_H
#define ROTA_ROTACTL_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The runtime folder where none is named: that of the unit. */
#define OPTIONS_RUNTIME_DIR "/run/rota"

/* Of the commands; in the order of the help. */
enum option_id {
    OPTION_OUTPUT,
    OPTION_NOHEADINGS,
    OPTION_LOCAL,
    OPTION_WATCH,
    OPTION_CHECK,
    OPTION_JSON,
    OPTION_TIMEOUT,
    OPTION_WAIT,
    OPTION_AS_DUE,
    OPTION_FORCE,
    OPTION_IGNORE_LOCK,
    OPTION_HAND_OVER,
    OPTION_FLEET,
    OPTION_MISSING,
    OPTION_REASON,
    OPTION_FOR,
    OPTION_CATCH_UP,
    OPTION_FROM,
    OPTION_SINCE,
    OPTION_UNTIL,
    OPTION_SVG,
    OPTION_WIDTH,
    OPTION_OPENMETRICS,
    OPTIONS
};
/* For any name of one. */
#define OPTIONS_NAME_SIZE 24
#define OPTION(option) (UINT32_C(1) << (option))

struct request {
    const char *runtime_dir;
    const char *const *words; /* what follows the command, until NULL */
    uint32_t given;           /* OPTION()s */
    /* Of those that have one, what follows them; else NULL. */
    const char *values[OPTIONS];
};

/* What main() has to do after the options were read. */
enum options_next { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION };

/* Reads the options out of argv, which getopt sorts; ret->words begins with the command. 0 and
 * *ret_next; or EX_USAGE, after a line on stderr. */
int options_parse(int argc, char **argv, struct request *ret, enum options_next *ret_next);
/* 0; or EX_USAGE, after a line on stderr, where an option is there that `command` does not take. */
int options_check(const struct request *r, const char *command, uint32_t taken);
/* 0; or EX_USAGE, after a line on stderr, where two of these OPTION()s are there, which do not go
 * together. */
int options_check_apart(const struct request *r, uint32_t apart);
static inline bool options_has(const struct request *r, enum option_id option)
{
    return r->given & OPTION(option);
}

/* As people write it: "--json". Takes OPTIONS_NAME_SIZE at most. */
const char *options_written(enum option_id option, char *buf, size_t size);
/* Its long name, without dashes. */
const char *options_name(enum option_id option);
/* What stands behind it in the help, or NULL. */
const char *options_value(enum option_id option);
/* What all commands have, on standard output. */
void options_print_help(void);
/* A line on stderr, with the nearest of the names after `dashes`, and EX_USAGE. `kind`: "option",
 * for instance. */
int options_say_unknown(const char *kind, const char *word, const char *dashes,
                        const char *const *names, size_t count);
#endif
