/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "guard/description.h"

#define ESCAPE_SIZE 5 /* \xNN and a NUL */

/* Bytes of the UTF-8 character that begins at `text`, at least 1. */
static size_t character(const char *text)
{
    size_t length = 1;

    if ((unsigned char)text[0] >= 0xc0)
        while (((unsigned char)text[length] & 0xc0U) == 0x80)
            length++;
    return length;
}

static void write_value(FILE *out, const char *text)
{
    char shown[4 * ESCAPE_SIZE];

    for (const char *at = text; *at;) {
        size_t length = character(at);

        if (*at == '\\')
            fputs("\\\\", out);
        else if (*at == ' ' && (at == text || !at[1]))
            fputs("\\x20", out);
        else if (length <= 4)
            fputs(text_escape(shown, sizeof(shown), at, length), out);
        else
            for (size_t i = 0; i < length; i++)
                fputs(text_escape(shown, sizeof(shown), at + i, 1), out);
        at += length;
    }
}

static void write_line(FILE *out, const char *key, const char *text)
{
    if (!text)
        return;
    fprintf(out, "%s: ", key);
    write_value(out, text);
    fputc('\n', out);
}

static void write_param(FILE *out, const struct rota_param *param)
{
    const char *separator = "  flags: ";

    fprintf(out, "\nparameter: %s\n  type: %s\n", param->name, params_type_name(param->type));
    for (uint32_t flag = 1; params_flag_name(flag); flag <<= 1) {
        if (!(param->flags & flag))
            continue;
        fprintf(out, "%s%s", separator, params_flag_name(flag));
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc('\n', out);
    write_line(out, "  default", param->def);
    write_line(out, "  min", param->min);
    write_line(out, "  max", param->max);
    write_line(out, "  choices", param->choices);
    write_line(out, "  help", param->help);
}

void description_write(FILE *out, const struct plugin *p)
{
    write_line(out, "plugin", p->contract.name);
    write_line(out, "version", p->contract.version);
    fprintf(out, "contract: %u\n", p->contract.abi);
    write_line(out, "summary", p->contract.summary);
    for (size_t i = 0; i < p->param_count; i++)
        write_param(out, &p->params[i]);
    fprintf(out, "\nparameters: %zu\n", p->param_count);
}
