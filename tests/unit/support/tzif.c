/* SPDX-License-Identifier: MIT */
#include "tzif.h"

#include "unit.h"
#include <string.h>

#define ZONEINFO "/usr/share/zoneinfo/"
#define FILE_MAX 65536

static uint8_t *put(uint8_t *at, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    return at + size;
}

static uint8_t *put_header(uint8_t *at, uint32_t times, uint32_t types)
{
    memcpy(at, "TZif2", 5);
    memset(at + 5, 0, 15);
    at += 20;
    for (int i = 0; i < 3; i++)
        at = put(at, 0, 4);
    at = put(at, times, 4);
    at = put(at, types, 4);
    return put(at, 4, 4);
}

static uint8_t *put_type(uint8_t *at, int32_t offset)
{
    at = put(at, (uint32_t)offset, 4);
    return put(at, 0, 2);
}

size_t tzif_write(const struct tzif *t, uint8_t bytes[TZIF_SIZE])
{
    uint32_t types = t->types_count ? t->types_count : 1;
    uint8_t *at = put_header(bytes, 0, 1);

    at = put_type(at, 5025);
    memcpy(at, "OLD", 4);
    at = put_header(at + 4, t->count, types);
    for (uint32_t i = 0; i < t->count; i++)
        at = put(at, (uint64_t)t->times[i], 8);
    for (uint32_t i = 0; i < t->count; i++)
        *at++ = t->types[i];
    for (uint32_t i = 0; i < types; i++)
        at = put_type(at, t->offsets[i]);
    memcpy(at, "NEW", 4);
    at += 4;
    at += sprintf((char *)at, "\n%s\n", t->rule ? t->rule : "");
    assert_true(at < bytes + TZIF_SIZE);
    return (size_t)(at - bytes);
}

struct zone tzif_zone(const struct tzif *t, uint8_t bytes[TZIF_SIZE])
{
    struct zone zone = { 0 };
    size_t size = tzif_write(t, bytes);

    if (zone_parse(bytes, size, &zone) < 0)
        fail_msg("the zone of the rule %s was refused", t->rule ? t->rule : "(none)");
    return zone;
}

struct zone tzif_rule(const char *rule, uint8_t bytes[TZIF_SIZE])
{
    return tzif_zone(&(struct tzif){ .rule = rule }, bytes);
}

uint8_t *tzif_read(const char *name, size_t *ret_size)
{
    static uint8_t buffer[FILE_MAX];
    char path[256];
    uint8_t *bytes;
    FILE *file;

    snprintf(path, sizeof(path), ZONEINFO "%s", name);
    file = fopen(path, "rbe");
    if (!file)
        fail_msg("%s is not there; install tzdata", path);
    *ret_size = fread(buffer, 1, sizeof(buffer), file);
    fclose(file);
    assert_true(*ret_size > 0 && *ret_size < sizeof(buffer));
    bytes = malloc(*ret_size);
    assert_non_null(bytes);
    return memcpy(bytes, buffer, *ret_size);
}
