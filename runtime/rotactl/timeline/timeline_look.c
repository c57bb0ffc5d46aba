/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/timeline_look.h"
#include "base/text.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

/* Colours after Okabe and Ito, which are told apart by all kinds of colour vision, and greys. */
static const struct timeline_look looks[RUN_OUTCOMES] = {
    [RUN_SUCCEEDED] = { 0, '#', "█", "32", "#009e73", "", "" },
    [RUN_NOTHING] = { 0, '=', "░", "32", "#8fd0bc", "M0 3h6", "" },
    [RUN_RUNNING] = { 1, '>', "▒", "36", "#56b4e9", "", "M-2-3 1.5 0-2 3" },
    [RUN_UNSTARTED] = { 2, 'u', "u", "37", "#b5b5b5", "M3 0v6", "M-3 0h6" },
    [RUN_DECLINED] = { 2, 'd', "d", "37", "#9a9a9a", "M0 6 6 0", "M0-3v6M-2.5 .5 0 3 2.5 .5" },
    [RUN_STOPPED] = { 3, 's', "s", "34", "#6f6f6f", "", "M-2.5-2.5h5v5h-5z" },
    [RUN_FAILED] = { 4, 'x', "x", "31", "#d55e00", "M0 6 6 0", "M-3-3 3 3M3-3-3 3" },
    [RUN_REFUSED] = { 5, 'r', "r", "31", "#d55e00", "M0 0 6 6M0 6 6 0",
                      "M0-3a3 3 0 1 0 .01 0zM-2-2 2 2" },
    [RUN_LOST] = { 6, 'l', "l", "34", "#0072b2", "M0 3h6", "M-3 2-1-3M0 3 2-2" },
    [RUN_OVERRUN] = { 6, 'o', "o", "33", "#e69f00", "M3 0v6", "M-3-3 0 0-3 3M2-3v6" },
    [RUN_OTHER] = { 6, '*', "*", "35", "#9a9a9a", "M0 3h6M3 0v6",
                    "M0-3v6M-2.6-1.5 2.6 1.5M-2.6 1.5 2.6-1.5" },
    [RUN_CRASHED] = { 7, '!', "!", "35", "#cc79a7", "M0 0 6 6", "M0-3v3.5M0 2v1" },
    [RUN_VANISHED] = { 7, '?', "?", "35", "#a04f7f", "M0 0 6 6M0 6 6 0",
                       "M-2-1.5a2 1.7 0 1 1 2 2V1M0 2.2v.8" },
};

const struct timeline_look *timeline_look(enum run_outcome outcome)
{
    return &looks[outcome];
}

char *timeline_look_time(int64_t ms, char *buf)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    text_format(buf, TIMELINE_TIME_SIZE, "%04d-%02d-%02d %02d:%02d:%02d", tm.tm_year + 1900,
                tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return buf;
}

char *timeline_look_count(size_t count, const char *one, const char *many, char *buf, size_t size)
{
    const char *word = count == 1 ? one : many;

    if (count < 1000)
        text_format(buf, size, "%zu %s", count, word);
    else if (count < 1000000)
        text_format(buf, size, "%zu,%03zu %s", count / 1000, count % 1000, word);
    else
        text_format(buf, size, "%zu,%03zu,%03zu %s", count / 1000000, count / 1000 % 1000,
                    count % 1000, word);
    return buf;
}

/* --- names --- */

#define NAME_SIZE 512
/* Of the columns of a name that is too long: how many stand for its middle. */
#define ELLIPSIS_COLUMNS 2

/* Bytes of the character at `at`, as far as they are there, and its columns. */
static size_t measure(const char *at, int *ret_columns)
{
    unsigned char lead = (unsigned char)*at;
    size_t all = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4, length = 1;
    wchar_t c = (wchar_t)(all == 1 ? lead : lead & (0x7fU >> all));

    for (; length < all && ((unsigned char)at[length] & 0xc0U) == 0x80; length++)
        c = (wchar_t)((unsigned)c << 6 | ((unsigned char)at[length] & 0x3fU));
    *ret_columns = wcwidth(c);
    if (*ret_columns < 0)
        *ret_columns = 1; /* a character that this C library does not know */
    return length;
}

static int columns_of(const char *text)
{
    int sum = 0, columns;

    for (; *text; sum += columns)
        text += measure(text, &columns);
    return sum;
}

static void make_ascii(char *text)
{
    char *to = text;

    while (*text) {
        int columns;
        size_t length = measure(text, &columns);

        *to++ = length == 1 ? *text : '?';
        text += length;
    }
    *to = '\0';
}

/* Where the last `columns` columns of a text begin, which has `all`. */
static const char *tail_of(const char *text, int all, int columns)
{
    int width;

    while (all > columns) {
        text += measure(text, &width);
        all -= width;
    }
    return text;
}

/* Bytes of what fits into so many columns. */
static size_t head_of(const char *text, int columns)
{
    const char *at = text;

    while (*at) {
        int width;
        size_t length = measure(at, &width);

        if (width > columns)
            break;
        columns -= width;
        at += length;
    }
    return (size_t)(at - text);
}

int timeline_look_name(char *dst, size_t size, const char *name, int columns, bool utf8)
{
    char shown[NAME_SIZE];
    int all, tail = (columns - ELLIPSIS_COLUMNS) / 2;

    if (!name[0])
        name = TIMELINE_NO_NAME;
    text_escape(shown, sizeof shown, name, strlen(name));
    if (!utf8)
        make_ascii(shown);
    all = columns_of(shown);
    if (all <= columns && text_copy(dst, size, shown))
        return all;
    text_format(dst, size, "%.*s..%s", (int)head_of(shown, columns - ELLIPSIS_COLUMNS - tail),
                shown, tail_of(shown, all, tail));
    return columns_of(dst);
}
