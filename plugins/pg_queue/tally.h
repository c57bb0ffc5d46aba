/* SPDX-License-Identifier: MIT
 * tally.h: what a run has done so far: of batches that were committed. */
#ifndef TALLY_H
#define TALLY_H
#include <stdbool.h>
#include <stdint.h>

#define TALLY_WORDS 100

struct tally {
    int64_t handled;
    int64_t aside; /* given to on_failure */
};

bool tally_is_empty(const struct tally *t);
/* "handled 1,200 rows and set 3 aside", or as much of it as there is to say. Returns buf. */
const char *tally_words(const struct tally *t, char buf[TALLY_WORDS]);
#endif
