/* SPDX-License-Identifier: MIT */
#include "config/reading.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/trust.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A conf file that is wrong in more places than this is read no better with a longer list. */
#define PROBLEMS_MAX 1000

char *reading_copy(struct reading *r, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        r->no_memory = true;
    return copy;
}

char *reading_path(struct reading *r, const char *path)
{
    char *whole;
    int error;

    if (r->root[0] == '\0')
        return reading_copy(r, path);
    error = trust_where(r->root, path, &whole);
    if (error == 0)
        return whole;
    if (error != -ENOMEM)
        return reading_copy(r, r->root);
    r->no_memory = true;
    return NULL;
}

/* Names and values of a file, and what plugins say, may hold anything. NULL gives NULL. */
static char *escape(const char *text)
{
    size_t length = text ? strlen(text) : 0, size = 4 * length + 1;
    char *escaped = text ? malloc(size) : NULL;

    return escaped ? text_escape(escaped, size, text, length) : NULL;
}

/* Appends a problem; `file` and `text` become its own in any case. */
static void add(struct reading *r, enum problem_level level, int line, char *file, char *text)
{
    struct problems *p = &r->config->problems;
    struct problem *items = NULL;

    if (file && text && p->count < PROBLEMS_MAX)
        items = realloc(p->items, (p->count + 1) * sizeof(*items));
    if (!items) {
        r->no_memory = r->no_memory || p->count < PROBLEMS_MAX;
        free(file);
        free(text);
        return;
    }
    items[p->count++] = (struct problem){ level, file, line, text };
    p->items = items;
}

/* For status and journal, which name the job themselves. */
static void make_invalid(struct reading *r, int line, const char *text)
{
    struct job_config *job = r->job;

    job->invalid = true;
    if (!text || job->invalid_why)
        return;
    job->invalid_why = line > 0 ? text_print("%s:%d: %s", r->file, line, text)
                                : text_print("%s: %s", r->file, text);
    if (!job->invalid_why)
        r->no_memory = true;
}

/* Whom a mistake stops. `text` may be NULL, for want of memory. */
static void judge(struct reading *r, int line, const char *text)
{
    if (r->job)
        make_invalid(r, line, text);
    else if (r->main_file)
        r->config->fatal = true;
}

/* The servers of a quorum may have it from the same line. */
static bool is_noted(const struct reading *r, int line, const char *text)
{
    const struct problems *p = &r->config->problems;

    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].line == line && strcmp(p->items[i].text, text) == 0 &&
            strcmp(p->items[i].file, r->file) == 0)
            return true;
    return false;
}

void reading_vproblem(struct reading *r, enum problem_level level, int line, const char *format,
                      va_list args)
{
    CLEANUP_FREE char *raw = text_vprint(format, args), *text = escape(raw);

    if (text && !r->job && is_noted(r, line, text))
        return;
    if (level == PROBLEM_ERROR) {
        r->config->problems.errors++;
        judge(r, line, text);
    } else {
        r->config->problems.warnings++;
    }
    if (!text)
        r->no_memory = true;
    else if (r->job)
        add(r, level, line, escape(r->file), text_print("job '%s': %s", r->job->name, text));
    else
        add(r, level, line, escape(r->file), text_print("%s", text));
}

void reading_problem(struct reading *r, enum problem_level level, int line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    reading_vproblem(r, level, line, format, args);
    va_end(args);
}
