/* SPDX-License-Identifier: MIT */
#include "rotactl/screen.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define TEXT_SIZE 4096
/* A terminal that does not say how wide it is, or one that is too narrow to be true. */
#define WIDTH_PLAIN 80
#define WIDTH_LEAST 20

struct screen screen_of(const struct request *r)
{
    struct screen s = { .headings = !options_has(r, OPTION_NOHEADINGS),
                        .local = options_has(r, OPTION_LOCAL) };
    const char *terminal = getenv("TERM"), *plain = getenv("NO_COLOR");
    struct winsize size = { 0 };

    if (!isatty(STDOUT_FILENO))
        return s;
    s.colours = !(plain && *plain) && !(terminal && strcmp(terminal, "dumb") == 0);
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    s.width = size.ws_col >= WIDTH_LEAST ? size.ws_col : WIDTH_PLAIN;
    s.height = size.ws_row;
    return s;
}

/* UTF-8's further bytes belong to the character before. */
static size_t bytes_of(const char *text)
{
    size_t bytes = 1;

    while (((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes++;
    return bytes;
}

size_t screen_character(const char *text, size_t *ret_columns)
{
    size_t bytes = bytes_of(text);
    mbstate_t state = { 0 };
    wchar_t character;
    int columns = -1;

    if (mbrtowc(&character, text, bytes, &state) == bytes)
        columns = wcwidth(character);
    *ret_columns = columns < 0 ? 1 : (size_t)columns;
    return bytes;
}

size_t screen_columns(const char *text)
{
    size_t all = 0, columns;

    while (*text) {
        text += screen_character(text, &columns);
        all += columns;
    }
    return all;
}

size_t screen_part(const char *text, size_t columns)
{
    size_t at = 0, taken = 0, more;

    while (text[at]) {
        size_t bytes = screen_character(text + at, &more);

        taken += more;
        if (taken > columns)
            break;
        at += bytes;
    }
    return at;
}

/* How much of the text goes into a line of so many columns: up to a space, if there is one behind
 * the first `least`; one character at least. */
static size_t line_length(const char *text, size_t width, size_t least)
{
    size_t at = screen_part(text, width), space = at > 0 ? at - 1 : 0;

    if (!text[at])
        return at;
    while (space > 0 && (text[space] != ' ' || space < least))
        space--;
    if (space > 0)
        return space;
    return at > 0 ? at : bytes_of(text);
}

void screen_print_hanging(FILE *out, const struct screen *s, size_t spaces, const char *text)
{
    char shown[TEXT_SIZE];
    const char *at = text_escape(shown, sizeof shown, text, strlen(text));
    size_t length = strlen(at);

    if (s->width && spaces > s->width / 2)
        spaces = s->width / 2;
    if (s->width)
        length = line_length(at, s->width, spaces);
    fprintf(out, "%.*s\n", (int)length, at);
    for (at += length; *at; at += length) {
        at += *at == ' ';
        length = line_length(at, s->width - spaces, 0);
        fprintf(out, "%*s%.*s\n", (int)spaces, "", (int)length, at);
    }
}

void screen_print_text(FILE *out, const struct screen *s, const char *text)
{
    screen_print_hanging(out, s, 2, text);
}

void screen_print_cut(FILE *out, const struct screen *s, const char *text)
{
    char shown[TEXT_SIZE];
    size_t length;

    text_escape(shown, sizeof shown, text, strlen(text));
    length = s->width ? screen_part(shown, s->width) : strlen(shown);
    fprintf(out, "%.*s\n", (int)length, shown);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Lines that are too long all the same are not broken meanwhile, so that each takes one. The
 * terminal's last line stays empty: a new line there would move all. */
void screen_draw(FILE *out, const struct screen *s, const char *text)
{
    size_t lines = count_lines(text), room = s->height > 2 ? s->height - 1 : lines;
    size_t drawn = lines > room ? room - 1 : lines;

    fputs("\x1b[?7l\x1b[H", out);
    for (size_t i = 0; i < drawn; i++) {
        size_t length = strcspn(text, "\n");

        fprintf(out, "%.*s\x1b[K\n", (int)length, text);
        text += length + 1;
    }
    if (drawn < lines)
        fprintf(out, "... and %zu lines more\x1b[K\n", lines - drawn);
    fputs("\x1b[J\x1b[?7h", out);
}
