/* SPDX-License-Identifier: MIT */
#include "rotactl/explain_block.h"
#include "base/text.h"
#include <stdarg.h>
#include <string.h>

void block_head(struct block *b, const char *text)
{
    if (b->count < BLOCK_LINES)
        text_copy(b->lines[b->count++], BLOCK_LINE_SIZE, text);
}

/* How much of the text goes into so many columns: whole words, or one that is cut. */
static size_t part_of(const char *text, size_t columns)
{
    size_t at = 0, word;

    if (strlen(text) <= columns)
        return strlen(text);
    for (size_t end = 0; end <= columns; end = word + 1) {
        word = end + strcspn(text + end, " ");
        if (word > columns)
            break;
        at = word;
    }
    return at > 0 ? at : columns;
}

/* `time` stands in the first of the lines. */
static void add_text(struct block *b, const char *time, size_t indent, const char *text)
{
    char line[BLOCK_LINE_SIZE];

    do {
        size_t length = part_of(text, b->width - indent);

        text_format(line, sizeof line, "%*s%-*s%.*s", BLOCK_INDENT, "",
                    (int)(indent - BLOCK_INDENT), time, (int)length, text);
        block_head(b, line);
        text += length;
        text += *text == ' ';
        time = "";
    } while (*text);
}

void block_add(struct block *b, const char *time, const char *format, ...)
{
    char text[BLOCK_LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_text(b, time, BLOCK_TEXT, text);
}

void block_say(struct block *b, const char *format, ...)
{
    char text[2 * BLOCK_LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_text(b, "", BLOCK_INDENT, text);
}

void block_print(FILE *out, const struct block *left, const struct block *right)
{
    size_t count = left->count > right->count ? left->count : right->count;

    for (size_t i = 0; i < count; i++) {
        const char *one = i < left->count ? left->lines[i] : "";
        const char *other = i < right->count ? right->lines[i] : "";

        if (*other)
            fprintf(out, "%-*s%s\n", BLOCK_BESIDE, one, other);
        else
            fprintf(out, "%s\n", one);
    }
    putc('\n', out);
}
