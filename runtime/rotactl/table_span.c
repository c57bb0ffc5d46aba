/* SPDX-License-Identifier: MIT
 * Rows in which one text takes the place of some cells: libsmartcols has no such. */
#include "rotactl/table.h"
#include <stdint.h>
#include <string.h>

/* What ends a colour on a terminal. */
#define PLAIN "\x1b[0m"

/* A line that is being written: blanks only before what follows. */
struct pen {
    FILE *out;
    size_t at;    /* columns that are written */
    size_t width; /* of the screen */
};

/* From column `from` on, in `width` columns at most. */
static void write_at(struct pen *pen, size_t from, size_t width, bool right, const char *text)
{
    size_t columns = screen_columns(text);

    if (from >= pen->width || columns == 0)
        return;
    if (width > pen->width - from)
        width = pen->width - from;
    if (right && columns < width)
        from += width - columns;
    fprintf(pen->out, "%*s%.*s", (int)(from - pen->at), "", (int)screen_part(text, width), text);
    pen->at = from + (columns < width ? columns : width);
}

static void print_row(FILE *out, const struct table *t, const size_t *widths, size_t row,
                      const struct table_span *span)
{
    struct pen pen = { .out = out, .width = t->screen->width ? t->screen->width : SIZE_MAX };
    const char *colour = t->screen->colours ? t->colour(t->context, row) : NULL;
    char shown[TABLE_SHOWN_SIZE];
    size_t from = 0;

    if (colour)
        fputs(colour, out);
    for (size_t i = 0; i < t->columns; from += widths[i] + TABLE_SEPARATOR, i++) {
        if (i == span->from) {
            table_shown(span->text, shown);
            write_at(&pen, from, SIZE_MAX, false, shown);
        }
        if (i >= span->from && i < span->to)
            continue;
        table_cell(t, row, i, shown);
        if (i >= span->to && from < pen.at + TABLE_SEPARATOR)
            from = pen.at + TABLE_SEPARATOR;
        write_at(&pen, from, widths[i], t->shape && t->shape(t->context, i).right, shown);
    }
    fputs(colour ? PLAIN "\n" : "\n", out);
}

void table_print_spans(FILE *out, const struct table *t, const size_t *widths, const char *text)
{
    size_t line = 0, before = t->screen->headings ? 1 : 0;
    struct table_span span;

    for (; *text; line++) {
        size_t length = strcspn(text, "\n");

        if (line >= before && t->span(t->context, line - before, &span))
            print_row(out, t, widths, line - before, &span);
        else
            fprintf(out, "%.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}
