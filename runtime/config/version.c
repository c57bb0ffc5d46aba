/* SPDX-License-Identifier: MIT */
#include "config/version.h"
#include <stdlib.h>
#include <string.h>

/* Longest number of a version. */
#define DIGITS_MAX 4

struct version {
    long major, minor;
};

/* A number without sign; NULL where there is none, else where it ends. */
static const char *read_number(const char *text, long *ret_number)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > DIGITS_MAX)
        return NULL;
    *ret_number = strtol(text, NULL, 10);
    return text + digits;
}

/* False where it does not begin with "N.N". *ret_rest: what follows. */
static bool read_version(const char *text, struct version *ret_version, const char **ret_rest)
{
    const char *p = read_number(text, &ret_version->major);

    p = p && *p == '.' ? read_number(p + 1, &ret_version->minor) : NULL;
    *ret_rest = p;
    return p;
}

static bool is_version(const char *text, struct version *ret_version)
{
    const char *rest;

    return read_version(text, ret_version, &rest) && *rest == '\0';
}

/* Two numbers as a version has them, but for their length. */
static bool is_too_large(const char *text)
{
    size_t major = strspn(text, "0123456789"), minor;

    if (major == 0 || text[major] != '.')
        return false;
    minor = strspn(text + major + 1, "0123456789");
    return minor > 0 && text[major + 1 + minor] == '\0' &&
           (major > DIGITS_MAX || minor > DIGITS_MAX);
}

static struct version ours(void)
{
    struct version v = { 0 };
    const char *rest;

    read_version(ROTA_VERSION, &v, &rest);
    return v;
}

bool version_suffices(struct reading *r, const config_setting_t *s)
{
    struct version have = ours(), needed = { 0 };
    const char *text = s ? config_setting_get_string(s) : NULL;

    if (!text || !is_version(text, &needed) || needed.major < have.major ||
        (needed.major == have.major && needed.minor <= have.minor))
        return true;
    reading_problem(r, PROBLEM_ERROR, parse_line(s),
                    "this file needs rota %s; this is " ROTA_VERSION "; upgrade rota", text);
    return false;
}

void version_check(struct reading *r, int line)
{
    struct version have = ours(), needed;
    const char *text = r->config->requires;

    if (!text || is_version(text, &needed))
        return;
    if (is_too_large(text))
        reading_problem(r, PROBLEM_ERROR, line,
                        "requires is \"%s\", and a version's numbers have at most %d digits; this "
                        "is rota %ld.%ld",
                        text, DIGITS_MAX, have.major, have.minor);
    else
        reading_problem(r, PROBLEM_ERROR, line,
                        "requires is \"%s\"; write two numbers with a dot between them, such as "
                        "requires = \"%ld.%ld\"",
                        text, have.major, have.minor);
}
