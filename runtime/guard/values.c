/* SPDX-License-Identifier: MIT */
#include "guard/values.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int complain(char *sentence, const struct rota_param *decl, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Always -EINVAL. */
static int complain(char *sentence, const struct rota_param *decl, const char *format, ...)
{
    size_t used;
    va_list args;

    text_format(sentence, SENTENCE_SIZE, "%s ", decl->name);
    used = strlen(sentence);
    va_start(args, format);
    /* clang-tidy 14 overlooks this va_start. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vsnprintf(sentence + used, SENTENCE_SIZE - used, format, args);
    va_end(args);
    return -EINVAL;
}

/* The value as a message may show it: a secret is not repeated. */
static const char *shown(const struct rota_param *decl, const char *text)
{
    return (decl->flags & ROTA_SECRET) ? "(secret)" : text;
}

static int read_whole(const char *text, int64_t *ret_value)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 0);
    if (end == text || *end)
        return -EINVAL;
    if (errno == ERANGE)
        return -ERANGE;
    *ret_value = value;
    return 0;
}

/* Limits and scalars of all integer types are read alike. */
static int parse_integer(uint32_t type, const char *text, int64_t *ret_value)
{
    switch (type) {
    case ROTA_DURATION:
        return units_parse_duration(text, ret_value);
    case ROTA_SIZE:
        return units_parse_size(text, ret_value);
    default:
        return read_whole(text, ret_value);
    }
}

static int check_integer(const struct rota_param *decl, const char *text, int64_t value,
                         char *sentence)
{
    int64_t limit;

    if (decl->min && parse_integer(decl->type, decl->min, &limit) == 0 && value < limit)
        return complain(sentence, decl, "is %s; the least is %s", shown(decl, text), decl->min);
    if (decl->max && parse_integer(decl->type, decl->max, &limit) == 0 && value > limit)
        return complain(sentence, decl, "is %s; the greatest is %s", shown(decl, text), decl->max);
    return 0;
}

static int read_duration(const struct rota_param *decl, const struct param_value *given,
                         struct value *ret_value, char *sentence)
{
    bool size = decl->type == ROTA_SIZE;
    int64_t value = 0;
    int r;

    if (given->kind == PARAM_BOOLEAN || given->kind == PARAM_LIST)
        return complain(sentence, decl, "is a %s; write a %s such as %s",
                        given->kind == PARAM_LIST ? "list" : "boolean",
                        params_type_name(decl->type), size ? "\"64MiB\"" : "\"1h30m\"");
    r = given->kind == PARAM_TEXT ? parse_integer(decl->type, given->text, &value) : -ENODATA;
    if (r == -ENODATA)
        return complain(sentence, decl, "is %s, which has no unit; write \"%s%s\" or \"%s%s\"",
                        shown(decl, given->text), shown(decl, given->text), size ? "KiB" : "s",
                        shown(decl, given->text), size ? "MiB" : "m");
    if (r < 0)
        return complain(sentence, decl, "is \"%s\", which is no %s; write one such as %s",
                        shown(decl, given->text), params_type_name(decl->type),
                        size ? "\"64MiB\"" : "\"1h30m\"");
    ret_value->integer = value;
    return check_integer(decl, given->text, value, sentence);
}

static int read_integer(const struct rota_param *decl, const struct param_value *given, bool loose,
                        struct value *ret_value, char *sentence)
{
    bool fits = given->kind == PARAM_INTEGER || (loose && given->kind == PARAM_TEXT);
    int64_t value = 0;

    if (given->kind == PARAM_LIST)
        return complain(sentence, decl, "is a list; write a whole number");
    if (!fits || read_whole(given->text, &value) < 0)
        return complain(sentence, decl, "is %s%s%s; write a whole number, without quotes",
                        given->kind == PARAM_TEXT ? "\"" : "", shown(decl, given->text),
                        given->kind == PARAM_TEXT ? "\"" : "");
    ret_value->integer = value;
    return check_integer(decl, given->text, value, sentence);
}

/* x - x is 0 for every finite number: without libm. */
static bool is_finite(double value)
{
    return value - value >= 0;
}

static int read_number(const struct rota_param *decl, const struct param_value *given, bool loose,
                       struct value *ret_value, char *sentence)
{
    bool fits = given->kind == PARAM_INTEGER || given->kind == PARAM_NUMBER ||
                (loose && given->kind == PARAM_TEXT);
    char *end = NULL;
    double value = 0;

    if (given->kind == PARAM_LIST)
        return complain(sentence, decl, "is a list; write a number");
    if (fits)
        value = strtod(given->text, &end);
    if (!fits || end == given->text || *end || !is_finite(value))
        return complain(sentence, decl, "is %s; write a number, without quotes",
                        shown(decl, given->text));
    if (decl->min && value < strtod(decl->min, NULL))
        return complain(sentence, decl, "is %s; the least is %s", shown(decl, given->text),
                        decl->min);
    if (decl->max && value > strtod(decl->max, NULL))
        return complain(sentence, decl, "is %s; the greatest is %s", shown(decl, given->text),
                        decl->max);
    ret_value->number = value;
    return 0;
}

static int read_boolean(const struct rota_param *decl, const struct param_value *given, bool loose,
                        struct value *ret_value, char *sentence)
{
    bool fits = given->kind == PARAM_BOOLEAN || (loose && given->kind == PARAM_TEXT);

    if (fits && strcmp(given->text, "true") == 0)
        ret_value->integer = 1;
    else if (fits && strcmp(given->text, "false") == 0)
        ret_value->integer = 0;
    else if (given->kind == PARAM_LIST)
        return complain(sentence, decl, "is a list; write true or false");
    else
        return complain(sentence, decl, "is %s; write true or false, without quotes",
                        shown(decl, given->text));
    return 0;
}

/* "fast|slow" as names, for the search and for the nearest. */
static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);

    for (const char *at = choices;; at++) {
        size_t part = strcspn(at, "|");

        if (part == length && memcmp(at, text, length) == 0)
            return true;
        at += part;
        if (!*at)
            return false;
    }
}

static int check_text(const struct rota_param *decl, const char *text, char *sentence)
{
    if (decl->choices && !is_choice(decl->choices, text))
        return complain(sentence, decl, "is \"%s\"; write one of %s", shown(decl, text),
                        decl->choices);
    if ((decl->flags & ROTA_PATH) && text[0] != '/')
        return complain(sentence, decl, "is \"%s\"; write an absolute path", shown(decl, text));
    return 0;
}

static int check_length(const struct rota_param *decl, size_t length, char *sentence)
{
    const char *unit = decl->type == ROTA_STRINGS ? "elements" : "bytes";
    int64_t limit;

    if (decl->min && read_whole(decl->min, &limit) == 0 && (int64_t)length < limit)
        return complain(sentence, decl, "has %zu %s; the least is %s", length, unit, decl->min);
    if (decl->max && read_whole(decl->max, &limit) == 0 && (int64_t)length > limit)
        return complain(sentence, decl, "has %zu %s; the most is %s", length, unit, decl->max);
    return 0;
}

static int read_string(const struct rota_param *decl, const struct param_value *given,
                       struct value *ret_value, char *sentence)
{
    int r;

    if (given->kind == PARAM_LIST)
        return complain(sentence, decl, "is a list; write one string");
    if (given->kind != PARAM_TEXT)
        return complain(sentence, decl, "is %s, without quotes; write \"%s\"",
                        shown(decl, given->text), shown(decl, given->text));
    r = check_length(decl, strlen(given->text), sentence);
    if (r == 0)
        r = check_text(decl, given->text, sentence);
    ret_value->string = given->text;
    return r;
}

static int read_strings(const struct rota_param *decl, const struct param_value *given, bool loose,
                        struct value *ret_value, char *sentence)
{
    const char *const *items = given->kind == PARAM_LIST ? given->items : &given->text;
    uint32_t count = given->kind == PARAM_LIST ? given->count : 1;
    const char **copy;
    int r;

    if (given->kind != PARAM_LIST && !(loose && given->kind == PARAM_TEXT))
        return complain(sentence, decl, "is no list; write [ \"%s\" ]%s", shown(decl, given->text),
                        strchr(given->text, ' ') ? ", each word in quotes of its own" : "");
    r = check_length(decl, count, sentence);
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = check_text(decl, items[i], sentence);
    if (r < 0)
        return r;
    copy = calloc((size_t)count + 1, sizeof(*copy));
    if (!copy) {
        complain(sentence, decl, "cannot be kept: no memory");
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        copy[i] = items[i];
    ret_value->strings = copy;
    return 0;
}

/* As it is compared with: a length for texts and lists. */
static bool is_limit(const struct rota_param *decl, const char *text)
{
    bool counted = decl->type == ROTA_STRING || decl->type == ROTA_STRINGS;
    int64_t value;
    double number;
    char *end;

    if (decl->type != ROTA_NUMBER)
        return parse_integer(counted ? ROTA_INTEGER : decl->type, text, &value) == 0;
    number = strtod(text, &end);
    return end != text && !*end && is_finite(number);
}

const char *values_check_limits(const struct rota_param *decl)
{
    if ((decl->min || decl->max) && decl->type == ROTA_BOOLEAN)
        return "a limit, which a boolean cannot have";
    if (decl->min && !is_limit(decl, decl->min))
        return "a min that is no value of its type";
    if (decl->max && !is_limit(decl, decl->max))
        return "a max that is no value of its type";
    if (decl->choices && is_choice(decl->choices, ""))
        return "an empty text among its choices";
    return NULL;
}

int values_read(const struct rota_param *decl, const struct param_value *given, bool loose,
                struct value *ret_value, char *sentence)
{
    struct value value = { .set = true };
    int r;

    switch (decl->type) {
    case ROTA_STRING:
        r = read_string(decl, given, &value, sentence);
        break;
    case ROTA_STRINGS:
        r = read_strings(decl, given, loose, &value, sentence);
        break;
    case ROTA_INTEGER:
        r = read_integer(decl, given, loose, &value, sentence);
        break;
    case ROTA_NUMBER:
        r = read_number(decl, given, loose, &value, sentence);
        break;
    case ROTA_BOOLEAN:
        r = read_boolean(decl, given, loose, &value, sentence);
        break;
    default:
        r = read_duration(decl, given, &value, sentence);
        break;
    }
    if (r == 0)
        *ret_value = value;
    return r;
}

#define DEFAULT_ITEMS_MAX 32

/* Cuts [ "a", "b" ] in place. The number of its texts, or -EINVAL. */
static int cut_list(char *text, const char **items)
{
    char *at = text + strspn(text, " "), *end;
    int count = 0;

    if (*at++ != '[')
        return -EINVAL;
    at += strspn(at, " ");
    while (*at == '"' && count < DEFAULT_ITEMS_MAX) {
        end = strchr(++at, '"');
        if (!end)
            return -EINVAL;
        *end = 0;
        items[count++] = at;
        at = end + 1 + strspn(end + 1, " ");
        if (*at == ',')
            at += 1 + strspn(at + 1, " ");
        else if (*at != ']')
            return -EINVAL;
    }
    return strcmp(at, "]") == 0 ? count : -EINVAL;
}

int values_read_default(const struct rota_param *decl, struct value *ret_value, char **ret_block,
                        char *sentence)
{
    const char *items[DEFAULT_ITEMS_MAX];
    struct param_value given = { .name = decl->name, .kind = PARAM_TEXT, .text = decl->def };
    char *block;
    int r;

    if (decl->type != ROTA_STRINGS) {
        r = values_read(decl, &given, true, ret_value, sentence);
        if (r == 0)
            *ret_block = NULL;
        return r;
    }
    block = strdup(decl->def);
    if (!block) {
        complain(sentence, decl, "cannot be kept: no memory");
        return -ENOMEM;
    }
    r = cut_list(block, items);
    if (r >= 0) {
        given = (struct param_value){
            .name = decl->name, .kind = PARAM_LIST, .items = items, .count = (uint32_t)r
        };
        r = values_read(decl, &given, false, ret_value, sentence);
    } else {
        complain(sentence, decl, "has the default %s; write [ \"...\" ]", decl->def);
    }
    if (r < 0) {
        free(block);
        return r;
    }
    *ret_block = block;
    return 0;
}
