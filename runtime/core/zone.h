/* SPDX-License-Identifier: MIT
 * core/zone.h: a time zone, read from the bytes of a TZif file (RFC 8536, and RFC 9636 for version
 * 4): no process-wide TZ, no file access. The instants after the last one of the file follow from
 * the rule at its end. All seconds are Unix seconds in 64 bits. */
#ifndef ROTA_CORE_ZONE_H
#define ROTA_CORE_ZONE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Past every instant at which an offset changes. */
#define ZONE_NEVER INT64_MAX
/* 26 hours; every offset is nearer to UTC. */
#define ZONE_OFFSET_MAX 93600

/* One of the two days a year of a rule, and the local second of it. */
struct zone_day {
    char kind; /* 'M': month, week, weekday; 'J': 1 ... 365 without February 29; '0': 0 ... 365 */
    uint8_t month, week, weekday;
    uint16_t day;
    int32_t second; /* from that day's local midnight; may be negative or more than a day */
};

struct zone_rule {
    int32_t standard, summer; /* east of UTC, in seconds; different where it changes */
    struct zone_day from, to; /* summer time's beginning and end */
    bool changes;             /* false: `standard` always */
};

/* Points into the bytes that it was read from, which must outlive it. */
struct zone {
    const uint8_t *times; /* `count` big-endian 64-bit instants */
    const uint8_t *types; /* `count` indexes of local time types */
    const uint8_t *infos; /* local time types, 6 bytes each */
    uint32_t count;
    int32_t first; /* offset before the first instant */
    bool has_rule;
    struct zone_rule rule; /* after the last instant */
};

/* 0; -EBADMSG where the bytes are no whole and sane TZif of version 2 or later (older files end in
 * 2037 and are refused); -ENOTSUP where they count leap seconds (the "right/" files), as Unix time
 * does not. Nothing outside of `bytes` is ever read. */
int zone_parse(const uint8_t *bytes, size_t size, struct zone *ret_zone);
/* Seconds east of UTC at `at`, for as long as [*ret_from, *ret_until). *ret_from is INT64_MIN
 * before the first change, *ret_until ZONE_NEVER after the last. `zone` NULL: UTC. Neighbouring
 * stretches have different offsets. */
int32_t zone_offset(const struct zone *zone, int64_t at, int64_t *ret_from, int64_t *ret_until);
/* From there on the offsets repeat every 400 years, that of the two stretches before it included;
 * ZONE_NEVER where they do not. */
int64_t zone_repeats_from(const struct zone *zone);
#endif
