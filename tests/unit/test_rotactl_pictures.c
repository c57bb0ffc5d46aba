/* SPDX-License-Identifier: MIT
 * Golden pictures: for each NAME.json in the folder GOLDEN, NAME.svg is the drawing of its runs,
 * NAME.txt the same in ASCII, and NAME.utf8.txt in colour. With ROTA_GOLDEN_WRITE in the
 * environment they are written instead: look at them. */
#include "base/text.h"
#include "rotactl/timeline/chart.h"
#include "rotactl/timeline/runs_json.h"
#include "rotactl/timeline/svg.h"
#include "support/golden.h"

#include <glob.h>
#include <locale.h>
#include <string.h>

/* 2026-11-30 12:00 UTC. */
#define NOW INT64_C(1796040000000)

static void check(const char *json, const char *end, const char *drawn)
{
    char path[512];

    assert_true(
        text_format(path, sizeof path, "%.*s%s", (int)(strlen(json) - strlen(".json")), json, end));
    golden_check(path, drawn);
}

static void check_chart(const struct timeline *view, const char *json, const char *end, bool utf8)
{
    struct chart_options options = { .columns = CHART_COLUMNS, .utf8 = utf8, .colour = utf8 };
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(chart_write(out, view, &options), 0);
    assert_int_equal(fclose(out), 0);
    check(json, end, text);
    free(text);
}

static void check_svg(const struct timeline *view, const char *json)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    svg_write(out, view, SVG_WIDTH);
    assert_int_equal(fclose(out), 0);
    check(json, ".svg", text);
    free(text);
}

static void check_pictures(const char *json)
{
    struct timeline_query query = { NULL, RUNS_NO_TIME, RUNS_NO_TIME, NOW };
    struct runs_json_fault f = { 0 };
    struct runs runs = { 0 };
    struct timeline view;
    FILE *in = fopen(json, "re");

    assert_non_null(in);
    if (runs_json_read(&runs, in, &f) < 0)
        fail_msg("%s:%zu: %s", json, f.line, f.why);
    fclose(in);
    assert_int_equal(timeline_view_init(&runs, &query, &view), 0);
    check_svg(&view, json);
    check_chart(&view, json, ".txt", false);
    check_chart(&view, json, ".utf8.txt", true);
    timeline_view_done(&view);
    runs_done(&runs);
}

static void test_golden_pictures(void **state)
{
    glob_t found;

    (void)state;
    assert_int_equal(glob(GOLDEN "/*.json", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 3);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_pictures(found.gl_pathv[i]);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_pictures),
    };

    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
