/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "base/time.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t scale; /* in ms, or bytes */
};

/* Largest first; the scale of the last is 1. */
static const struct unit durations[] = {
    { "d", DAY_MS }, { "h", HOUR_MS }, { "m", MINUTE_MS }, { "s", SECOND_MS }, { "ms", 1 },
};

static const struct unit sizes[] = {
    { "TiB", INT64_C(1) << 40 },
    { "GiB", INT64_C(1) << 30 },
    { "MiB", INT64_C(1) << 20 },
    { "KiB", INT64_C(1) << 10 },
    { "B", 1 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Six digits times the largest scale (1 TiB) stay within 64 bits. */
#define FRACTION_DIGITS_MAX 6

/* "12.5h": what stands before its unit's name. */
struct number {
    int64_t whole;
    int64_t fraction;       /* 5 of "12.5" */
    int64_t fraction_scale; /* 10 of "12.5" */
    bool has_fraction;
    bool too_large; /* for `whole` */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The digits after the point. Zeros at the end say nothing, so any number of them is fine. */
static int read_fraction(const char **text, struct number *number)
{
    const char *begin = *text;
    const char *end = begin;
    const char *last;

    while (is_digit(*end))
        end++;
    if (end == begin)
        return -EINVAL;
    for (last = end; last > begin && last[-1] == '0'; last--)
        ;
    if (last - begin > FRACTION_DIGITS_MAX)
        return -EINVAL;
    for (const char *p = begin; p < last; p++) {
        number->fraction = number->fraction * 10 + (*p - '0');
        number->fraction_scale *= 10;
    }
    *text = end;
    return 0;
}

/* A number that is too large is read to its end, so that a mistake of form is told first. */
static int read_number(const char **text, struct number *ret_number)
{
    struct number number = { .fraction_scale = 1 };
    const char *p = *text;
    int r;

    if (!is_digit(*p))
        return -EINVAL;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
            __builtin_add_overflow(number.whole, *p - '0', &number.whole))
            number.too_large = true;
    if (*p == '.') {
        p++;
        number.has_fraction = true;
        r = read_fraction(&p, &number);
        if (r < 0)
            return r;
    }
    *text = p;
    *ret_number = number;
    return 0;
}

/* The index of the unit that stands at *text. */
static int read_unit(const char **text, const struct unit *units, size_t count, size_t *ret_index)
{
    size_t length = 0;

    while (is_letter((*text)[length]))
        length++;
    if (length == 0)
        return **text == '\0' ? -ENODATA : -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (strlen(units[i].name) == length && memcmp(units[i].name, *text, length) == 0) {
            *text += length;
            *ret_index = i;
            return 0;
        }
    return -EINVAL;
}

/* number x scale; -EINVAL where that is not whole. */
static int scale_number(const struct number *number, int64_t scale, int64_t *ret_value)
{
    int64_t part = number->fraction * scale;
    int64_t value;

    if (part % number->fraction_scale != 0)
        return -EINVAL;
    if (number->too_large || __builtin_mul_overflow(number->whole, scale, &value) ||
        __builtin_add_overflow(value, part / number->fraction_scale, &value))
        return -ERANGE;
    *ret_value = value;
    return 0;
}

static int parse(const char *text, const struct unit *units, size_t count, int64_t *ret_value)
{
    int64_t sum = 0;
    size_t first_allowed = 0;
    bool too_large = false;

    do {
        struct number number;
        size_t index;
        int64_t value = 0;
        int r;

        r = read_number(&text, &number);
        if (r < 0)
            return r;
        r = read_unit(&text, units, count, &index);
        if (r < 0)
            return r;
        if (index < first_allowed || (number.has_fraction && *text != '\0'))
            return -EINVAL;
        first_allowed = index + 1;
        r = scale_number(&number, units[index].scale, &value);
        if (r == -EINVAL)
            return r;
        too_large |= r < 0 || __builtin_add_overflow(sum, value, &sum);
    } while (*text != '\0');

    if (too_large)
        return -ERANGE;
    *ret_value = sum;
    return 0;
}

int units_parse_duration(const char *text, int64_t *ret_ms)
{
    return parse(text, durations, COUNT(durations), ret_ms);
}

int units_parse_size(const char *text, int64_t *ret_bytes)
{
    return parse(text, sizes, COUNT(sizes), ret_bytes);
}

char *units_write_duration(int64_t ms, char *buf, size_t size)
{
    size_t used = 0;

    if (ms <= 0) {
        snprintf(buf, size, "0s");
        return buf;
    }
    for (size_t i = 0; i < COUNT(durations) && ms > 0 && used < size; i++) {
        int64_t part = ms / durations[i].scale;

        if (part == 0)
            continue;
        ms %= durations[i].scale;
        used += (size_t)snprintf(buf + used, size - used, "%" PRId64 "%s", part, durations[i].name);
    }
    return buf;
}

char *units_write_size(int64_t bytes, char *buf, size_t size)
{
    const struct unit *unit = &sizes[COUNT(sizes) - 1];

    if (bytes < 0)
        bytes = 0;
    for (size_t i = 0; bytes > 0 && i < COUNT(sizes); i++)
        if (bytes % sizes[i].scale == 0) {
            unit = &sizes[i];
            break;
        }
    snprintf(buf, size, "%" PRId64 "%s", bytes / unit->scale, unit->name);
    return buf;
}

/* How exactly a duration of this length is of use to a person. */
static int64_t say_step(int64_t ms)
{
    if (ms < SECOND_MS)
        return 1;
    if (ms < 10 * SECOND_MS)
        return SECOND_MS / 10;
    if (ms < HOUR_MS)
        return SECOND_MS;
    if (ms < DAY_MS)
        return MINUTE_MS;
    return ms < 10 * DAY_MS ? HOUR_MS : DAY_MS;
}

static int64_t round_to(int64_t ms, int64_t step)
{
    int64_t rest = ms % step;

    return rest * 2 < step ? ms - rest : time_add_ms(ms, step - rest);
}

/* "4 min 51 s", or "4 min" where the lesser part is 0. */
static void say_two(char *buf, size_t size, int64_t ms, const struct unit *greater,
                    const struct unit *lesser)
{
    int64_t first = ms / greater->scale;
    int64_t second = ms % greater->scale / lesser->scale;

    if (second == 0)
        snprintf(buf, size, "%" PRId64 " %s", first, greater->name);
    else
        snprintf(buf, size, "%" PRId64 " %s %" PRId64 " %s", first, greater->name, second,
                 lesser->name);
}

char *units_say_duration(int64_t ms, char *buf, size_t size)
{
    static const struct unit second = { "s", SECOND_MS }, minute = { "min", MINUTE_MS };
    static const struct unit hour = { "h", HOUR_MS }, day = { "day", DAY_MS };
    static const struct unit days = { "days", DAY_MS };

    if (ms < 0)
        ms = 0;
    ms = round_to(ms, say_step(ms));
    if (ms < SECOND_MS)
        snprintf(buf, size, "%" PRId64 " ms", ms);
    else if (ms < 10 * SECOND_MS && ms % SECOND_MS != 0)
        snprintf(buf, size, "%" PRId64 ".%" PRId64 " s", ms / SECOND_MS, ms % SECOND_MS / 100);
    else if (ms < MINUTE_MS)
        say_two(buf, size, ms, &second, &second);
    else if (ms < HOUR_MS)
        say_two(buf, size, ms, &minute, &second);
    else if (ms < DAY_MS)
        say_two(buf, size, ms, &hour, &minute);
    else
        say_two(buf, size, ms, ms < 2 * DAY_MS ? &day : &days, &hour);
    return buf;
}
