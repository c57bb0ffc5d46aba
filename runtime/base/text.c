/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_copy(char *dst, size_t size, const char *src)
{
    size_t length = strlen(src);
    bool fits = length < size;

    if (size == 0)
        return false;
    if (!fits)
        length = size - 1;
    memcpy(dst, src, length);
    dst[length] = '\0';
    return fits;
}

bool text_equal(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

bool text_same(const char *a, const char *b)
{
    return a == b || text_equal(a, b);
}

bool text_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool text_format(char *dst, size_t size, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(dst, size, format, args);
    va_end(args);
    if (length < 0 && size > 0)
        dst[0] = '\0';
    return length >= 0 && (size_t)length < size;
}

/* Bytes of the UTF-8 sequence that `lead` begins, and the value bits in it; 0: none. */
static size_t utf8_begin(unsigned char lead, uint32_t *ret_value)
{
    if (lead >= 0xc2 && lead <= 0xdf) {
        *ret_value = lead & 0x1fU;
        return 2;
    }
    if ((lead & 0xf0U) == 0xe0) {
        *ret_value = lead & 0x0fU;
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        *ret_value = lead & 0x07U;
        return 4;
    }
    return 0;
}

/* Length of the UTF-8 sequence of two bytes or more at the front of `src`, and its value; 0 where
 * there is none: cut off, overlong, a surrogate, or past U+10FFFF. */
static size_t utf8_sequence(const unsigned char *src, size_t src_len, uint32_t *ret_value)
{
    static const uint32_t least[] = { [2] = 0x80, [3] = 0x800, [4] = 0x10000 };
    uint32_t value = 0;
    size_t length = utf8_begin(src[0], &value);

    if (length == 0 || length > src_len)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((src[i] & 0xc0U) != 0x80)
            return 0;
        value = value << 6 | (src[i] & 0x3fU);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *ret_value = value;
    return length;
}

/* Characters that change how what surrounds them is shown: C1 controls, line and paragraph
 * separators, marks and overrides of direction. */
static bool is_disguise(uint32_t c)
{
    return (c >= 0x80 && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Bytes at the front of `src` that may be shown as they are; 0: its first byte is to be escaped. */
static size_t plain_bytes(const unsigned char *src, size_t src_len)
{
    uint32_t value = 0;
    size_t length;

    if (src[0] < 0x80)
        return src[0] >= 0x20 && src[0] != 0x7f ? 1 : 0;
    length = utf8_sequence(src, src_len, &value);
    return is_disguise(value) ? 0 : length;
}

size_t text_escape_part(char *dst, size_t size, const char *src, size_t src_len)
{
    static const char hex[] = "0123456789abcdef";
    size_t used = 0, taken = 0;

    while (taken < src_len) {
        const unsigned char *from = (const unsigned char *)src + taken;
        size_t plain = plain_bytes(from, src_len - taken);
        size_t need = plain > 0 ? plain : 4;

        if (used + need >= size)
            break;
        if (plain > 0) {
            memcpy(dst + used, from, plain);
        } else {
            const char escaped[] = { '\\', 'x', hex[from[0] >> 4], hex[from[0] & 0x0fU] };

            memcpy(dst + used, escaped, sizeof(escaped));
            plain = 1;
        }
        used += need;
        taken += plain;
    }
    if (size > 0)
        dst[used] = '\0';
    return taken;
}

char *text_escape(char *dst, size_t size, const char *src, size_t src_len)
{
    static const char more[] = "...";
    size_t length;

    if (size == 0 || text_escape_part(dst, size, src, src_len) == src_len)
        return dst;
    text_escape_part(dst, size < sizeof(more) ? 1 : size - strlen(more), src, src_len);
    length = strlen(dst);
    text_copy(dst + length, size - length, more);
    return dst;
}

const char *text_skip_level(const char *line, int *level)
{
    if (line[0] != '<' || line[1] < '0' || line[1] > '7' || line[2] != '>')
        return line;
    *level = line[1] - '0';
    return line + 3;
}

/* Longer words are no keys of ours, and get no suggestion. */
#define NEAREST_LENGTH_MAX 64

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Characters to add, drop, replace or swap with a neighbour to get from one word to the other. */
static unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][NEAREST_LENGTH_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b_len; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *spare = before;

        before = above;
        above = row;
        row = spare;
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);

            row[j] = least_of(least_of(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (swapped)
                row[j] = least_of(row[j], before[j - 2] + 1);
        }
    }
    return row[b_len];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word);
    unsigned limit = least_of(3, (unsigned)(length / 3));
    const char *nearest = NULL;

    if (length > NEAREST_LENGTH_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t candidate_length = strlen(candidates[i]);
        unsigned distance;

        if (candidate_length > NEAREST_LENGTH_MAX)
            continue;
        distance = edit_distance(word, length, candidates[i], candidate_length);
        if (distance > limit || (nearest && distance == limit))
            continue;
        nearest = candidates[i];
        limit = distance;
    }
    return nearest;
}

bool text_is_job_name(const char *name)
{
    size_t length;

    for (length = 0; name[length] != '\0'; length++) {
        char c = lower(name[length]);
        bool letter = c >= 'a' && c <= 'z';
        bool other = (c >= '0' && c <= '9') || c == '_' || c == '-';

        if (length >= 63 || (!letter && (length == 0 || !other)))
            return false;
    }
    return length > 0;
}

char *text_vprint(const char *format, va_list args)
{
    char *text;

    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

char *text_print(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = text_vprint(format, args);
    va_end(args);
    return text;
}
