/* SPDX-License-Identifier: MIT
 * rotactl/timeline/json_line.h: reads one line of JSON Lines: an object whose values are texts,
 * whole numbers, true, false or null. */
#ifndef ROTA_ROTACTL_JSON_LINE_H
#define ROTA_ROTACTL_JSON_LINE_H
#include <stdbool.h>
#include <stdint.h>

struct json_line {
    char *at;
    bool begun;
    const char
        *why; /* after -EINVAL: what was there instead, or was expected; a part of a sentence */
};

enum json_kind { JSON_TEXT, JSON_NUMBER, JSON_NULL, JSON_TRUE, JSON_FALSE };

struct json_member {
    const char *key;
    enum json_kind kind;
    const char *text; /* of JSON_TEXT; may be no UTF-8, as the line may */
    int64_t number;   /* of JSON_NUMBER */
};

/* Reads `line`, and writes into it: the members' texts are parts of it. */
void json_line_begin(struct json_line *j, char *line);
/* 1 and the next member; 0 at the object's end; -EINVAL and j->why, after which it is over. A NUL
 * in a text, and half of a pair of surrogates, become U+FFFD. */
int json_line_next(struct json_line *j, struct json_member *ret_member);
#endif
