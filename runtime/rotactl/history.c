/* SPDX-License-Identifier: MIT
 * A job's last runs in the whole fleet. */
#include "base/text.h"
#include "base/units.h"
#include "rotactl/call.h"
#include "rotactl/commands.h"
#include "rotactl/fleet_answer.h"
#include "rotactl/fleet_view.h"
#include "rotactl/output.h"
#include "rotactl/table.h"
#include "rotactl/when.h"
#include "rotactl/word.h"
#include <inttypes.h>
#include <string.h>

/* As many as are answered. */
#define RUNS_MAX 100

struct history {
    int64_t now_ms; /* the server's */
    bool local;
    size_t count;
    struct fleet_run runs[RUNS_MAX]; /* the newest first; their texts are the answer's */
};

static int read_runs(sd_bus_message *m, struct history *h)
{
    int rc = fleet_answer_runs(m, &h->now_ms);

    while (rc >= 0 && h->count < RUNS_MAX && (rc = fleet_answer_run(m, &h->runs[h->count])) > 0)
        h->count++;
    return rc;
}

/* --- a table --- */

static const char *heading(const void *context, size_t column)
{
    static const char *const names[] = { "TURN", "TRY", "RESULT", "TOOK", "DEVICE", "WHY" };

    (void)context;
    return names[column];
}

static void cell(const void *context, size_t row, size_t column, char *buf)
{
    const struct history *h = context;
    const struct fleet_run *run = &h->runs[row];
    char when[WHEN_SIZE];

    switch (column) {
    case 0:
        text_copy(buf, TABLE_CELL_SIZE, when_say_last(run->turn, h->now_ms, h->local, when));
        break;
    case 1:
        snprintf(buf, TABLE_CELL_SIZE, "%" PRIu32, run->attempt);
        break;
    case 2:
        text_escape(buf, TABLE_CELL_SIZE, run->outcome, strlen(run->outcome));
        break;
    case 3:
        units_say_duration(run->ran_ms, buf, TABLE_CELL_SIZE);
        break;
    case 4:
        fleet_token_device(run->token, buf, TABLE_CELL_SIZE);
        break;
    default:
        text_escape(buf, TABLE_CELL_SIZE, run->detail, strlen(run->detail));
        break;
    }
}

static const char *no_colour(const void *context, size_t row)
{
    (void)context;
    (void)row;
    return NULL;
}

static void say_none(const char *job)
{
    fputs("Redis knows of no run of ", stdout);
    output_text(stdout, job);
    puts("; rotactl fleet has all jobs");
}

static int print_table(const struct request *r, const char *job, const struct history *h)
{
    struct screen screen = screen_of(r);
    struct table table = { .screen = &screen,
                           .columns = 6,
                           .rows = h->count,
                           .heading = heading,
                           .cell = cell,
                           .colour = no_colour,
                           .context = h };

    if (h->count == 0) {
        say_none(job);
        return 0;
    }
    if (table_print(stdout, &table) == 0)
        return 0;
    return output_say_no_memory();
}

/* --- JSON --- */

static void print_text(const char *name, const char *text)
{
    printf(", \"%s\": ", name);
    output_json(stdout, text);
}

static void print_json(const char *job, const struct history *h)
{
    fputs("{\"job\": ", stdout);
    output_json(stdout, job);
    fputs(", \"runs\": [", stdout);
    for (const struct fleet_run *run = h->runs; run < h->runs + h->count; run++) {
        printf("%s\n  {\"written\": %" PRId64 ", \"turn\": %" PRId64 ", \"attempt\": %" PRIu32
               ", \"fence\": %" PRId64 ", \"ran_ms\": %" PRId64,
               run == h->runs ? "" : ",", run->written, run->turn, run->attempt, run->fence,
               run->ran_ms);
        print_text("outcome", run->outcome);
        print_text("token", run->token);
        print_text("detail", run->detail);
        putchar('}');
    }
    puts(h->count ? "\n]}" : "]}");
}

int command_history(struct call *c, const struct request *r)
{
    static struct history h; /* much for a stack */
    sd_bus_message *reply = NULL;
    const char *job;
    int rc = word_job(r, "history", &job);

    if (rc != 0)
        return rc;
    h.local = options_has(r, OPTION_LOCAL);
    rc = call_ask(c, &reply, "History", "su", job, (uint32_t)RUNS_MAX);
    if (rc == 0 && read_runs(reply, &h) < 0)
        rc = call_say_odd(c);
    if (rc == 0 && options_has(r, OPTION_JSON))
        print_json(job, &h);
    else if (rc == 0)
        rc = print_table(r, job, &h);
    sd_bus_message_unref(reply);
    return rc;
}
