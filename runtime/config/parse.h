/* SPDX-License-Identifier: MIT
 * config/parse.h: a conf file's text as libconfig's tree, with each number as the file wrote it. */
#ifndef ROTA_CONFIG_PARSE_H
#define ROTA_CONFIG_PARSE_H
#include "config/scan.h"
#include <libconfig.h>

struct parse {
    config_t tree;
    struct scan scan;
};

/* True and a tree, to be freed with parse_done; false: what is wrong is noted in `r`. text[size] is
 * NUL. */
bool parse_text(struct reading *r, const char *text, size_t size, struct parse *ret_parse);
void parse_done(struct parse *p);

/* The number behind a setting of type INT, INT64 or FLOAT; NULL with any other. Lives as long as
 * the parse. */
const struct scan_number *parse_number(const config_setting_t *s);
int parse_line(const config_setting_t *s);
/* How a message quotes the setting's value: "\"text\"", "12", "true", "a group", "a list". Returns
 * buf. */
char *parse_quote(const config_setting_t *s, char *buf, size_t size);
#define PARSE_QUOTE_SIZE 96
#endif
