/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "rotactl/timeline/svg_parts.h"
#include "rotactl/timeline/timeline_look.h"
#include <string.h>

#define TEXT_SIZE 1024

/* U+FFFE and U+FFFF, three bytes each, which XML does not have. */
static bool is_no_character(const char *c)
{
    return memcmp(c, "\xef\xbf\xbe", 3) == 0 || memcmp(c, "\xef\xbf\xbf", 3) == 0;
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>': /* also in "]]>" */
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

void svg_text_put(FILE *out, const char *text)
{
    char shown[TEXT_SIZE];

    text_escape(shown, sizeof shown, text, strlen(text));
    for (const char *c = shown; *c; c++) {
        const char *instead = entity(*c);

        if (*c == '\xef' && is_no_character(c)) {
            fprintf(out, "\\xef\\xbf\\x%02x", (unsigned char)c[2]);
            c += 2;
        } else if (instead) {
            fputs(instead, out);
        } else {
            putc(*c, out);
        }
    }
}

void svg_text_device(FILE *out, const char *name)
{
    svg_text_put(out, name[0] ? name : TIMELINE_NO_NAME);
}

void svg_text_tenths(FILE *out, const char *key, int tenths)
{
    fprintf(out, tenths % 10 ? " %s=\"%d.%d\"" : " %s=\"%d\"", key, tenths / 10, tenths % 10);
}
