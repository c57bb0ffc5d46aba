/* SPDX-License-Identifier: MIT */
#include "rotactl/columns.h"
#include "base/text.h"
#include "rotactl/column_list.h"
#include "rotactl/table.h"
#include <string.h>

/* Of the usual table: a run's time has room in it, so that a picture that is drawn again stands
 * still. */
#define RESULT_LEAST 22

enum column { MARKED, JOB, STATE, LAST, RESULT, NEXT, MARK, WHY, COLUMNS };

/* "" cannot be asked for. */
static const char *const words[COLUMNS] = {
    [MARKED] = "",       [JOB] = "job",   [STATE] = "state", [LAST] = "last",
    [RESULT] = "result", [NEXT] = "next", [MARK] = "mark",   [WHY] = "why",
};
static const char *const headings[COLUMNS] = {
    [MARKED] = "  JOB",  [JOB] = "JOB",   [STATE] = "STATE", [LAST] = "LAST TURN",
    [RESULT] = "RESULT", [NEXT] = "NEXT", [MARK] = "MARK",   [WHY] = "WHY",
};
/* By how wide the screen is. Where there is room for states and times they are not cut: a job's
 * name is, or how its turn went. */
#define WIDE 72
#define MIDDLE 50
#define NARROW 40
static const struct column_list usual = { 5, { MARKED, STATE, LAST, RESULT, NEXT } };
static const struct column_list middle = { 4, { MARKED, STATE, RESULT, NEXT } };
static const struct column_list narrow = { 3, { MARKED, STATE, NEXT } };

/* Of a state, whose words are short. */
#define STATE_SIZE 16

struct view {
    const struct status *status;
    const struct screen *screen;
    struct column_list list;
    bool roomy; /* one of those, and there is that room */
};

int columns_check(const char *list)
{
    struct column_list read;

    return list ? column_list_read(list, words, COLUMNS, &read) : 0;
}

static enum column at(const void *context, size_t column)
{
    const struct view *v = context;

    return (enum column)v->list.columns[column];
}

static const char *heading(const void *context, size_t column)
{
    return headings[at(context, column)];
}

static struct table_shape shape(const void *context, size_t column)
{
    const struct view *v = context;
    enum column c = at(v, column);

    return (struct table_shape){
        .least = v->roomy && c == RESULT ? RESULT_LEAST : 0,
        .whole = v->roomy && (c == STATE || c == LAST || c == NEXT),
    };
}

static void escape(const char *text, char *buf, size_t size)
{
    text_escape(buf, size, text, strlen(text));
}

static void write_reason(const struct status_job *job, char *buf)
{
    const char *reason = status_reason(job);
    char line[1024];

    text_format(line, sizeof line, "%s%s", status_reason_begin(job), reason ? reason : "-");
    escape(line, buf, TABLE_CELL_SIZE);
}

static void cell(const void *context, size_t row, size_t column, char *buf)
{
    const struct view *v = context;
    const struct status_job *job = &v->status->jobs[row];
    bool local = v->screen->local;

    switch (at(v, column)) {
    case MARKED:
        buf[0] = status_mark(job);
        buf[1] = ' ';
        text_escape(buf + 2, TABLE_CELL_SIZE - 2, job->name, strlen(job->name));
        break;
    case STATE:
        escape(status_state(job), buf, STATE_SIZE);
        break;
    case LAST:
        status_last(v->status, job, local, buf);
        break;
    case RESULT:
        status_result(v->status, job, buf);
        break;
    case NEXT:
        status_next(v->status, job, local, buf);
        break;
    case MARK:
        text_format(buf, TABLE_CELL_SIZE, "%c", status_mark(job));
        break;
    case WHY:
        write_reason(job, buf);
        break;
    default:
        escape(job->name, buf, TABLE_CELL_SIZE);
    }
}

static const char *colour(const void *context, size_t row)
{
    const struct view *v = context;

    switch (status_mark(&v->status->jobs[row])) {
    case 'x':
    case '!':
        return "\x1b[31m";
    case '~':
        return "\x1b[33m";
    case '>':
        return "\x1b[32m";
    default:
        return NULL;
    }
}

static struct column_list usual_list(const struct screen *screen)
{
    if (screen->width == 0 || screen->width >= WIDE)
        return usual;
    return screen->width >= MIDDLE ? middle : narrow;
}

int columns_print(FILE *out, const struct screen *screen, const struct status *s, const char *list)
{
    struct view v = { .status = s, .screen = screen, .list = usual_list(screen) };
    struct table t = { .screen = screen,
                       .rows = s->job_count,
                       .heading = heading,
                       .cell = cell,
                       .colour = colour,
                       .shape = shape,
                       .context = &v };

    v.roomy = !list && (screen->width == 0 || screen->width >= NARROW);
    if (list)
        (void)column_list_read(list, words, COLUMNS, &v.list); /* it was checked */
    t.columns = v.list.count;
    return table_print(out, &t);
}
