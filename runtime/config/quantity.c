/* SPDX-License-Identifier: MIT */
#include "config/quantity.h"
#include "base/units.h"
#include <errno.h>
#include <string.h>

/* What a unit makes of a number. */
struct measure {
    int (*parse)(const char *text, int64_t *ret_value);
    char *(*write)(int64_t value, char *buf, size_t size);
    const char *name, *examples;
    const char *units[2]; /* those that a bare number may have meant */
};

static const struct measure durations = { units_parse_duration,
                                          units_write_duration,
                                          "duration",
                                          "\"30s\", \"10m\" or \"1h30m\"",
                                          { "s", "m" } };
static const struct measure sizes = { units_parse_size,
                                      units_write_size,
                                      "size",
                                      "\"512KiB\", \"64MiB\" or \"1GiB\"",
                                      { "KiB", "MiB" } };

static const struct measure *measure_of(const struct schema_key *k)
{
    return k->type == SCHEMA_SIZE ? &sizes : &durations;
}

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
    const struct measure *m = measure_of(k);

    parse_quote(s, quoted, sizeof(quoted));
    if (error == -ENODATA && digits && strlen(digits) < 20)
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "%s is %s, which has no unit; write \"%s%s\" or \"%s%s\"", k->path, quoted,
                        digits, m->units[0], digits, m->units[1]);
    else if (error == -ERANGE || or_auto)
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "%s is %s; write a %s from \"%s\" to \"%s\"%s", k->path, quoted, m->name,
                        m->write(k->min, least, sizeof(least)),
                        m->write(k->max, most, sizeof(most)), or_auto ? ", or \"auto\"" : "");
    else
        reading_problem(r, PROBLEM_ERROR, parse_line(s),
                        "%s is %s; write a number and its unit in quotes, such as %s", k->path,
                        quoted, m->examples);
}

void quantity_read(struct reading *r, const struct schema_key *k, const config_setting_t *s,
                   void *dest)
{
    const struct scan_number *n = parse_number(s);
    const char *text = config_setting_get_string(s); /* NULL with any other type */
    int64_t value = 0;
    int error = -EINVAL;

    if (is_auto(k, text)) {
        *(int64_t *)dest = 0;
        return;
    }
    if (n && n->plain && n->text[0] != '-')
        error = -ENODATA;
    else if (text)
        error = measure_of(k)->parse(text, &value);
    if (error == 0 && (value < k->min || value > k->max))
        error = -ERANGE;
    if (error == 0)
        *(int64_t *)dest = value;
    else
        note(r, k, s, error);
}

int64_t quantity_default(const struct schema_key *k)
{
    int64_t value = 0;

    return measure_of(k)->parse(k->def, &value) < 0 ? 0 : value;
}
