/* SPDX-License-Identifier: MIT */
#include "supervisor/check_syntax.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LINE_SIZE 256
#define BLANKS " \t\r"
#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NAME_SIGNS LETTERS DIGITS "_-*"
/* Where an unquoted value ends at the latest. */
#define ENDS ";,#{}[]()\"'"

/* One line, read from the left: `at` is what has not been understood yet. */
struct line {
    const char *at;
    char *why;
};

struct word {
    const char *at;
    int length;
};

static bool say(const struct line *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Always true. */
static bool say(const struct line *l, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(l->why, CONFIG_WHY_SIZE, format, args);
    va_end(args);
    return true;
}

/* Without blanks at its end. */
static struct word word_of(const char *at, size_t length)
{
    while (length > 0 && strchr(BLANKS, at[length - 1]))
        length--;
    return (struct word){ at, (int)length };
}

static void skip_any(struct line *l, const char *bytes)
{
    l->at += strspn(l->at, bytes);
}

/* Past the text that begins here; false: it goes on in the next line. */
static bool skip_text(struct line *l)
{
    for (l->at++; *l->at != '\0' && *l->at != '"'; l->at++)
        if (*l->at == '\\' && l->at[1] != '\0')
            l->at++;
    if (*l->at == '\0')
        return false;
    l->at++;
    return true;
}

/* Cuts a comment off; stops before the first byte beyond ASCII outside of texts. */
static const char *find_foreign(char *text)
{
    struct line l = { text, NULL };

    while (*l.at != '\0') {
        if (*l.at == '"') {
            if (!skip_text(&l))
                return NULL;
        } else if (*l.at == '#' || strncmp(l.at, "//", 2) == 0) {
            text[l.at - text] = '\0';
        } else if (*l.at & 0x80) {
            return l.at;
        } else {
            l.at++;
        }
    }
    return NULL;
}

/* Bytes of the UTF-8 character that begins here. */
static int character_length(const char *at)
{
    int length = 1;

    while (length < 4 && (at[length] & 0xc0) == 0x80)
        length++;
    return length;
}

static bool is_one_of(const char *at, const char *const *characters)
{
    for (; *characters; characters++)
        if (strncmp(at, *characters, strlen(*characters)) == 0)
            return true;
    return false;
}

static bool explain_foreign(const struct line *l, const char *at)
{
    static const char *const quotes[] = { "\u2018", "\u2019", "\u201a", "\u201b", "\u201c",
                                          "\u201d", "\u201e", "\u201f", "\u00ab", "\u00bb",
                                          "\u2039", "\u203a", NULL };
    static const char *const blanks[] = { "\u00a0", "\u2002", "\u2003", "\u2009", "\u200b",
                                          "\u202f", "\u3000", "\ufeff", NULL };

    if (is_one_of(at, quotes))
        return say(l, "the quote %.*s is not a plain one; write text in plain double quotes, \"\"",
                   character_length(at), at);
    if (is_one_of(at, blanks))
        return say(l, "a character here looks like a space and is none, as web pages have them; "
                      "write the line anew, with plain spaces");
    return say(l, "%.*s cannot stand outside of a text; names have the letters a to z only",
               character_length(at), at);
}

static bool explain_comment(const struct line *l)
{
    if (strncmp(l->at, "--", 2) == 0)
        return say(l, "-- begins no comment; write # instead");
    if (*l->at == ';' && l->at[strspn(l->at, ";" BLANKS)] != '\0')
        return say(l, "; begins no comment; write # instead");
    return false;
}

/* "[redis]" of an ini file. */
static bool explain_section(const struct line *l)
{
    size_t length = *l->at == '[' ? strspn(l->at + 1, NAME_SIGNS) : 0;

    if (length == 0 || l->at[1 + length] != ']')
        return false;
    return say(l,
               "a group is not begun by [%.*s]; write %.*s = { before its first line and }; "
               "after its last",
               (int)length, l->at + 1, (int)length, l->at + 1);
}

/* What other files have as true or false. */
static bool is_switch(struct word w)
{
    static const char *const words[] = { "yes", "no", "on", "off" };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == (size_t)w.length &&
            strncasecmp(w.at, words[i], (size_t)w.length) == 0)
            return true;
    return false;
}

static bool explain_unquoted(const struct line *l, struct word name)
{
    struct word value = word_of(l->at, strcspn(l->at, ENDS));
    bool is_list = name.length == 0;

    if (value.length == 0)
        return say(l, "the value of %.*s is missing; write it behind the =", name.length, name.at);
    if (!is_list && is_switch(value))
        return say(l, "%.*s is %.*s; write true or false", name.length, name.at, value.length,
                   value.at);
    if (is_list)
        return say(l, "%.*s stands without quotes; write \"%.*s\"", value.length, value.at,
                   value.length, value.at);
    return say(l, "%.*s is %.*s, without quotes; write %.*s = \"%.*s\";", name.length, name.at,
               value.length, value.at, name.length, name.at, value.length, value.at);
}

static bool is_plain(struct word w)
{
    size_t number = strspn(w.at, DIGITS "+-.eExXabcdefABCDEFL");

    if (w.length == 4 && strncasecmp(w.at, "true", 4) == 0)
        return true;
    if (w.length == 5 && strncasecmp(w.at, "false", 5) == 0)
        return true;
    return w.length > 0 && strchr(DIGITS "+-.", *w.at) && number >= (size_t)w.length;
}

static bool explain_value(struct line *l, struct word name);

/* Past the list that begins here; what follows its last line is not known. */
static bool explain_list(struct line *l)
{
    const struct word none = { 0 };

    do {
        bool comma = *l->at == ',';

        l->at++;
        skip_any(l, BLANKS);
        if (*l->at == ']' || *l->at == ')') {
            if (!comma)
                break;
            return say(l, "the list ends with a comma; leave out the last one");
        }
        if (*l->at == '\0' || *l->at == '[' || *l->at == '(' || explain_value(l, none))
            return l->why[0] != '\0';
        skip_any(l, BLANKS);
    } while (*l->at == ',');
    if (*l->at != '\0')
        l->at++;
    return false;
}

/* Past the value that begins here; into it, where it is a group. */
static bool explain_value(struct line *l, struct word name)
{
    struct word word = word_of(l->at, strcspn(l->at, ENDS));
    size_t length;

    if (*l->at == '"') {
        if (!skip_text(l))
            l->at += strlen(l->at);
        return false;
    }
    if (*l->at == '\'') {
        length = strcspn(l->at + 1, "'");
        return say(l, "text stands in double quotes; write %.*s%s\"%.*s\"", name.length, name.at,
                   name.length > 0 ? " = " : "", (int)length, l->at + 1);
    }
    if (*l->at == '{') {
        l->at++;
        return false;
    }
    if (*l->at == '[' || *l->at == '(')
        return name.length > 0 && explain_list(l);
    if (*l->at == '\0')
        return false;
    if (!is_plain(word))
        return explain_unquoted(l, name);
    l->at += word.length;
    return false;
}

/* "limits.memory", as messages call it, and as other files write it. */
static bool explain_dot(const struct line *l, struct word name)
{
    static const char *const groups[] = { "redis.", "jobs.", "params.", "limits.", NULL };
    int group = (int)strcspn(name.at, "."), key = name.length - group - 1;
    char flat[LINE_SIZE] = "";

    if (group == 0 || key <= 0)
        return false;
    if (is_one_of(name.at, groups))
        return say(l, "%.*s stands in a group; write %.*s = { %.*s = ...; };", key,
                   name.at + group + 1, group, name.at, key, name.at + group + 1);
    memcpy(flat, name.at, (size_t)name.length);
    for (char *dot = flat; (dot = strchr(dot, '.'));)
        *dot = '_';
    return say(l, "%.*s is no name, since it has a dot; write such as %s", name.length, name.at,
               flat);
}

static bool explain_name(const struct line *l, struct word name)
{
    if (name.at[0] == '"' && name.length > 2)
        return say(l, "a name stands without quotes; write %.*s", name.length - 2, name.at + 1);
    if (strchr(LETTERS "*", name.at[0]) && (int)strspn(name.at, NAME_SIGNS) >= name.length)
        return false;
    if (explain_dot(l, name))
        return true;
    return say(l,
               "%.*s is no name; a name begins with a letter, and has letters, digits, _ and - "
               "only",
               name.length, name.at);
}

/* Past one "NAME = VALUE" */
static bool explain_setting(struct line *l)
{
    const char *begin = l->at;
    struct word name, rest;

    if (*l->at == '"' && !skip_text(l))
        return false;
    name = word_of(begin, (size_t)(l->at - begin) + strcspn(l->at, "=:" ENDS));
    l->at = begin + name.length;
    skip_any(l, BLANKS);
    if (*l->at != '=' && *l->at != ':') {
        if (name.length == 0 || (*l->at != '"' && *l->at != '{' && *l->at != '['))
            return false;
        rest = word_of(l->at, strcspn(l->at, ";#"));
        return say(l, "there is no = behind %.*s; write %.*s = %.*s", name.length, name.at,
                   name.length, name.at, rest.length, rest.at);
    }
    if (name.length == 0)
        return say(l, "a name is missing before this %c", *l->at);
    if (explain_name(l, name))
        return true;
    l->at++;
    skip_any(l, BLANKS);
    return explain_value(l, name);
}

static bool explain_line(struct line *l, char *text)
{
    const char *foreign = find_foreign(text), *before;

    l->at = text + strspn(text, BLANKS);
    if (foreign)
        return explain_foreign(l, foreign);
    if (explain_comment(l) || explain_section(l))
        return true;
    do {
        skip_any(l, BLANKS ";,})]");
        before = l->at;
        if (explain_setting(l))
            return true;
    } while (l->at > before && *l->at != '\0');
    return false;
}

/* False: the line is not there, or too long. */
static bool copy_line(const char *text, int line, char copy[LINE_SIZE])
{
    size_t length;

    while (line > 1 && (text = strchr(text, '\n'))) {
        text++;
        line--;
    }
    length = text ? strcspn(text, "\n") : LINE_SIZE;
    if (length >= LINE_SIZE)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return true;
}

void check_syntax_explain(const char *text, int line, char why[CONFIG_WHY_SIZE])
{
    char copy[LINE_SIZE];
    struct line l = { .why = why };

    why[0] = '\0';
    if (!copy_line(text, line, copy) || !explain_line(&l, copy))
        snprintf(why, CONFIG_WHY_SIZE,
                 "this cannot be understood; look here and on the line before for a missing ; = , "
                 "or quote; a name begins with a letter, and a text needs quotes");
}
