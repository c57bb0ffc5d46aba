/* SPDX-License-Identifier: MIT
 * The table of the fleet's jobs. */
#include "base/text.h"
#include "rotactl/column_list.h"
#include "rotactl/fleet_view.h"
#include "rotactl/table.h"
#include <string.h>

_Static_assert(FLEET_CELL_SIZE <= TABLE_CELL_SIZE, "a cell has room for its text");

enum column { MARKED, JOB, DUE, STATE, DEVICE, TRY, TOOK, LEASE, CONF, MARK, WHY, COLUMNS };

/* "" cannot be asked for. */
static const char *const words[COLUMNS] = {
    [MARKED] = "", [JOB] = "job",   [DUE] = "due",     [STATE] = "state",
    [TRY] = "try", [TOOK] = "took", [LEASE] = "lease", [DEVICE] = "device",
    [WHY] = "why", [CONF] = "conf", [MARK] = "mark",
};
static const char *const headings[COLUMNS] = {
    [MARKED] = "  JOB", [JOB] = "JOB",   [DUE] = "DUE",     [STATE] = "STATE",
    [TRY] = "TRY",      [TOOK] = "TOOK", [LEASE] = "LEASE", [DEVICE] = "DEVICE",
    [WHY] = "WHY",      [CONF] = "CONF", [MARK] = "MARK",
};
static const struct column_list usual = { 8,
                                          { MARKED, DUE, STATE, DEVICE, TRY, TOOK, LEASE, CONF } };

/* A turn of the last week with its seconds has room in it, so that the table keeps its look. */
#define DUE_LEAST 11

struct view {
    const struct fleet *fleet;
    const struct screen *screen;
    struct column_list list;
    bool spans; /* the usual columns: some texts go over several */
};

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
    enum column c = at(context, column);

    return (struct table_shape){ .least = c == DUE ? DUE_LEAST : 0, .right = c == LEASE };
}

static void write_name(const struct fleet_job *job, bool marked, char *buf)
{
    size_t used = 0;

    if (marked) {
        buf[used++] = fleet_mark(job);
        buf[used++] = ' ';
    }
    text_escape(buf + used, TABLE_CELL_SIZE - used, job->name, strlen(job->name));
}

static void write_reason(const struct fleet_job *job, bool local, char *buf)
{
    char reason[FLEET_REASON_SIZE];

    if (fleet_reason(job, reason))
        text_escape(buf, TABLE_CELL_SIZE, reason, strlen(reason));
    else if (!fleet_instead(job, local, buf))
        text_copy(buf, TABLE_CELL_SIZE, "-");
}

static void write_cell(const struct view *v, const struct fleet_job *job, enum column c, char *buf)
{
    bool local = v->screen->local;

    switch (c) {
    case DUE:
        fleet_due(v->fleet, job, local, buf);
        break;
    case STATE:
        fleet_state(job, buf);
        break;
    case DEVICE:
        fleet_device(job, buf);
        break;
    case TRY:
        fleet_try(job, buf);
        break;
    case TOOK:
        fleet_took(v->fleet, job, buf);
        break;
    case LEASE:
        fleet_lease(job, buf);
        break;
    case CONF:
        fleet_conf(job, buf);
        break;
    case MARK:
        text_format(buf, TABLE_CELL_SIZE, "%c", fleet_mark(job));
        break;
    case WHY:
        write_reason(job, local, buf);
        break;
    default:
        write_name(job, c == MARKED, buf);
    }
}

/* --- what goes over several columns --- */

/* "4902/4981 20 running", over state, device and try. */
static bool span_each(const struct fleet_job *job, struct table_span *span)
{
    char state[FLEET_CELL_SIZE], running[FLEET_CELL_SIZE];

    fleet_state(job, state);
    if (!job->each || job->running == 0 || !strchr(state, '/'))
        return false;
    fleet_device(job, running);
    span->from = 2;
    span->to = 5;
    text_format(span->text, sizeof span->text, "%s %s", state, running);
    return true;
}

static bool find_span(const void *context, size_t row, struct table_span *ret_span)
{
    const struct view *v = context;
    const struct fleet_job *job = &v->fleet->jobs[row];
    struct table_span span = { .from = 3, .to = 7 };
    bool found = fleet_instead(job, v->screen->local, span.text) || span_each(job, &span);

    if (found)
        *ret_span = span;
    return found;
}

static void cell(const void *context, size_t row, size_t column, char *buf)
{
    const struct view *v = context;
    struct table_span span;

    if (v->spans && find_span(v, row, &span) && column >= span.from && column < span.to)
        buf[0] = '\0';
    else
        write_cell(v, &v->fleet->jobs[row], at(v, column), buf);
}

static const char *colour(const void *context, size_t row)
{
    const struct view *v = context;

    switch (fleet_mark(&v->fleet->jobs[row])) {
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

/* --- the table --- */

int fleet_columns_check(const char *list)
{
    struct column_list read;

    return list ? column_list_read(list, words, COLUMNS, &read) : 0;
}

int fleet_columns_print(FILE *out, const struct screen *screen, const struct fleet *f,
                        const char *list)
{
    struct view v = { .fleet = f, .screen = screen, .list = usual, .spans = !list };
    struct table t = { .screen = screen,
                       .rows = f->job_count,
                       .heading = heading,
                       .cell = cell,
                       .colour = colour,
                       .shape = shape,
                       .span = list ? NULL : find_span,
                       .context = &v };

    if (list)
        (void)column_list_read(list, words, COLUMNS, &v.list); /* it was checked */
    t.columns = v.list.count;
    return table_print(out, &t);
}
