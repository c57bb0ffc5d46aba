/* SPDX-License-Identifier: MIT
 * base/units.h: durations and sizes as people write and read them. */
#ifndef ROTA_BASE_UNITS_H
#define ROTA_BASE_UNITS_H
#include <stddef.h>
#include <stdint.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

/* "1h30m", "250ms", "10.5s": number and unit (ms s m h d) one or more times, largest unit first,
 * each at most once; a fraction only in the last part and only where it is whole milliseconds. No
 * sign, no space. 0 and *ret_ms; -EINVAL; -ENODATA for a number without a unit; -ERANGE past about
 * 292 million years. */
int units_parse_duration(const char *text, int64_t *ret_ms);
/* "0B", "64MiB", "1.5GiB": units B KiB MiB GiB TiB, the same rules and errors. */
int units_parse_size(const char *text, int64_t *ret_bytes);
/* As a conf file writes it (below 0: as 0); parses back to the same value: "1h30m", "250ms", "0s".
 * Returns buf. */
char *units_write_duration(int64_t ms, char *buf, size_t size);
char *units_write_size(int64_t bytes, char *buf, size_t size);
/* For people: "12 s", "4 min 51 s", "2 h 10 min", "12 days"; under 10 s with a fraction ("2.4 s"),
 * under 1 s "40 ms". Returns buf. 32 bytes are enough for all of these. */
char *units_say_duration(int64_t ms, char *buf, size_t size);
#define UNITS_SIZE 32
#endif
