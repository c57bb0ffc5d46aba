/* SPDX-License-Identifier: MIT */
#include "core/zone.h"

#include "core/date.h"
#include "core/zone_rule.h"
#include <errno.h>
#include <string.h>

/* "TZif", version, 15 bytes of nothing, six counts. */
#define HEADER_SIZE 44
#define COUNTS_AT 20
#define INFO_SIZE 6
/* Some files begin at the big bang, -2^59: twice as far, and sums of instants cannot overflow. */
#define TIME_MAX (INT64_C(1) << 60)

/* The counts of a header, as RFC 8536 orders them. */
struct counts {
    uint32_t isut, isstd, leaps, times, types, chars;
};

struct stretch {
    int32_t offset;
    int64_t from, until;
};

static uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int32_t read_i32(const uint8_t *p)
{
    return (int32_t)read_u32(p);
}

static int64_t read_i64(const uint8_t *p)
{
    return (int64_t)((uint64_t)read_u32(p) << 32 | read_u32(p + 4));
}

static int read_header(const uint8_t *bytes, size_t size, struct counts *ret_counts)
{
    const uint8_t *p = bytes + COUNTS_AT;

    if (size < HEADER_SIZE || memcmp(bytes, "TZif", 4) != 0 || bytes[4] < '2')
        return -EBADMSG;
    *ret_counts = (struct counts){ read_u32(p),      read_u32(p + 4),  read_u32(p + 8),
                                   read_u32(p + 12), read_u32(p + 16), read_u32(p + 20) };
    return 0;
}

/* The bytes after a header; 64 bits hold more than 32-bit counts can add up to. */
static uint64_t data_size(const struct counts *c, unsigned time_size)
{
    return (uint64_t)c->times * (time_size + 1) + (uint64_t)c->types * INFO_SIZE + c->chars +
           (uint64_t)c->leaps * (time_size + 4) + c->isstd + c->isut;
}

/* Finds the 64-bit block: `bytes` and `size` then begin after its header. */
static int find_block(const uint8_t **bytes, size_t *size, struct counts *ret_counts)
{
    struct counts old;
    uint64_t skip;

    if (read_header(*bytes, *size, &old) < 0)
        return -EBADMSG;
    skip = HEADER_SIZE + data_size(&old, 4);
    if (skip > *size)
        return -EBADMSG;
    *bytes += skip;
    *size -= (size_t)skip;
    if (read_header(*bytes, *size, ret_counts) < 0)
        return -EBADMSG;
    *bytes += HEADER_SIZE;
    *size -= HEADER_SIZE;
    return data_size(ret_counts, 8) > *size ? -EBADMSG : 0;
}

static int check_tables(const struct zone *zone, uint32_t types)
{
    int64_t last = -TIME_MAX;

    for (uint32_t i = 0; i < types; i++) {
        int32_t offset = read_i32(zone->infos + (size_t)i * INFO_SIZE);

        if (offset <= -ZONE_OFFSET_MAX || offset >= ZONE_OFFSET_MAX)
            return -EBADMSG;
    }
    for (uint32_t i = 0; i < zone->count; i++) {
        int64_t time = read_i64(zone->times + (size_t)i * 8);

        if (zone->types[i] >= types || time <= last || time > TIME_MAX)
            return -EBADMSG;
        last = time;
    }
    return 0;
}

/* "\nCET-1CEST,M3.5.0,M10.5.0/3\n", or "\n\n" where no rule is known. */
static int read_footer(const uint8_t *bytes, size_t size, struct zone *zone)
{
    const uint8_t *end;

    if (size < 2 || bytes[0] != '\n')
        return -EBADMSG;
    end = memchr(bytes + 1, '\n', size - 1);
    if (!end)
        return -EBADMSG;
    zone->has_rule = end > bytes + 1;
    if (!zone->has_rule)
        return 0;
    return zone_rule_parse((const char *)bytes + 1, (size_t)(end - bytes) - 1, &zone->rule);
}

int zone_parse(const uint8_t *bytes, size_t size, struct zone *ret_zone)
{
    struct counts counts;
    struct zone zone = { 0 };
    size_t data;

    if (find_block(&bytes, &size, &counts) < 0)
        return -EBADMSG;
    if (counts.leaps > 0)
        return -ENOTSUP;
    if (counts.types == 0)
        return -EBADMSG;
    zone.count = counts.times;
    zone.times = bytes;
    zone.types = zone.times + (size_t)counts.times * 8;
    zone.infos = zone.types + counts.times;
    if (check_tables(&zone, counts.types) < 0)
        return -EBADMSG;
    zone.first = read_i32(zone.infos);
    data = (size_t)data_size(&counts, 8);
    if (read_footer(bytes + data, size - data, &zone) < 0)
        return -EBADMSG;
    *ret_zone = zone;
    return 0;
}

static int64_t time_at(const struct zone *zone, uint32_t i)
{
    return read_i64(zone->times + (size_t)i * 8);
}

/* How many of the table's instants are at or before `at`. */
static uint32_t passed(const struct zone *zone, int64_t at)
{
    uint32_t low = 0, high = zone->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (time_at(zone, middle) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Between two instants of the table, or two changes of the rule, whose offsets may be the same. */
static struct stretch piece_at(const struct zone *zone, int64_t at)
{
    uint32_t n = passed(zone, at);
    struct stretch s = { zone->first, INT64_MIN, ZONE_NEVER };

    if (n == zone->count && zone->has_rule) {
        s.offset = zone_rule_offset(&zone->rule, at, &s.from, &s.until);
        if (n > 0 && s.from < time_at(zone, n - 1))
            s.from = time_at(zone, n - 1);
        return s;
    }
    if (n > 0) {
        s.offset = read_i32(zone->infos + (size_t)zone->types[n - 1] * INFO_SIZE);
        s.from = time_at(zone, n - 1);
    }
    if (n < zone->count)
        s.until = time_at(zone, n);
    return s;
}

int32_t zone_offset(const struct zone *zone, int64_t at, int64_t *ret_from, int64_t *ret_until)
{
    struct stretch s, other;

    if (!zone) {
        *ret_from = INT64_MIN;
        *ret_until = ZONE_NEVER;
        return 0;
    }
    s = piece_at(zone, at);
    while (s.from > INT64_MIN && (other = piece_at(zone, s.from - 1)).offset == s.offset)
        s.from = other.from;
    while (s.until < ZONE_NEVER && (other = piece_at(zone, s.until)).offset == s.offset)
        s.until = other.until;
    *ret_from = s.from;
    *ret_until = s.until;
    return s.offset;
}

int64_t zone_repeats_from(const struct zone *zone)
{
    /* Two years hold the two stretches before, whatever the rule. */
    const int64_t two_years = DATE_DAY_S * 366 * 2;

    if (!zone || !zone->has_rule)
        return ZONE_NEVER;
    return zone->count == 0 ? INT64_MIN : time_at(zone, zone->count - 1) + two_years;
}
