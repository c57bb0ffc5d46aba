/* SPDX-License-Identifier: MIT */
#include "rotactl/table.h"
#include "base/text.h"
#include <errno.h>
#include <langinfo.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_shown(const char text[TABLE_CELL_SIZE], char buf[TABLE_SHOWN_SIZE])
{
    char *to = buf;

    if (strcmp(nl_langinfo(CODESET), "UTF-8") == 0) {
        text_escape(buf, TABLE_SHOWN_SIZE, text, strlen(text));
        return;
    }
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x80)
            *to++ = *c;
        else
            to += sprintf(to, "\\x%02x", (unsigned char)*c);
    }
    *to = '\0';
}

void table_cell(const struct table *t, size_t row, size_t column, char buf[TABLE_SHOWN_SIZE])
{
    char cell[TABLE_CELL_SIZE];

    t->cell(t->context, row, column, cell);
    table_shown(cell, buf);
}

/* --- how wide the columns are --- */

static struct table_shape shape_of(const struct table *t, size_t column)
{
    return t->shape ? t->shape(t->context, column) : (struct table_shape){ .least = 0 };
}

static size_t widest_of(const struct table *t, size_t column)
{
    size_t width = shape_of(t, column).least;
    char cell[TABLE_SHOWN_SIZE];

    if (t->screen->headings && screen_columns(t->heading(t->context, column)) > width)
        width = screen_columns(t->heading(t->context, column));
    for (size_t row = 0; row < t->rows; row++) {
        table_cell(t, row, column, cell);
        if (screen_columns(cell) > width)
            width = screen_columns(cell);
    }
    return width;
}

static size_t line_width(const struct table *t, const size_t *widths)
{
    size_t width = (t->columns - 1) * TABLE_SEPARATOR;

    for (size_t i = 0; i < t->columns; i++)
        width += widths[i];
    return width;
}

/* The widest of those that may be cut, or of all; the last of some that are alike. NULL: there is
 * nothing to cut. */
static size_t *find_widest(const struct table *t, size_t *widths, bool all)
{
    size_t *widest = NULL;

    for (size_t i = 0; i < t->columns; i++)
        if (widths[i] > 1 && (all || !shape_of(t, i).whole) && (!widest || widths[i] >= *widest))
            widest = &widths[i];
    return widest;
}

/* Each as wide as what is in it; where the screen is too narrow the widest give way. Done here,
 * since libsmartcols cuts in each of its versions in another way. */
static void measure(const struct table *t, size_t *ret_widths)
{
    size_t *widest;

    for (size_t i = 0; i < t->columns; i++)
        ret_widths[i] = widest_of(t, i);
    while (t->screen->width > 0 && line_width(t, ret_widths) > t->screen->width) {
        widest = find_widest(t, ret_widths, false);
        if (!widest)
            widest = find_widest(t, ret_widths, true);
        if (!widest)
            return;
        --*widest;
    }
}

/* --- what libsmartcols is told --- */

static void cut(char *text, size_t width)
{
    text[screen_part(text, width)] = '\0';
}

static int add_columns(struct libscols_table *made, const struct table *t, const size_t *widths)
{
    char heading[TABLE_CELL_SIZE];

    for (size_t i = 0; i < t->columns; i++) {
        /* Up to 1 it would be a part of the screen. */
        double hint = widths[i] > 1 ? (double)widths[i] : 0;
        int flags = shape_of(t, i).right ? SCOLS_FL_RIGHT : 0;

        text_copy(heading, sizeof heading, t->heading(t->context, i));
        cut(heading, widths[i]);
        if (!scols_table_new_column(made, heading, hint, flags))
            return -ENOMEM;
    }
    return 0;
}

static int add_row(struct libscols_table *made, const struct table *t, const size_t *widths,
                   size_t row)
{
    struct libscols_line *line = scols_table_new_line(made, NULL);
    const char *colour = t->colour(t->context, row);
    char cell[TABLE_SHOWN_SIZE];

    if (!line || (colour && scols_line_set_color(line, colour) < 0))
        return -ENOMEM;
    for (size_t i = 0; i < t->columns; i++) {
        table_cell(t, row, i, cell);
        cut(cell, widths[i]);
        if (scols_line_set_data(line, i, cell) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* All cells are escaped before: the library would do that again, and to backslashes too. They are
 * cut, too: for it there is no terminal. */
static void set_look(struct libscols_table *made, const struct screen *s)
{
    scols_table_enable_noencoding(made, 1);
    scols_table_enable_noheadings(made, s->headings ? 0 : 1);
    scols_table_enable_colors(made, s->colours ? 1 : 0);
    scols_table_set_termforce(made, SCOLS_TERMFORCE_NEVER);
}

static int fill(struct libscols_table *made, const struct table *t, const size_t *widths)
{
    int rc;

    set_look(made, t->screen);
    rc = scols_table_set_column_separator(made, "  ");
    if (rc >= 0)
        rc = add_columns(made, t, widths);
    for (size_t row = 0; row < t->rows && rc >= 0; row++)
        rc = add_row(made, t, widths, row);
    return rc < 0 ? -ENOMEM : 0;
}

int table_print(FILE *out, const struct table *t)
{
    size_t *widths = calloc(t->columns, sizeof *widths);
    struct libscols_table *made = scols_new_table();
    char *text = NULL;
    int rc = -ENOMEM;

    if (widths && made) {
        measure(t, widths);
        rc = fill(made, t, widths);
    }
    if (rc == 0 && scols_print_table_to_string(made, &text) < 0)
        rc = -ENOMEM;
    if (rc == 0 && t->span)
        table_print_spans(out, t, widths, text);
    else if (rc == 0)
        fprintf(out, "%s\n", text);
    free(text);
    free(widths);
    scols_unref_table(made);
    return rc;
}
