/* SPDX-License-Identifier: MIT */
#include "base/openmetrics.h"
#include "base/text.h"
#include <inttypes.h>
#include <string.h>

/* Of a label's value, escaped. */
#define VALUE_SIZE 512

void openmetrics_head(const struct openmetrics *o, const struct openmetrics_family *f)
{
    const char *end = f->counts && !o->strict ? "_total" : "";

    fprintf(o->out, "# HELP %s%s %s\n", f->name, end, f->help);
    fprintf(o->out, "# TYPE %s%s %s\n", f->name, end, f->counts ? "counter" : "gauge");
    if (f->unit)
        fprintf(o->out, "# UNIT %s%s %s\n", f->name, end, f->unit);
}

/* Bytes that no line may hold become \xNN first, so what is left to escape are two. */
static void write_value(FILE *out, const char *value)
{
    char shown[VALUE_SIZE];

    text_escape(shown, sizeof shown, value, strlen(value));
    for (const char *at = shown; *at; at++) {
        if (*at == '\\' || *at == '"')
            fputc('\\', out);
        fputc(*at, out);
    }
}

static void write_labels(FILE *out, const struct openmetrics_label *labels)
{
    char before = '{';

    for (unsigned i = 0; i < OPENMETRICS_LABELS_MAX; i++) {
        if (!labels[i].value)
            continue;
        fprintf(out, "%c%s=\"", before, labels[i].name);
        write_value(out, labels[i].value);
        fputc('"', out);
        before = ',';
    }
    if (before == ',')
        fputc('}', out);
}

static void write_number(FILE *out, int64_t value, bool in_ms)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;

    fputs(value < 0 ? " -" : " ", out);
    if (in_ms)
        fprintf(out, "%" PRIu64 ".%03u\n", size / 1000, (unsigned)(size % 1000));
    else
        fprintf(out, "%" PRIu64 "\n", size);
}

void openmetrics_sample(const struct openmetrics *o, const struct openmetrics_family *f,
                        const struct openmetrics_sample *s)
{
    fprintf(o->out, "%s%s", f->name, f->counts ? "_total" : "");
    write_labels(o->out, s->labels);
    write_number(o->out, s->value, f->in_ms);
}

void openmetrics_alone(const struct openmetrics *o, const struct openmetrics_family *f,
                       int64_t value)
{
    openmetrics_head(o, f);
    openmetrics_sample(o, f, &(struct openmetrics_sample){ .value = value });
}

void openmetrics_end(const struct openmetrics *o)
{
    fputs("# EOF\n", o->out);
}
