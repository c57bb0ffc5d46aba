/* SPDX-License-Identifier: MIT
 * config/reading.h: where the loader stands, and what is wrong there. Private to config/. */
#ifndef ROTA_CONFIG_READING_H
#define ROTA_CONFIG_READING_H
#include "config/config.h"

/* One load. Memory that runs out is remembered in `no_memory` and looked at once, at the end; until
 * then the result is incomplete but sound. */
struct reading {
    struct config *config;
    const struct config_source *source; /* config_load's; NULL after it */
    const char *root;       /* before every path that is opened; "" where there is none */
    bool own_plugin_dir;    /* the source's default counts: no file names another */
    const char *file;       /* now being read, as the user would name it */
    bool main_file;         /* a mistake outside a job is fatal here */
    struct job_config *job; /* now being read, or NULL */
    bool no_memory;
};

/* Notes what is wrong, at `line` of the present file (0: the file as a whole). An error makes the
 * present job invalid, or, outside a job in the main file, the whole fatal. The same of the same
 * line, outside a job, is noted once. */
void reading_problem(struct reading *r, enum problem_level level, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void reading_vproblem(struct reading *r, enum problem_level level, int line, const char *format,
                      va_list args) __attribute__((format(printf, 4, 0)));

/* Where `path` lies, on the heap, or NULL (noted). With a root, links are followed inside it; where
 * they lead nowhere it is the root itself, which is no file. */
char *reading_path(struct reading *r, const char *path);
/* strdup that notes a failure. NULL gives NULL. */
char *reading_copy(struct reading *r, const char *text);
#endif
