/* SPDX-License-Identifier: MIT
 * Any file of runs: what can be read is drawn, in characters and as an SVG, in which no byte of the
 * file is markup or control; and what is written of it is read back. */
#include "fuzz.h"
#include "rotactl/timeline/chart.h"
#include "rotactl/timeline/runs_json.h"
#include "rotactl/timeline/svg.h"
#include <stdio.h>

#define NOW INT64_C(1796040000000)

static char *draw_svg(const struct timeline *view)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    assert(out);
    svg_write(out, view, SVG_WIDTH_LEAST);
    assert(fclose(out) == 0 && strlen(text) == size);
    return text;
}

static char *draw_chart(const struct timeline *view, bool utf8)
{
    struct chart_options options = { .columns = CHART_COLUMNS_LEAST, .utf8 = utf8 };
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    assert(out);
    assert(chart_write(out, view, &options) == 0);
    assert(fclose(out) == 0 && strlen(text) == size);
    return text;
}

static void check_plain(char *text)
{
    for (const char *c = text; *c; c++)
        assert(((unsigned char)*c >= ' ' && *c != 0x7f) || *c == '\n');
    free(text);
}

static void check_svg(char *text)
{
    assert(!strstr(text, "<script") && !strstr(text, "]]>"));
    check_plain(text);
}

static char *write_run(const struct run *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert(out);
    runs_json_write(out, run);
    assert(fclose(out) == 0);
    return text;
}

/* What was written is read again. A byte that is no UTF-8 was written as U+FFFD. */
static void check_back(const struct runs *runs)
{
    for (size_t i = 0; i < runs->run_count; i++) {
        char *text = write_run(&runs->run[i]), *read = write_run(&runs->run[i]), *again;
        struct runs_json_fault fault;
        struct runs back = { 0 };

        assert(runs_json_read_line(&back, read, &fault) == 0 && back.run_count == 1);
        assert(back.run[0].ended == runs->run[i].ended && back.run[0].turn == runs->run[i].turn);
        again = write_run(&back.run[0]);
        assert(strcmp(again, text) == 0);
        runs_done(&back);
        free(again);
        free(read);
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct timeline_query query = { NULL, RUNS_NO_TIME, RUNS_NO_TIME, NOW };
    struct runs_json_fault fault;
    struct runs runs = { 0 };
    struct timeline view;
    FILE *in = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

    if (!in)
        return 0;
    (void)runs_json_read(&runs, in, &fault);
    fclose(in);
    check_back(&runs);
    if (timeline_view_init(&runs, &query, &view) == 0) {
        check_svg(draw_svg(&view));
        check_plain(draw_chart(&view, true));
        check_plain(draw_chart(&view, false));
        timeline_view_done(&view);
    }
    runs_done(&runs);
    return 0;
}
