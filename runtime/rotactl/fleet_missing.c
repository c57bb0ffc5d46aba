/* SPDX-License-Identifier: MIT
 * The devices that have not had the turn yet of a job that runs on each. */
#include "rotactl/fleet_missing.h"
#include "base/text.h"
#include "base/units.h"
#include "rotactl/output.h"
#include "rotactl/table.h"
#include "rotactl/when.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum column { DEVICE, STATE, TRY, ENDED, DONE, HEARD, COLUMNS };

struct row {
    const struct fleet_device *device;
    const struct fleet_record *record; /* NULL: none */
    bool running;
};

struct view {
    const struct screen *screen;
    const struct fleet_answers *answers;
    const struct fleet_job *job;
    struct row *rows;
    size_t count, running;
};

/* --- a table --- */

static const char *heading(const void *context, size_t column)
{
    static const char *const headings[COLUMNS] = {
        [DEVICE] = "  DEVICE", [STATE] = "STATE", [TRY] = "TRY",
        [ENDED] = "ENDED",     [DONE] = "DONE",   [HEARD] = "HEARD OF",
    };

    (void)context;
    return headings[column];
}

/* What a record says of an older turn says nothing of this one. */
static bool is_of_turn(const struct view *v, const struct row *row)
{
    return row->record && row->record->turn >= v->job->done;
}

static const char *state_of(const struct view *v, const struct row *row)
{
    const char *state = is_of_turn(v, row) ? row->record->state : "";

    if (row->running)
        return "running";
    if (text_equal(state, "gave_up"))
        return "given up";
    return *state && !text_equal(state, "running") ? state : "to go";
}

static void write_when(const struct view *v, int64_t ms, char *buf)
{
    if (ms > 0)
        when_say_short(ms, v->answers->fleet.now_ms, v->screen->local, buf);
    else
        text_copy(buf, TABLE_CELL_SIZE, "-");
}

/* How much of a device's name is for people: behind it stand 8 digits of its machine. */
static size_t name_length(const char *name)
{
    const char *colon = strrchr(name, ':');
    bool digits = colon && strspn(colon + 1, "0123456789abcdef") == 8 && !colon[9];

    return digits ? (size_t)(colon - name) : strlen(name);
}

static void cell(const void *context, size_t row, size_t column, char *buf)
{
    const struct view *v = context;
    const struct row *r = &v->rows[row];
    const char *state = state_of(v, r);

    switch (column) {
    case DEVICE:
        buf[0] = r->running ? '>' : ' ';
        buf[1] = ' ';
        text_escape(buf + 2, TABLE_CELL_SIZE - 2, r->device->name, name_length(r->device->name));
        break;
    case STATE:
        text_escape(buf, TABLE_CELL_SIZE, state, strlen(state));
        break;
    case TRY:
        text_copy(buf, TABLE_CELL_SIZE, "-");
        if (is_of_turn(v, r) && r->record->attempt > 0)
            text_format(buf, TABLE_CELL_SIZE, "%" PRIu32, r->record->attempt);
        break;
    case ENDED:
        write_when(v, is_of_turn(v, r) && !r->running ? r->record->ended : 0, buf);
        break;
    case DONE:
        write_when(v, r->record ? r->record->done : 0, buf);
        break;
    default:
        write_when(v, r->device->heard, buf);
    }
}

static const char *colour(const void *context, size_t row)
{
    const struct view *v = context;

    return v->rows[row].running ? "\x1b[32m" : NULL;
}

static void print_head(const struct view *v)
{
    char line[512], to_go[FLEET_COUNT_SIZE], running[FLEET_COUNT_SIZE], all[FLEET_COUNT_SIZE];
    char turn[WHEN_SIZE];

    text_format(line, sizeof line, "%s: %s to go, %s running, of %s device%s; turn of %s",
                v->job->name, fleet_count(v->count - v->running, to_go),
                fleet_count(v->running, running), fleet_count(v->job->devices, all),
                v->job->devices == 1 ? "" : "s",
                when_say_short(v->job->done, v->answers->fleet.now_ms, v->screen->local, turn));
    screen_print_text(stdout, v->screen, line);
}

static int print_table(const struct view *v)
{
    const struct table t = { .screen = v->screen,
                             .columns = COLUMNS,
                             .rows = v->count,
                             .heading = heading,
                             .cell = cell,
                             .colour = colour,
                             .context = v };

    if (v->screen->headings)
        print_head(v);
    if (v->count == 0)
        return 0;
    if (v->screen->headings)
        putchar('\n');
    return table_print(stdout, &t) < 0 ? output_say_no_memory() : 0;
}

/* --- JSON --- */

static void put_number(const char *name, int64_t number)
{
    if (number > 0)
        printf(", \"%s\": %" PRId64, name, number);
}

static void print_json(const struct view *v)
{
    fputs("{\"job\": ", stdout);
    output_json(stdout, v->job->name);
    put_number("turn", v->job->done);
    printf(", \"all\": %zu, \"devices\": [", v->job->devices);
    for (size_t i = 0; i < v->count; i++) {
        const struct row *r = &v->rows[i];

        fputs(i ? ",\n  {\"device\": " : "\n  {\"device\": ", stdout);
        output_json(stdout, r->device->name);
        fputs(", \"state\": ", stdout);
        output_json(stdout, state_of(v, r));
        if (is_of_turn(v, r))
            put_number("attempt", r->record->attempt);
        put_number("done", r->record ? r->record->done : 0);
        put_number("heard", r->device->heard);
        putchar('}');
    }
    puts(v->count ? "\n]}" : "]}");
}

/* --- which devices --- */

/* Those that run it first. */
static int by_state(const void *a, const void *b)
{
    const struct row *one = a, *other = b;

    if (one->running != other->running)
        return one->running ? -1 : 1;
    return strcmp(one->device->name, other->device->name);
}

static int find_rows(struct view *v, const struct fleet_records *records)
{
    const struct fleet_devices *d = &v->answers->devices;

    v->rows = calloc(d->count + 1, sizeof *v->rows);
    if (!v->rows)
        return output_say_no_memory();
    for (size_t i = 0; i < d->count; i++) {
        const struct fleet_record *record = fleet_records_find(records, d->items[i].name);
        enum fleet_record_kind kind = fleet_record_kind(record, v->job->done);

        if (kind == RECORD_DONE || !fleet_counts(v->answers, v->job, &d->items[i]))
            continue;
        v->running += kind == RECORD_RUNNING;
        v->rows[v->count++] = (struct row){ &d->items[i], record, kind == RECORD_RUNNING };
    }
    if (v->count > 0)
        qsort(v->rows, v->count, sizeof *v->rows, by_state);
    return 0;
}

/* Nothing can be missing of it. */
static int say_no_such(const struct fleet_job *job)
{
    if (job->trouble)
        fprintf(stderr, "rotactl: what Redis has of %s cannot be read\n", job->name);
    else if (!job->each)
        fprintf(stderr,
                "rotactl: %s runs once in the fleet, not on each device; rotactl history %s has "
                "its runs\n",
                job->name, job->name);
    else
        fprintf(stderr, "rotactl: no device has begun a turn of %s yet\n", job->name);
    return job->trouble || job->each ? STATUS_LOOK : EX_USAGE;
}

int fleet_missing_show(struct call *c, const struct request *r, struct fleet_answers *a)
{
    const struct screen screen = screen_of(r);
    struct view v = { .screen = &screen, .answers = a, .job = &a->jobs[0] };
    struct fleet_records records = { 0 };
    int rc;

    if (v.job->trouble || !v.job->each || v.job->done == 0)
        return say_no_such(v.job);
    rc = fleet_records_ask(c, &a->kept, v.job->name, &records);
    if (rc == 0)
        rc = find_rows(&v, &records);
    if (rc == 0 && options_has(r, OPTION_JSON))
        print_json(&v);
    else if (rc == 0)
        rc = print_table(&v);
    free(v.rows);
    free(records.items);
    return rc;
}
