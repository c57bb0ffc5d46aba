/* SPDX-License-Identifier: MIT
 * support/tzif.h: time zones for tests, built here or read from the system's. */
#ifndef ROTA_TESTS_TZIF_H
#define ROTA_TESTS_TZIF_H
#include "core/zone.h"
#include <stddef.h>
#include <stdint.h>

#define TZIF_TYPES_MAX 4
#define TZIF_TIMES_MAX 8
#define TZIF_SIZE 512

/* What a file says; all zero: UTC with no rule. */
struct tzif {
    int32_t offsets[TZIF_TYPES_MAX]; /* of the local time types */
    int64_t times[TZIF_TIMES_MAX];
    uint8_t types[TZIF_TIMES_MAX];
    uint32_t types_count, count;
    const char *rule; /* NULL: none */
};

/* Its bytes. The old block for 32 bits says something else (a single offset of 1:23:45), as no
 * reader may believe. */
size_t tzif_write(const struct tzif *t, uint8_t bytes[TZIF_SIZE]);
/* The same, parsed; fails the test where that does not work. `bytes` must outlive the zone. */
struct zone tzif_zone(const struct tzif *t, uint8_t bytes[TZIF_SIZE]);
/* Of a rule alone. */
struct zone tzif_rule(const char *rule, uint8_t bytes[TZIF_SIZE]);
/* The bytes of one of the system's zones, in memory of just that size: for free(). Fails the test
 * where it is not there. */
uint8_t *tzif_read(const char *name, size_t *ret_size);
#endif
