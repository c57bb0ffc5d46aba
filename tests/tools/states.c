/* SPDX-License-Identifier: MIT
 * states: prints the two state machines of the core as Markdown, from the tables that the core runs
 * on. With a file's name: 0 where the file says the same, else 1 and how to write it anew. */
#include "core/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
    const char *title, *about, *begin;
    unsigned states, events;
    const char *const *state_names, *const *state_texts;
    const char *const *event_names, *const *event_texts;
    bool (*cell)(unsigned state, unsigned event, unsigned *ret_next);
};

#define NAME(name, text) #name,
#define TEXT(name, text) text,

static const char *const job_states[] = { JOB_STATES(NAME) };
static const char *const job_state_texts[] = { JOB_STATES(TEXT) };
static const char *const job_events[] = { JOB_EVENTS(NAME) };
static const char *const job_event_texts[] = { JOB_EVENTS(TEXT) };
static const char *const lease_states[] = { LEASE_STATES(NAME) };
static const char *const lease_state_texts[] = { LEASE_STATES(TEXT) };
static const char *const lease_events[] = { LEASE_EVENTS(NAME) };
static const char *const lease_event_texts[] = { LEASE_EVENTS(TEXT) };

static bool of_job(unsigned state, unsigned event, unsigned *ret_next)
{
    enum job_state next;

    if (!job_cell((enum job_state)state, (enum job_event)event, &next))
        return false;
    *ret_next = (unsigned)next;
    return true;
}

static bool of_lease(unsigned state, unsigned event, unsigned *ret_next)
{
    enum lease_state next;

    if (!lease_cell((enum lease_state)state, (enum lease_event)event, &next))
        return false;
    *ret_next = (unsigned)next;
    return true;
}

static const struct machine machines[] = {
    { "The job", "One job on one device, from one turn to the next (`runtime/core/job.h`).", "OFF",
      JOB_STATE_COUNT, JOB_EVENT_COUNT, job_states, job_state_texts, job_events, job_event_texts,
      of_job },
    { "The lease",
      "One try of one turn, from the first question to the recorded end (`runtime/core/lease.h`).",
      "NONE", LEASE_STATE_COUNT, LEASE_EVENT_COUNT, lease_states, lease_state_texts, lease_events,
      lease_event_texts, of_lease },
};

/* One arrow from `from` to `to`, with all events that lead there; events that leave the state are
 * drawn, wanted no-ops stand in the table alone. */
static void print_arrow(FILE *out, const struct machine *m, unsigned from, unsigned to)
{
    const char *separator = ": ";
    unsigned next;

    if (from == to)
        return;
    for (unsigned e = 0; e < m->events; e++) {
        if (!m->cell(from, e, &next) || next != to)
            continue;
        if (separator[0] == ':')
            fprintf(out, "    %s --> %s", m->state_names[from], m->state_names[to]);
        fprintf(out, "%s%s", separator, m->event_names[e]);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc('\n', out);
}

static void print_drawing(FILE *out, const struct machine *m)
{
    fprintf(out, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", m->begin);
    for (unsigned from = 0; from < m->states; from++)
        for (unsigned to = 0; to < m->states; to++)
            print_arrow(out, m, from, to);
    fputs("```\n\n", out);
}

static void print_list(FILE *out, const char *title, const char *const *names,
                       const char *const *texts, unsigned count)
{
    fprintf(out, "| %s | |\n|---|---|\n", title);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "| %s | %s |\n", names[i], texts[i]);
    fputc('\n', out);
}

static void print_table(FILE *out, const struct machine *m)
{
    unsigned next;

    fputs("| event |", out);
    for (unsigned s = 0; s < m->states; s++)
        fprintf(out, " %s |", m->state_names[s]);
    fputs("\n|---|", out);
    for (unsigned s = 0; s < m->states; s++)
        fputs("---|", out);
    fputc('\n', out);
    for (unsigned e = 0; e < m->events; e++) {
        fprintf(out, "| **%s** |", m->event_names[e]);
        for (unsigned s = 0; s < m->states; s++)
            fprintf(out, " %s |", m->cell(s, e, &next) ? m->state_names[next] : "");
        fputc('\n', out);
    }
}

static void print_all(FILE *out)
{
    fputs(
        "# State machines\n\n"
        "Written by `tests/tools/states.c` from the tables in `runtime/core`, and compared with "
        "them by a test: "
        "it is\nnot edited by hand. In the tables a column is the present state, a cell the next "
        "one; an empty "
        "cell is an\nevent that cannot happen there: it is counted, said, and changes nothing.\n\n",
        out);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        const struct machine *m = &machines[i];

        fprintf(out, "%s## %s\n\n%s\n\n", i > 0 ? "\n" : "", m->title, m->about);
        print_drawing(out, m);
        print_list(out, "state", m->state_names, m->state_texts, m->states);
        print_list(out, "event", m->event_names, m->event_texts, m->events);
        print_table(out, m);
    }
}

/* 1 where it is the same, 0 where it is not, or negative errno. */
static int same_as(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "re");
    char *content;
    size_t length;
    int same;

    if (!f)
        return -errno;
    content = malloc(size + 1);
    if (!content) {
        fclose(f);
        return -ENOMEM;
    }
    length = fread(content, 1, size + 1, f);
    same = length == size && memcmp(content, text, size) == 0;
    free(content);
    fclose(f);
    return same;
}

int main(int argc, char **argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = argc > 1 ? open_memstream(&text, &size) : stdout;
    int same = 1;

    if (!out)
        return 2;
    print_all(out);
    if (fflush(out) != 0 || ferror(out))
        return 2;
    if (argc > 1) {
        fclose(out);
        same = same_as(argv[1], text, size);
        free(text);
    }
    if (same == 1)
        return 0;
    if (same < 0)
        fprintf(stderr, "%s: %s\n", argv[1], strerror(-same));
    fprintf(stderr, "%s does not say what the tables in runtime/core say. Write it anew: %s > %s\n",
            argv[1], argv[0], argv[1]);
    return 1;
}
