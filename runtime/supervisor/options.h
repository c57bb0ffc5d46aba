/* SPDX-License-Identifier: MIT
 * supervisor/options.h: rotad's command line: options_plain.c is rotad's, for a start as it mostly
 * is; options.c is librota-check.so's, for all else. */
#ifndef ROTA_SUPERVISOR_OPTIONS_H
#define ROTA_SUPERVISOR_OPTIONS_H
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_RUNTIME_DIR "/run/rota"

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

/* Both read the arguments and $RUNTIME_DIRECTORY (a colon list; the first counts), and fill *ret,
 * which must stay where it is, since runtime_dir may point into it. */

/* Where there is nothing but -c, --runtime-dir and --version, and all is right with them. False:
 * options_parse() is to look. */
bool options_plain(int argc, char **argv, struct options *ret);
/* 0. Bad usage: one line on stderr, and EX_USAGE (64), with which main ends. */
int options_parse(int argc, char **argv, struct options *ret);

/* The service manager's folder goes before the command line's: DESIGN section 8. False where it is
 * too long. */
static inline bool options_take_environment(struct options *o)
{
    const char *list = getenv("RUNTIME_DIRECTORY");
    size_t length = list ? strcspn(list, ":") : 0;

    if (length == 0)
        return true;
    if (length >= sizeof o->runtime_dir_first)
        return false;
    memcpy(o->runtime_dir_first, list, length);
    o->runtime_dir_first[length] = '\0';
    o->runtime_dir = o->runtime_dir_first;
    return true;
}
#endif
