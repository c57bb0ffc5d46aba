/* SPDX-License-Identifier: MIT
 * rotactl/screen.h: where a screen is drawn, and how. */
#ifndef ROTA_ROTACTL_SCREEN_H
#define ROTA_ROTACTL_SCREEN_H
#include "rotactl/options.h"
#include <stdbool.h>
#include <stdio.h>

struct screen {
    size_t width;  /* columns; 0: no terminal, nothing is cut or broken into lines */
    size_t height; /* lines; 0: no terminal, or it does not say */
    bool colours;  /* a terminal that has them, and no $NO_COLOR */
    bool headings; /* of columns, and what stands above and below a table */
    bool local;    /* times in the local zone, else UTC */
};

/* The first character of `text`, which is not "": its bytes, and the columns of the screen that it
 * takes: 2 for most of East Asia's, 0 where it stands with the one before; as far as the locale
 * knows (LC_CTYPE), else 1. */
size_t screen_character(const char *text, size_t *ret_columns);
size_t screen_columns(const char *text);
/* How many bytes of `text`, in whole characters, are no more than so many columns. */
size_t screen_part(const char *text, size_t columns);

/* Of standard output. */
struct screen screen_of(const struct request *r);
/* Escaped, and broken into lines where it is too long for one; those after the first begin with two
 * spaces. A new line at its end. */
void screen_print_text(FILE *out, const struct screen *s, const char *text);
/* The same with so many spaces. */
void screen_print_hanging(FILE *out, const struct screen *s, size_t spaces, const char *text);
/* Escaped, in one line, which ends where the screen does. */
void screen_print_cut(FILE *out, const struct screen *s, const char *text);
/* Draws `text` from the terminal's first line on, and wipes what was there. What the terminal has
 * no room for is counted in its last line. */
void screen_draw(FILE *out, const struct screen *s, const char *text);
#endif
