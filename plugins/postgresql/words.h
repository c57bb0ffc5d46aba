/* SPDX-License-Identifier: MIT
 * words.h: names and texts of PostgreSQL's, without a connection. */
#ifndef WORDS_H
#define WORDS_H
#include <stdbool.h>
#include <stddef.h>

/* A name is cut there by the server. */
#define WORDS_NAME_MAX 63
/* "schema"."table" and its end. */
#define WORDS_TABLE_SIZE (2 * (WORDS_NAME_MAX + 2) + 2)

/* Text that somebody else has written as one line: lines are joined by "; ", other control
 * characters become spaces; what does not fit ends with "...". Returns buf. */
char *words_flatten(const char *text, char *buf, size_t size);

/* The line of the character at `position`, both from 1 on, in UTF-8; 0 where it is none of it. */
int words_line(const char *text, int position);

/* The table's name, with or without schema, as it is written in SQL. NULL: it is none that can be
 * written without quotes in any case. */
const char *words_table(const char *name, char buf[WORDS_TABLE_SIZE]);

/* Of libpq's host or hostaddr, which may be lists: all of them are this machine itself, by a
 * socket's folder or the loopback. NULL: not given, which is a socket's folder too. */
bool words_is_local(const char *hosts);

/* Hosts in such a list. */
size_t words_count(const char *hosts);

/* "48.1s", "2m5s". */
#define WORDS_TIME_SIZE 32
char *words_time(long long ms, char buf[WORDS_TIME_SIZE]);
#endif
