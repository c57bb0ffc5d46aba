/* SPDX-License-Identifier: MIT */
#include "core/cron.h"

#include "base/text.h"
#include "core/date.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIELDS 5
/* What is shown of a word that is wrong. */
#define WORD_SHOWN 40

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY };

static const char *const month_names[] = { "January",   "February", "March",    "April",
                                           "May",       "June",     "July",     "August",
                                           "September", "October",  "November", "December" };
static const char *const weekday_names[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                             "Thursday", "Friday", "Saturday" };

static const struct field {
    const char *name;
    int low, high;
    const char *values;       /* what to write */
    const char *const *names; /* the first three letters are what is written; NULL: none */
    int names_count;
} fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, "0 to 59", NULL, 0 },
    [HOUR] = { "hour", 0, 23, "0 to 23", NULL, 0 },
    [DAY] = { "day of the month", 1, 31, "1 to 31", NULL, 0 },
    [MONTH] = { "month", 1, 12, "JAN to DEC or 1 to 12", month_names, 12 },
    [WEEKDAY] = { "day of the week", 0, 7, "SUN to SAT or 0 to 7", weekday_names, 7 },
};

static const struct {
    const char *word, *text;
} words[] = {
    { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
    { "@weekly", "0 0 * * 0" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
    { "@annually", "0 0 1 1 *" },
};

/* A stretch of the text. */
struct piece {
    const char *at;
    size_t length;
};

struct range {
    int low, high;
};

static int refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(char *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, CRON_WHY_SIZE, format, args);
    va_end(args);
    return -EINVAL;
}

static const char *show(const struct piece *p, char buffer[WORD_SHOWN])
{
    return text_escape(buffer, WORD_SHOWN, p->at, p->length);
}

/* Cuts what stands before the next `separator` off `rest`; false where nothing is left. What is
 * after the last separator is a piece too, if an empty one. */
static bool cut(struct piece *rest, char separator, struct piece *ret_piece)
{
    const char *end;

    if (!rest->at)
        return false;
    end = memchr(rest->at, separator, rest->length);
    ret_piece->at = rest->at;
    ret_piece->length = end ? (size_t)(end - rest->at) : rest->length;
    rest->length -= ret_piece->length + (end != NULL);
    rest->at = end ? end + 1 : NULL;
    return true;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether it is the first `length` letters of `word`, in either case. */
static bool is_word(const struct piece *p, const char *word, size_t length)
{
    if (p->length != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (lower(p->at[i]) != lower(word[i]))
            return false;
    return true;
}

/* -EINVAL where it is no number; one that is too great for any field is 1000. */
static int read_number(const struct piece *p)
{
    int number = 0;

    for (size_t i = 0; i < p->length; i++) {
        if (p->at[i] < '0' || p->at[i] > '9')
            return -EINVAL;
        number = number * 10 + (p->at[i] - '0');
        if (number > 1000)
            number = 1000;
    }
    return p->length > 0 ? number : -EINVAL;
}

/* Whether it is of the kind that only Quartz knows: L, 15W, 6#3, ?. */
static bool is_special(const struct piece *p)
{
    bool special = true;

    for (size_t i = 0; i < p->length; i++) {
        if (p->at[i] == '#' || p->at[i] == '?')
            return true;
        special = special && strchr("0123456789LWlw", p->at[i]);
    }
    return special;
}

/* The value of a number or a name. */
static int read_value(const struct field *f, const struct piece *p, char *why)
{
    char shown[WORD_SHOWN];
    int value = read_number(p);

    if (value >= f->low && value <= f->high)
        return value;
    if (value >= 0)
        return refuse(why, "the %s is %s; write %s", f->name, show(p, shown), f->values);
    for (int i = 0; i < f->names_count; i++)
        if (is_word(p, f->names[i], 3))
            return f->low + i;
    if (p->length == 0)
        return refuse(why, "a value of the %s is missing; write %s", f->name, f->values);
    if (is_special(p))
        return refuse(why, "the %s is \"%s\"; L, W, # and ? are not known, write %s", f->name,
                      show(p, shown), f->values);
    return refuse(why, "\"%s\" is no %s; write %s", show(p, shown), f->name, f->values);
}

static int read_step(const struct field *f, const struct piece *p, char *why)
{
    char shown[WORD_SHOWN];
    int step = read_number(p), most = f->high - f->low;

    if (step >= 1 && step <= most)
        return step;
    if (step == 0)
        return refuse(why, "the step of the %s is 0; write 1 to %d", f->name, most);
    return refuse(why, "the step of the %s is \"%s\"; write 1 to %d", f->name, show(p, shown),
                  most);
}

/* Both ends of "*", "5" or "MON-FRI". */
static int read_range(const struct field *f, struct piece p, struct range *ret_range, char *why)
{
    struct piece first;
    int low, high;

    if (p.length == 1 && *p.at == '*') {
        *ret_range = (struct range){ f->low, f->high };
        return 0;
    }
    cut(&p, '-', &first);
    low = read_value(f, &first, why);
    if (low < 0)
        return low;
    high = p.at ? read_value(f, &p, why) : low;
    if (high < 0)
        return high;
    /* Sunday is at both ends of a week: FRI-SUN is 5-7, and 7-2 is 0-2. */
    if (f == &fields[WEEKDAY] && high == 0 && low > 0)
        high = 7;
    else if (f == &fields[WEEKDAY] && low == 7 && high < 7)
        low = 0;
    if (low > high)
        return refuse(why, "a range goes upward, and the %s is %d-%d; write %d-%d,%d-%d", f->name,
                      low, high, low, f == &fields[WEEKDAY] ? 6 : f->high, f->low, high);
    *ret_range = (struct range){ low, high };
    return 0;
}

/* One place of a list: a range, and a step. */
static int read_item(const struct field *f, struct piece p, uint64_t *set, char *why)
{
    const struct piece whole = p;
    struct piece values;
    char shown[WORD_SHOWN], shown_step[WORD_SHOWN];
    struct range range = { 0, 0 };
    int step = 1, r;

    cut(&p, '/', &values);
    r = read_range(f, values, &range, why);
    if (r < 0)
        return r;
    if (p.at) {
        if (*values.at != '*' && !memchr(values.at, '-', values.length))
            return refuse(why, "the %s is \"%s\", a step without a range; write %d-%d/%s", f->name,
                          show(&whole, shown), range.low, f->high, show(&p, shown_step));
        step = read_step(f, &p, why);
        if (step < 0)
            return step;
    }
    for (int i = range.low; i <= range.high; i += step)
        *set |= UINT64_C(1) << i;
    return 0;
}

static int read_field(const struct field *f, struct piece p, uint64_t *ret_set, char *why)
{
    struct piece item;
    uint64_t set = 0;

    while (cut(&p, ',', &item)) {
        int r = read_item(f, item, &set, why);

        if (r < 0)
            return r;
    }
    *ret_set = set;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Counts all fields, keeps the first five. */
static int split(const char *text, struct piece ret_pieces[FIELDS])
{
    int count = 0;

    for (;;) {
        const char *begin;

        while (is_blank(*text))
            text++;
        if (*text == '\0')
            return count;
        begin = text;
        while (*text != '\0' && !is_blank(*text))
            text++;
        if (count < FIELDS)
            ret_pieces[count] = (struct piece){ begin, (size_t)(text - begin) };
        count++;
    }
}

static int read_word(const struct piece *p, const char **ret_text, char *why)
{
    static const char known[] =
        "@hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually";
    char shown[WORD_SHOWN];

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_word(p, words[i].word, strlen(words[i].word))) {
            *ret_text = words[i].text;
            return 0;
        }
    if (is_word(p, "@reboot", strlen("@reboot")))
        return refuse(why, "@reboot is no time, and rota runs jobs by time only; write %s", known);
    return refuse(why, "\"%s\" is not known; write %s", show(p, shown), known);
}

/* Where both days must match, the weekday comes round to every date; the date itself may be none.
 */
static int check_days(const struct cron *c, char *why)
{
    int day = __builtin_ctz(c->days), month;

    if (c->either)
        return 0;
    for (month = 1; month <= 12; month++)
        if (c->months >> month & 1 && day <= date_month_days(2000, month))
            return 0;
    month = __builtin_ctz(c->months);
    return refuse(why, "never due: %s has no %d%s", month_names[month - 1], day,
                  day == 31 ? "st" : "th");
}

int cron_parse(const char *text, struct cron *ret_cron, char ret_why[CRON_WHY_SIZE])
{
    struct piece pieces[FIELDS] = { 0 };
    uint64_t sets[FIELDS];
    struct cron c = { 0 };
    int count = split(text, pieces), r;

    if (count == 1 && *pieces[0].at == '@') {
        r = read_word(&pieces[0], &text, ret_why);
        if (r < 0)
            return r;
        count = split(text, pieces);
    }
    if (count > 0 && memchr(pieces[0].at, '=', pieces[0].length))
        return refuse(ret_why, "a variable does not belong here; write five fields, and the zone "
                               "as timezone");
    if (count != FIELDS)
        return refuse(
            ret_why,
            "%d field%s; write five, no seconds: minute hour day-of-month month day-of-week", count,
            count == 1 ? "" : "s");
    for (int i = 0; i < FIELDS; i++) {
        r = read_field(&fields[i], pieces[i], &sets[i], ret_why);
        if (r < 0)
            return r;
    }
    c.minutes = sets[MINUTE];
    c.hours = (uint32_t)sets[HOUR];
    c.days = (uint32_t)sets[DAY];
    c.months = (uint16_t)sets[MONTH];
    c.weekdays = (sets[WEEKDAY] | sets[WEEKDAY] >> 7) & 0x7f;
    c.either = *pieces[DAY].at != '*' && *pieces[WEEKDAY].at != '*';
    c.each_hour = memchr(pieces[HOUR].at, '*', pieces[HOUR].length) ||
                  memchr(pieces[HOUR].at, '/', pieces[HOUR].length) || c.hours == 0xffffff;
    r = check_days(&c, ret_why);
    if (r < 0)
        return r;
    *ret_cron = c;
    return 0;
}
