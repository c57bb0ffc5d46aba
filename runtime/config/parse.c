/* SPDX-License-Identifier: MIT */
#include "config/parse.h"
#include "base/text.h"
#include <limits.h>
#include <string.h>

static bool is_number(const config_setting_t *s)
{
    return config_setting_is_number(s) == CONFIG_TRUE;
}

/* libconfig keeps neither a number's digits nor, in 1.5, its value past 32 bits. Its tree has the
 * numbers in the file's order, as the scan has. */
static bool bind_numbers(struct parse *p)
{
    struct {
        config_setting_t *group;
        int next;
    } stack[SCAN_DEPTH_MAX + 1] = { { config_root_setting(&p->tree), 0 } };
    size_t depth = 0, bound = 0;

    for (;;) {
        config_setting_t *group = stack[depth].group, *s;

        if (stack[depth].next == config_setting_length(group)) {
            if (depth-- == 0)
                return bound == p->scan.count;
            continue;
        }
        s = config_setting_get_elem(group, (unsigned)stack[depth].next++);
        if (is_number(s)) {
            if (bound == p->scan.count)
                return false;
            config_setting_set_hook(s, &p->scan.numbers[bound++]);
        } else if (config_setting_is_aggregate(s)) {
            if (depth == SCAN_DEPTH_MAX)
                return false;
            stack[++depth].group = s;
            stack[depth].next = 0;
        }
    }
}

static void note_syntax(struct reading *r, const char *file, const config_t *tree)
{
    const char *text = config_error_text(tree);
    int line = config_error_line(tree);
    char why[CONFIG_WHY_SIZE];

    if (text && strcmp(text, "duplicate setting name") == 0)
        reading_problem(r, PROBLEM_ERROR, line,
                        "this name stands twice in its group; keep one of them");
    else if (text && strcmp(text, "mismatched element type in array") == 0)
        reading_problem(r, PROBLEM_ERROR, line, "a list in [ ] holds values of one kind only");
    else if (text && strcmp(text, "syntax error") != 0)
        reading_problem(r, PROBLEM_ERROR, line, "%s", text);
    else if (r->source->explain) {
        r->source->explain(file, line, why);
        reading_problem(r, PROBLEM_ERROR, line, "%s", why);
    } else {
        reading_problem(r, PROBLEM_ERROR, line,
                        "this cannot be understood; rotad --check says more");
    }
}

bool parse_text(struct reading *r, const char *text, size_t size, struct parse *ret_parse)
{
    struct parse *p = ret_parse; /* in place: the tree's settings point back to it */

    *p = (struct parse){ 0 };
    if (!scan_text(r, text, size, &p->scan))
        return false;
    config_init(&p->tree);
    if (config_read_string(&p->tree, text) != CONFIG_TRUE) {
        note_syntax(r, text, &p->tree);
        parse_done(p);
        return false;
    }
    if (!bind_numbers(p)) {
        reading_problem(r, PROBLEM_ERROR, 0,
                        "a number in this file cannot be told from the text around it; "
                        "put spaces around numbers");
        parse_done(p);
        return false;
    }
    return true;
}

void parse_done(struct parse *p)
{
    config_destroy(&p->tree);
    scan_done(&p->scan);
}

const struct scan_number *parse_number(const config_setting_t *s)
{
    return is_number(s) ? config_setting_get_hook(s) : NULL;
}

int parse_line(const config_setting_t *s)
{
    unsigned line = s->line;

    return line > INT_MAX ? 0 : (int)line;
}

char *parse_quote(const config_setting_t *s, char *buf, size_t size)
{
    char escaped[PARSE_QUOTE_SIZE - 8];
    const struct scan_number *n = parse_number(s);
    const char *text = config_setting_get_string(s);

    if (n)
        text_escape(buf, size, n->text, strlen(n->text));
    else if (config_setting_type(s) == CONFIG_TYPE_BOOL)
        text_copy(buf, size, config_setting_get_bool(s) ? "true" : "false");
    else if (config_setting_is_group(s))
        text_copy(buf, size, "a group");
    else if (config_setting_is_aggregate(s))
        text_copy(buf, size, "a list");
    else
        text_format(
            buf, size, "\"%s\"",
            text_escape(escaped, sizeof(escaped), text ? text : "", text ? strlen(text) : 0));
    return buf;
}
