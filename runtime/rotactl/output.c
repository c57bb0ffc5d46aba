/* SPDX-License-Identifier: MIT */
#include "rotactl/output.h"
#include "base/text.h"
#include <string.h>

#define TEXT_SIZE 4096

void output_text(FILE *out, const char *text)
{
    char shown[TEXT_SIZE];

    fputs(text_escape(shown, sizeof shown, text, strlen(text)), out);
}

/* C1 controls, U+0080 to U+009F, are two bytes; a terminal may take them for escapes. */
static int control_code(const unsigned char *c)
{
    if (*c < 0x20 || *c == 0x7f)
        return *c;
    return *c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0 ? c[1] : -1;
}

void output_json(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        int code = control_code(c);

        if (code >= 0) {
            fprintf(out, "\\u%04x", (unsigned)code);
            c += code >= 0x80;
            continue;
        }
        if (*c == '"' || *c == '\\')
            putc('\\', out);
        putc(*c, out);
    }
    putc('"', out);
}
