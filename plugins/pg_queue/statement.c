/* SPDX-License-Identifier: MIT */
#include "statement.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* PostgreSQL takes no more parameters, and so no higher number. */
#define HIGHEST_MAX 65535

/* The words that lock rows, and how many of them in a row have come. */
struct lock_words {
    bool is_for;
    bool is_skip;
};

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (c & 0x80);
}

static bool is_of_name(char c)
{
    return begins_name(c) || isdigit((unsigned char)c) || c == '$';
}

static const char *pass_line(const char *at)
{
    return at + strcspn(at, "\n");
}

/* Comments of this kind may hold others. */
static const char *pass_comment(const char *at)
{
    int depth = 0;

    do {
        if (strncmp(at, "/*", 2) == 0) {
            depth++;
            at += 2;
        } else if (strncmp(at, "*/", 2) == 0) {
            depth--;
            at += 2;
        } else if (*at) {
            at++;
        }
    } while (*at && depth > 0);
    return at;
}

/* A quote within is written twice: that is two texts with nothing between them. */
static const char *pass_quoted(const char *at, bool escapes)
{
    char quote = *at++;

    while (*at && *at != quote)
        at += escapes && at[0] == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

/* $1; or $$text$$, $tag$text$tag$. */
static const char *pass_dollar(const char *at, int *highest)
{
    const char *end = at + 1, *close;
    int number = 0;

    if (isdigit((unsigned char)*end)) {
        for (; isdigit((unsigned char)*end); end++)
            if (number <= HIGHEST_MAX)
                number = number * 10 + (*end - '0');
        if (number > *highest)
            *highest = number;
        return end;
    }
    while (is_of_name(*end) && *end != '$')
        end++;
    if (*end != '$')
        return end;
    end++;
    for (close = end; *close; close++)
        if (strncmp(close, at, (size_t)(end - at)) == 0)
            return close + (end - at);
    return close;
}

static bool is_word(const char *word, size_t length, const char *other)
{
    return strlen(other) == length && strncasecmp(word, other, length) == 0;
}

static void take_word(struct statement *s, struct lock_words *w, const char *word, size_t length)
{
    if (is_word(word, length, "update") && w->is_for)
        s->locks = true;
    if (is_word(word, length, "locked") && w->is_skip && s->locks)
        s->skips_locked = true;
    w->is_skip = is_word(word, length, "skip");
    w->is_for = is_word(word, length, "for") ||
                (w->is_for && (is_word(word, length, "no") || is_word(word, length, "key")));
}

static const char *pass_word(struct statement *s, struct lock_words *w, const char *at)
{
    const char *end = at;

    while (is_of_name(*end))
        end++;
    take_word(s, w, at, (size_t)(end - at));
    return *end == '\'' ? pass_quoted(end, end == at + 1 && tolower((unsigned char)*at) == 'e')
                        : end;
}

/* What stands at `at`, and is neither blank nor a comment nor a semicolon. */
static const char *pass_token(struct statement *s, struct lock_words *w, const char *at)
{
    if (begins_name(*at))
        return pass_word(s, w, at);
    *w = (struct lock_words){ .is_for = false };
    if (*at == '\'' || *at == '"')
        return pass_quoted(at, false);
    return *at == '$' ? pass_dollar(at, &s->highest) : at + 1;
}

struct statement statement_look(const char *sql)
{
    struct statement s = { .highest = 0 };
    struct lock_words words = { .is_for = false };
    bool ended = false;

    while (*sql) {
        if (isspace((unsigned char)*sql)) {
            sql++;
        } else if (strncmp(sql, "--", 2) == 0) {
            sql = pass_line(sql);
        } else if (strncmp(sql, "/*", 2) == 0) {
            sql = pass_comment(sql);
        } else if (*sql == ';') {
            ended = true;
            sql++;
        } else {
            s.is_several = s.is_several || ended;
            sql = pass_token(&s, &words, sql);
        }
    }
    return s;
}
