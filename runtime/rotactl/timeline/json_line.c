/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/json_line.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define REPLACEMENT 0xfffdU

void json_line_begin(struct json_line *j, char *line)
{
    *j = (struct json_line){ 0 };
    j->at = line;
}

static int stop(struct json_line *j, const char *why)
{
    j->why = why;
    return -EINVAL;
}

static void skip_space(struct json_line *j)
{
    j->at += strspn(j->at, " \t\r\n");
}

static bool take(struct json_line *j, char c)
{
    skip_space(j);
    if (*j->at != c)
        return false;
    j->at++;
    return true;
}

/* --- texts --- */

/* At most three bytes below U+10000, and four for what takes twelve bytes in the line. */
static char *put_character(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (c & 0x3f));
    return to;
}

/* Four hexadecimal digits at `at`. */
static bool read_unit(const char *at, uint32_t *ret_unit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        const char *digit = at[i] ? strchr(digits, at[i]) : NULL;

        if (!digit)
            return false;
        unit = unit << 4 | (uint32_t)((digit - digits) & 0xf);
    }
    *ret_unit = unit;
    return true;
}

/* Behind "\u". */
static bool read_character(struct json_line *j, uint32_t *ret_character)
{
    uint32_t c, low;

    if (!read_unit(j->at, &c))
        return false;
    j->at += 4;
    if (c >= 0xd800 && c < 0xdc00 && j->at[0] == '\\' && j->at[1] == 'u' &&
        read_unit(j->at + 2, &low) && low >= 0xdc00 && low < 0xe000) {
        j->at += 6;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *ret_character = c == 0 || (c >= 0xd800 && c < 0xe000) ? REPLACEMENT : c;
    return true;
}

/* Behind a backslash. */
static bool read_escape(struct json_line *j, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    uint32_t c;

    if (*j->at == 'u') {
        j->at++;
        if (!read_character(j, &c))
            return false;
        *to = put_character(*to, c);
        return true;
    }
    letter = *j->at ? strchr(letters, *j->at) : NULL;
    if (!letter)
        return false;
    j->at++;
    *(*to)++ = meant[letter - letters];
    return true;
}

/* Behind the first quote. An escape is never shorter than what it stands for. */
static int read_text(struct json_line *j, const char **ret_text)
{
    char *to = j->at, *text = to;

    while (*j->at != '"') {
        if (!*j->at)
            return stop(j, "a text has no closing quote");
        if (*j->at != '\\') {
            *to++ = *j->at++;
            continue;
        }
        j->at++;
        if (!read_escape(j, &to))
            return stop(j, "a backslash is followed by none of \" \\ / b f n r t and u with four "
                           "hexadecimal digits");
    }
    j->at++;
    *to = '\0';
    *ret_text = text;
    return 0;
}

/* --- other values --- */

static int read_number(struct json_line *j, int64_t *ret_number)
{
    bool negative = *j->at == '-';
    int64_t number = 0;

    j->at += negative;
    if (*j->at < '0' || *j->at > '9')
        return stop(
            j, "a value is no text in quotes, no whole number, and none of true, false and null");
    for (; *j->at >= '0' && *j->at <= '9'; j->at++) {
        int digit = *j->at - '0';

        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, negative ? -digit : digit, &number))
            return stop(j, "a number has more than 18 digits");
    }
    if (*j->at && strchr(".eE", *j->at))
        return stop(j, "a number is not a whole one");
    *ret_number = number;
    return 0;
}

static bool take_word(struct json_line *j, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(j->at, word, length) != 0)
        return false;
    j->at += length;
    return true;
}

static int read_value(struct json_line *j, struct json_member *m)
{
    if (take(j, '"')) {
        m->kind = JSON_TEXT;
        return read_text(j, &m->text);
    }
    if (take_word(j, "null")) {
        m->kind = JSON_NULL;
        return 0;
    }
    if (take_word(j, "true")) {
        m->kind = JSON_TRUE;
        return 0;
    }
    if (take_word(j, "false")) {
        m->kind = JSON_FALSE;
        return 0;
    }
    m->kind = JSON_NUMBER;
    return read_number(j, &m->number);
}

static int read_end(struct json_line *j)
{
    skip_space(j);
    return *j->at ? stop(j, "something follows the object's closing brace") : 0;
}

int json_line_next(struct json_line *j, struct json_member *ret_member)
{
    struct json_member member = { 0 };
    bool first = !j->begun;
    int rc;

    if (first && !take(j, '{'))
        return stop(j, "it does not begin with {, as an object does");
    j->begun = true;
    if (take(j, '}'))
        return read_end(j);
    if (!first && !take(j, ','))
        return stop(j, "a value is followed neither by a comma nor by a closing brace");
    if (!take(j, '"'))
        return stop(j, "where a key should be there is no text in quotes");
    rc = read_text(j, &member.key);
    if (rc == 0 && !take(j, ':'))
        rc = stop(j, "a key has no colon behind it");
    if (rc == 0)
        rc = read_value(j, &member);
    if (rc < 0)
        return rc;
    *ret_member = member;
    return 1;
}
