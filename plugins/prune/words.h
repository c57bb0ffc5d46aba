/* SPDX-License-Identifier: MIT
 * words.h: names held against patterns, and names and numbers fit for a message. */
#ifndef PRUNE_WORDS_H
#define PRUNE_WORDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the whole name is as the pattern: '*' is any text, '?' one character (of UTF-8), all else
 * itself. */
bool words_match(const char *pattern, const char *name);

/* Control characters and DEL as \xNN, so that no name moves a cursor or begins a line; a text that
 * does not fit ends in "...". Returns buf; size at least 4. */
char *words_escape(const char *text, char *buf, size_t size);

/* "512 B", "1.2 GiB", rounded down. Returns buf. */
#define WORDS_SIZE 32
char *words_size(int64_t bytes, char buf[WORDS_SIZE]);
#endif
