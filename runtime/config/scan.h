/* SPDX-License-Identifier: MIT
 * config/scan.h: reads a conf file's text before libconfig does, for what libconfig (1.5 to 1.7)
 * accepts silently and wrongly, or says badly: comments and strings without an end, brackets
 * without a partner, @include, escapes and numbers whose meaning depends on its version, and groups
 * so large that its duplicate check gets slow. */
#ifndef ROTA_CONFIG_SCAN_H
#define ROTA_CONFIG_SCAN_H
#include "config/reading.h"

/* Groups, lists and arrays inside each other. */
#define SCAN_DEPTH_MAX 8
/* Settings of one group; in a group at the top (`jobs`) more. */
#define SCAN_SETTINGS_MAX 256
#define SCAN_JOBS_MAX 2000

/* A number as the file wrote it. */
struct scan_number {
    int line;
    bool integer; /* plain decimal digits, perhaps with a minus: means the same everywhere */
    bool plain;   /* that, or with a fraction and an exponent */
    char *text;
};

struct scan {
    struct scan_number *numbers; /* in the file's order */
    size_t count;
};

/* True where libconfig may read the text. Mistakes are noted in `r`. */
bool scan_text(struct reading *r, const char *text, size_t size, struct scan *ret_scan);
void scan_done(struct scan *s);
#endif
