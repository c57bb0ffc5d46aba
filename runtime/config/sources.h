/* SPDX-License-Identifier: MIT
 * config/sources.h: which conf files there are, and in which order they are read. */
#ifndef ROTA_CONFIG_SOURCES_H
#define ROTA_CONFIG_SOURCES_H
#include "config/reading.h"

struct source {
    char *name; /* in its folder: what overriding goes by */
    char *path;
};

struct sources {
    char *main_file;
    struct source *parts; /* of jobs.d, in order of name; masked ones are left out */
    size_t count;
};

/* 0, or -ENOMEM. A folder that cannot be read is noted in `r`; one that is not there is none. */
int sources_find(struct reading *r, const char *file, struct sources *ret_sources);
void sources_done(struct sources *s);
#endif
