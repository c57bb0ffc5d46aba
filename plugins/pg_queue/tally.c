/* SPDX-License-Identifier: MIT */
#include "tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_SIZE 32

bool tally_is_empty(const struct tally *t)
{
    return t->handled == 0 && t->aside == 0;
}

/* "1,234,567". */
static const char *group(int64_t number, char buf[NUMBER_SIZE])
{
    char digits[NUMBER_SIZE];
    size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, number), used = 0;

    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            buf[used++] = ',';
        buf[used++] = digits[i];
    }
    buf[used] = '\0';
    return buf;
}

const char *tally_words(const struct tally *t, char buf[TALLY_WORDS])
{
    char handled[NUMBER_SIZE], aside[NUMBER_SIZE];
    const char *rows = t->handled == 1 ? "row" : "rows";

    group(t->handled, handled);
    group(t->aside, aside);
    if (t->aside == 0)
        snprintf(buf, TALLY_WORDS, "handled %s %s", handled, rows);
    else
        snprintf(buf, TALLY_WORDS, "handled %s %s and set %s aside", handled, rows, aside);
    return buf;
}
