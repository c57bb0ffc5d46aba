/* SPDX-License-Identifier: MIT */
#include "rotactl/output.h"
#include "base/text.h"
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define TEXT_SIZE 4096

void output_text(FILE *out, const char *text)
{
    char shown[TEXT_SIZE];

    fputs(text_escape(shown, sizeof shown, text, strlen(text)), out);
}

void output_monitor(FILE *out, const char *text)
{
    char shown[TEXT_SIZE];

    text_escape(shown, sizeof shown, text, strlen(text));
    for (char *bar = shown; (bar = strchr(bar, '|'));)
        *bar = '/';
    fputs(shown, out);
}

/* A character of UTF-8 that a terminal may take for an escape, or that turns the text around it:
 * controls (C1, U+0080 to U+009F, are two bytes), separators, marks and overrides of direction. -1:
 * another; else of *ret_bytes. */
static int unseen_code(const unsigned char *c, size_t *ret_bytes)
{
    unsigned code;

    *ret_bytes = 1;
    if (*c < 0x20 || *c == 0x7f)
        return *c;
    if (*c != 0xc2 && *c != 0xd8 && *c != 0xe2 && *c != 0xef)
        return -1;
    *ret_bytes = *c < 0xe0 ? 2 : 3;
    if ((c[1] & 0xc0U) != 0x80 || (*ret_bytes == 3 && (c[2] & 0xc0U) != 0x80))
        return -1;
    if (*ret_bytes == 2)
        code = (*c & 0x1fU) << 6 | (c[1] & 0x3fU);
    else
        code = (*c & 0x0fU) << 12 | (c[1] & 0x3fU) << 6 | (c[2] & 0x3fU);
    if ((code >= 0x80 && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
        (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff)
        return (int)code;
    return -1;
}

/* How many bytes the character has that begins there, behind ASCII; 0: it is no UTF-8. */
static size_t character_bytes(const unsigned char *c)
{
    char shown[5];

    for (size_t bytes = 2; bytes <= 4 && c[bytes - 1]; bytes++)
        if (text_escape_part(shown, sizeof shown, (const char *)c, bytes) == bytes &&
            shown[0] != '\\')
            return bytes;
    return 0;
}

void output_json(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        size_t bytes;
        int code = unseen_code(c, &bytes);

        if (code >= 0) {
            fprintf(out, "\\u%04x", (unsigned)code);
            c += bytes - 1;
            continue;
        }
        if (*c >= 0x80) {
            bytes = character_bytes(c);
            if (bytes > 0)
                fwrite(c, 1, bytes, out);
            else
                fputs("\357\277\275", out);
            c += bytes > 0 ? bytes - 1 : 0;
            continue;
        }
        if (*c == '"' || *c == '\\')
            putc('\\', out);
        putc(*c, out);
    }
    putc('"', out);
}

void output_all_on_stdout(void)
{
    (void)dup2(STDOUT_FILENO, STDERR_FILENO);
}

int output_say_no_memory(void)
{
    fputs("rotactl: memory is short\n", stderr);
    return EX_OSERR;
}
