/* SPDX-License-Identifier: MIT
 * base/text.h: small string helpers. */
#ifndef ROTA_BASE_TEXT_H
#define ROTA_BASE_TEXT_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Copies at most size - 1 bytes and always ends dst. False where it had to cut. */
bool text_copy(char *dst, size_t size, const char *src);
/* Both there and the same; NULL equals nothing. */
bool text_equal(const char *a, const char *b);
/* The same, or neither is there. */
bool text_same(const char *a, const char *b);
bool text_ends_with(const char *text, const char *end);
/* snprintf that always ends dst; false where it had to cut. */
bool text_format(char *dst, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes text that came from elsewhere fit for a terminal and a log line: control characters,
 * escapes and bytes that are no UTF-8 become \xNN; a cut text ends in "...". Returns dst. */
char *text_escape(char *dst, size_t size, const char *src, size_t src_len);
/* The same without the "...": as many whole characters and escapes as fit. Returns how many bytes
 * of `src` they are. */
size_t text_escape_part(char *dst, size_t size, const char *src, size_t src_len);
/* The line behind a prefix "<0>" ... "<7>", which goes to *level as a number of syslog.h; without
 * one the line itself, and *level stays. */
const char *text_skip_level(const char *line, int *level);
/* The candidate nearest to `word`, if it is near enough to be a slip (edit distance at most a third
 * of the length, at most 3); else NULL. */
const char *text_nearest(const char *word, const char *const *candidates, size_t count);
/* A job's name: [A-Za-z][A-Za-z0-9_-]{0,62}. */
bool text_is_job_name(const char *name);
/* From memory, or NULL: never a shared empty string. */
char *text_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
char *text_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
