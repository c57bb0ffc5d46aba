/* SPDX-License-Identifier: MIT */
#include "rotactl/column_list.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>

static int say_unknown(const char *word, size_t length, const char *const *words, size_t count)
{
    const char *nearest, *before = "there are ";
    char shown[80];

    text_escape(shown, sizeof shown, word, length);
    nearest = text_nearest(shown, words, count);
    fprintf(stderr, "rotactl: there is no column '%s'; ", shown);
    if (nearest && *nearest) {
        fprintf(stderr, "did you mean '%s'?\n", nearest);
        return EX_USAGE;
    }
    for (size_t i = 0; i < count; i++) {
        if (!*words[i])
            continue;
        fprintf(stderr, "%s%s", before, words[i]);
        before = ", ";
    }
    putc('\n', stderr);
    return EX_USAGE;
}

/* `count` where there is none. */
static size_t find(const char *word, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count && length > 0; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], word, length) == 0)
            return i;
    return count;
}

int column_list_read(const char *text, const char *const *words, size_t count,
                     struct column_list *ret)
{
    struct column_list list = { 0 };

    for (;; text++) {
        size_t length = strcspn(text, ","), column = find(text, length, words, count);

        if (column == count)
            return say_unknown(text, length, words, count);
        if (list.count == COLUMN_LIST_MAX) {
            fprintf(stderr, "rotactl: -o takes %d columns at most\n", COLUMN_LIST_MAX);
            return EX_USAGE;
        }
        list.columns[list.count++] = column;
        text += length;
        if (!*text)
            break;
    }
    *ret = list;
    return 0;
}
