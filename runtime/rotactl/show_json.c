/* SPDX-License-Identifier: MIT */
#include "rotactl/output.h"
#include "rotactl/show_view.h"
#include <inttypes.h>

static void print_next(FILE *out, const struct show *s)
{
    fputs(", \"next\": [", out);
    for (size_t i = 0; i < s->next_count; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", s->next[i]);
    putc(']', out);
}

static void print_runs(FILE *out, const struct show_past *p)
{
    fputs(",\n \"runs\": [", out);
    for (size_t i = 0; i < p->run_count; i++) {
        const struct show_run *run = &p->runs[i];

        fprintf(out, "%s{\"turn\": %" PRId64 ", \"attempt\": %" PRIu32 ", \"ran_ms\": %" PRId64,
                i ? ",\n  " : "\n  ", run->turn, run->attempt, run->ran_ms);
        fputs(", \"outcome\": ", out);
        output_json(out, run->outcome);
        if (*run->why) {
            fputs(", \"why\": ", out);
            output_json(out, run->why);
        }
        putc('}', out);
    }
    putc(']', out);
}

static void print_times(FILE *out, const struct show_past *p)
{
    if (p->times > 0)
        fprintf(out,
                ",\n \"times\": {\"median_ms\": %" PRId64 ", \"p95_ms\": %" PRId64
                ", \"longest_ms\": %" PRId64 ", \"runs\": %" PRIu32 "}",
                p->median_ms, p->p95_ms, p->longest_ms, p->times);
    if (!*p->advice_key)
        return;
    fputs(",\n \"advice\": {\"key\": ", out);
    output_json(out, p->advice_key);
    fputs(", \"value\": ", out);
    output_json(out, p->advice_value);
    if (*p->advice_lease) {
        fputs(", \"lease\": ", out);
        output_json(out, p->advice_lease);
    }
    putc('}', out);
}

static void print_counts(FILE *out, const struct show_past *p)
{
    fputs(",\n \"counts\": {", out);
    for (size_t i = 0; i < p->count_count; i++) {
        fputs(i ? ", " : "", out);
        output_json(out, p->counts[i].name);
        fprintf(out, ": %" PRIu32, p->counts[i].count);
    }
    putc('}', out);
}

static void print_lines(FILE *out, const struct show *s)
{
    fputs(",\n \"output\": [", out);
    for (size_t i = 0; i < s->line_count; i++) {
        fprintf(out, "%s{\"at\": %" PRId64 ", \"text\": ", i ? ",\n  " : "\n  ", s->lines[i].at);
        output_json(out, s->lines[i].text);
        putc('}', out);
    }
    putc(']', out);
}

void show_print_json(FILE *out, const struct show *s)
{
    struct status_job job = s->job;

    job.next = FACT_NONE; /* the list has it too, and an object has a name once */
    putc('{', out);
    status_print_job_json(out, &job);
    facts_print_json(out, show_facts, show_facts_count, &s->facts);
    print_next(out, s);
    if (s->has_past) {
        print_runs(out, &s->past);
        print_times(out, &s->past);
        print_counts(out, &s->past);
    }
    print_lines(out, s);
    fputs("}\n", out);
}
