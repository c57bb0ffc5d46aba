/* SPDX-License-Identifier: MIT */
#include "redis/refusal.h"
#include <stddef.h>
#include <string.h>

static bool first_word_is(const char *text, const char *word)
{
    size_t len = strlen(word);

    return strncmp(text, word, len) == 0 && (text[len] == ' ' || text[len] == '\0');
}

/* "ERR Error running script (call to f_...): ...: -READONLY You can't write ..." */
static bool wraps(const char *text, const char *word)
{
    size_t len = strlen(word);

    if (!first_word_is(text, "ERR"))
        return false;
    for (const char *at = strstr(text, " -"); at; at = strstr(at + 2, " -"))
        if (strncmp(at + 2, word, len) == 0 && at[2 + len] == ' ')
            return true;
    return false;
}

bool redis_refusal_closes(const char *error)
{
    static const char *const words[] = { "READONLY", "MASTERDOWN", "LOADING", "NOAUTH", "DENIED" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (first_word_is(error, words[i]) || wraps(error, words[i]))
            return true;
    return strncmp(error, "ERR max number of clients", strlen("ERR max number of clients")) == 0;
}

bool redis_refusal_wants_body(const char *error)
{
    return first_word_is(error, "NOSCRIPT");
}
