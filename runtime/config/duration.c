/* SPDX-License-Identifier: MIT */
#include "config/duration.h"
#include "base/units.h"
#include <errno.h>
#include <string.h>

static bool is_auto(const struct schema_key *k, const char *text)
{
    return (k->flags & SCHEMA_AUTO) && text && strcmp(text, "auto") == 0;
}

static void note(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                 int error)
{
    char quoted[PARSE_QUOTE_SIZE], least[UNITS_SIZE], most[UNITS_SIZE];
    const struct scan_number *n = parse_number(s);
    const char *digits = n ? n->text : config_setting_get_string(s);
    bool or_auto = (k->flags & SCHEMA_AUTO) != 0;

    parse_quote(s, quoted, sizeof(quoted));
    if (error == -ENODATA && digits && strlen(digits) < 20)
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "%s is %s, which has no unit; write \"%ss\" or \"%sm\"", k->path, quoted,
                        digits, digits);
    else if (error == -ERANGE || or_auto)
        reading_problem(
            r, PROBLEM_ERROR, parse_line(s), "%s is %s; write a duration from \"%s\" to \"%s\"%s",
            k->path, quoted, units_write_duration(k->min, least, sizeof(least)),
            units_write_duration(k->max, most, sizeof(most)), or_auto ? ", or \"auto\"" : "");
    else
        reading_problem(
            r, PROBLEM_ERROR, parse_line(s),
            "%s is %s; write a duration in quotes, such as \"30s\", \"10m\" or \"1h30m\"", k->path,
            quoted);
}

void duration_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                   void *dest)
{
    const struct scan_number *n = parse_number(s);
    const char *text = config_setting_get_string(s); /* NULL with any other type */
    int64_t ms = 0;
    int error = -EINVAL;

    if (is_auto(k, text)) {
        *(int64_t *)dest = 0;
        return;
    }
    if (n && n->plain && n->text[0] != '-')
        error = -ENODATA;
    else if (text)
        error = units_parse_duration(text, &ms);
    if (error == 0 && (ms < k->min || ms > k->max))
        error = -ERANGE;
    if (error == 0)
        *(int64_t *)dest = ms;
    else
        note(r, k, s, error);
}

void duration_print(const struct schema_key *k, const void *dest, FILE *out)
{
    int64_t ms = *(const int64_t *)dest;
    char buf[UNITS_SIZE];

    if (ms == 0 && (k->flags & SCHEMA_AUTO))
        fputs("\"auto\"", out);
    else
        fprintf(out, "\"%s\"", units_write_duration(ms, buf, sizeof(buf)));
}
