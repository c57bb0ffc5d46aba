/* SPDX-License-Identifier: MIT */
#include "base/cleanup.h"
#include "base/text.h"
#include "rotactl/call.h"
#include "rotactl/commands.h"
#include "rotactl/replace.h"
#include "rotactl/timeline/chart.h"
#include "rotactl/timeline/runs_json.h"
#include "rotactl/timeline/svg.h"
#include "rotactl/timeline/timeline_look.h"
#include "rotactl/timeline/timeline_view.h"
#include "rotactl/timeline_ask.h"
#include "rotactl/when.h"
#include <errno.h>
#include <langinfo.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sysexits.h>
#include <time.h>

static const char *shown(const char *text, char *buf, size_t size)
{
    return text_escape(buf, size, text, strlen(text));
}

static int say_no_memory(void)
{
    fputs("rotactl: there is not enough memory; take fewer jobs or days\n", stderr);
    return EX_OSERR;
}

/* --- what was asked --- */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int take_when(const char *option, const char *text, int64_t now, int64_t *ret_ms)
{
    char word[80];

    if (!text || when_parse(text, now, ret_ms) == 0)
        return 0;
    fprintf(stderr,
            "rotactl: %s is '%s', which is no time; write \"2d\", \"yesterday\" or \"2026-11-30 "
            "02:30\", in UTC\n",
            option, shown(text, word, sizeof word));
    return EX_USAGE;
}

static int take_span(const struct request *r, struct timeline_query *q)
{
    int rc = take_when("--since", r->values[OPTION_SINCE], q->now, &q->since);

    if (rc == 0)
        rc = take_when("--until", r->values[OPTION_UNTIL], q->now, &q->until);
    if (rc != 0)
        return rc;
    if (q->since != RUNS_NO_TIME && q->until != RUNS_NO_TIME && q->until <= q->since) {
        fputs("rotactl: --until is not after --since; nothing lies between them\n", stderr);
        return EX_USAGE;
    }
    return 0;
}

/* As wide as the terminal is; else as most are. */
static int terminal_columns(void)
{
    struct winsize size;
    int columns = CHART_COLUMNS;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    return columns < CHART_COLUMNS_LEAST  ? CHART_COLUMNS_LEAST
           : columns > CHART_COLUMNS_MOST ? CHART_COLUMNS_MOST
                                          : columns;
}

static int take_width(const struct request *r, int *ret_width)
{
    int least = r->values[OPTION_SVG] ? SVG_WIDTH_LEAST : CHART_COLUMNS_LEAST;
    int most = r->values[OPTION_SVG] ? SVG_WIDTH_MOST : CHART_COLUMNS_MOST;
    char word[80], *end;
    long width;

    if (!r->values[OPTION_WIDTH]) {
        *ret_width = r->values[OPTION_SVG] ? SVG_WIDTH : terminal_columns();
        return 0;
    }
    errno = 0;
    width = strtol(r->values[OPTION_WIDTH], &end, 10);
    if (errno == 0 && !*end && width >= least && width <= most) {
        *ret_width = (int)width;
        return 0;
    }
    fprintf(stderr, "rotactl: --width is '%s'; write a number of %s from %d to %d\n",
            shown(r->values[OPTION_WIDTH], word, sizeof word),
            r->values[OPTION_SVG] ? "pixels" : "columns", least, most);
    return EX_USAGE;
}

/* --- what is read --- */

static int say_unreadable(const char *name, int rc, const struct runs_json_fault *fault)
{
    char word[256];

    shown(name, word, sizeof word);
    if (rc == -ENOMEM)
        return say_no_memory();
    if (rc != -EINVAL && rc != -E2BIG) {
        fprintf(stderr, "rotactl: %s cannot be read: %s\n", word, strerror(-rc));
        return EX_NOINPUT;
    }
    fprintf(stderr, "rotactl: %s:%zu: %s; rotactl(1) says what a line has\n", word, fault->line,
            fault->why);
    return EX_DATAERR;
}

/* 0, or an exit status, with a line. */
static int read_runs(const char *name, struct runs *runs)
{
    CLEANUP_FCLOSE FILE *opened = NULL;
    struct runs_json_fault fault = { 0 };
    bool is_stdin = strcmp(name, "-") == 0;
    int rc;

    if (!is_stdin) {
        opened = fopen(name, "re");
        if (!opened)
            return say_unreadable(name, -errno, &fault);
    }
    rc = runs_json_read(runs, is_stdin ? stdin : opened, &fault);
    return rc < 0 ? say_unreadable(is_stdin ? "standard input" : name, rc, &fault) : 0;
}

/* --- what is drawn --- */

static int write_chart(const struct timeline *view, int width)
{
    const char *terminal = getenv("TERM"), *plain = getenv("NO_COLOR");
    struct chart_options options = { .columns = width };

    options.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    options.colour =
        isatty(STDOUT_FILENO) && !(plain && *plain) && !(terminal && strcmp(terminal, "dumb") == 0);
    return chart_write(stdout, view, &options) < 0 ? say_no_memory() : 0;
}

static int write_svg(const struct timeline *view, int width, const char *name)
{
    struct replace file = { 0 };
    char word[256];
    int rc;

    if (strcmp(name, "-") == 0) {
        svg_write(stdout, view, width);
        return 0;
    }
    rc = replace_begin(&file, name);
    if (rc == 0) {
        svg_write(file.out, view, width);
        rc = replace_end(&file);
    }
    if (rc == 0)
        return 0;
    fprintf(stderr, "rotactl: %s cannot be written: %s\n", shown(name, word, sizeof word),
            strerror(-rc));
    return EX_CANTCREAT;
}

/* What the picture would show, to be drawn by --from. */
static int write_lines(const struct timeline *view)
{
    runs_json_write_now(stdout, view->now);
    for (const struct timeline_job *job = view->job; job < view->job + view->job_count; job++) {
        for (size_t i = 0; i < job->due_count; i++)
            runs_json_write_due(stdout, &(struct due){ job->name, job->due[i].at });
        for (size_t i = 0; i < job->run_count; i++)
            runs_json_write(stdout, job->run[i].run);
    }
    return 0;
}

static int say_nothing_there(const struct timeline_query *q)
{
    char job[80];

    fputs("rotactl: nothing ran", stderr);
    if (q->jobs[0])
        fprintf(stderr, " of %s%s", shown(q->jobs[0], job, sizeof job),
                q->jobs[1] ? " and the other jobs" : "");
    fputs(q->since != RUNS_NO_TIME || q->until != RUNS_NO_TIME ? " in that time\n"
                                                               : ", as far as is known\n",
          stderr);
    return STATUS_LOOK;
}

static int draw(const struct request *r, const struct runs *runs, const struct timeline_query *q,
                int width)
{
    struct timeline view;
    int rc = timeline_view_init(runs, q, &view);

    if (rc == -ENODATA)
        return say_nothing_there(q);
    if (rc < 0)
        return say_no_memory();
    if (options_has(r, OPTION_JSON))
        rc = write_lines(&view);
    else if (r->values[OPTION_SVG])
        rc = write_svg(&view, width, r->values[OPTION_SVG]);
    else
        rc = write_chart(&view, width);
    timeline_view_done(&view);
    return rc;
}

/* 0, or an exit status, with a line. */
static int check_words(const struct request *r, struct timeline_query *q, int *ret_width)
{
    int rc = take_span(r, q);

    if (rc == 0)
        rc = take_width(r, ret_width);
    return rc == 0 ? options_check_apart(r, OPTION(OPTION_JSON) | OPTION(OPTION_SVG)) : rc;
}

/* What was asked for some time ago is drawn as it was then; and "2d" is before the now of those who
 * know it better than this device may. */
static int take_now(const struct request *r, const struct runs *runs, struct timeline_query *q)
{
    if (runs->now == 0)
        return 0;
    q->now = runs->now;
    return take_span(r, q);
}

int command_timeline(struct call *c, const struct request *r)
{
    struct timeline_query query = {
        .jobs = r->words, .since = RUNS_NO_TIME, .until = RUNS_NO_TIME, .now = now_ms()
    };
    const char *from = r->values[OPTION_FROM];
    struct runs runs = { 0 };
    int width = 0, rc = check_words(r, &query, &width);

    if (rc == 0)
        rc = from ? read_runs(from, &runs) : timeline_ask_runs(c, r->words, &runs);
    if (rc == 0)
        rc = take_now(r, &runs, &query);
    if (rc == 0 && !from)
        rc = timeline_ask_dues(c, &query, &runs);
    if (rc == 0)
        rc = draw(r, &runs, &query, width);
    runs_done(&runs);
    return rc;
}
