/* SPDX-License-Identifier: MIT
 * config/zones.h: the time zones that jobs name, each read once and kept as long as the
 * configuration. */
#ifndef ROTA_CONFIG_ZONES_H
#define ROTA_CONFIG_ZONES_H
#include "config/reading.h"

struct config_zone {
    struct config_zone *next;
    char *name;
    uint8_t *bytes;   /* of the file, which `zone` points into; NULL where it is no good */
    struct zone zone; /* with `bytes` only */
    char *why;        /* why it is no good, as the rest of a sentence; NULL where it is good */
};

/* Sets the zone of the present job's schedule by its timezone, or notes why it cannot be. "UTC"
 * needs no file. `line`: where timezone stands. */
void zones_settle(struct reading *r, int line);
void zones_free(struct config *c);
#endif
