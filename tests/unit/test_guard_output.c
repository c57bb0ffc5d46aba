/* SPDX-License-Identifier: MIT
 * From the bytes of a worker to what the guard tells: lines, their bounds, and that the last ones
 * are told whatever came before. */
#include "unit.h"

#include "guard/output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEPT 5
#define TOLD_MAX 400

struct told {
    int type;
    uint32_t stream, level, dropped;
    char text[2048];
};

static struct {
    struct report report;
    struct output out;
    struct boot now;
    int peer, pipe;
    struct frame frame;
    struct told told[TOLD_MAX];
    size_t count;
} t;

static void begin(uint32_t lines)
{
    int pair[2], ends[2];

    memset(&t, 0, sizeof(t));
    t.now.ms = 1000;
    assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), errno);
    assert_return_code(pipe2(ends, O_CLOEXEC | O_NONBLOCK), errno);
    t.peer = pair[1];
    t.pipe = ends[1];
    report_init(&t.report, pair[0], lines, t.now);
    output_init(&t.out, ends[0], 1);
}

static void end(void)
{
    close(t.peer);
    close(t.report.fd);
    close(t.pipe);
    output_done(&t.out);
    report_done(&t.report);
}

/* What has been told since, behind what was heard before. */
static void hear_on(void)
{
    int type;

    while ((type = frame_receive(t.peer, &t.frame)) > 0) {
        struct message_output output = { .text = "" };
        struct message_log log = { .text = "" };
        struct told *told = &t.told[t.count++];

        assert_in_range(t.count, 1, TOLD_MAX);
        if (type == MESSAGE_OUTPUT)
            assert_int_equal(message_unpack_output(&t.frame, &output), 0);
        else if (type == MESSAGE_LOG)
            assert_int_equal(message_unpack_log(&t.frame, &log), 0);
        *told = (struct told){
            .type = type, .stream = output.stream, .level = log.level, .dropped = output.dropped
        };
        snprintf(told->text, sizeof(told->text), "%s%s", output.text, log.text);
    }
}

static void hear(void)
{
    t.count = 0;
    hear_on();
}

static void job_writes(const char *bytes, size_t size)
{
    assert_int_equal(write(t.pipe, bytes, size), size);
    output_read(&t.out, SIZE_MAX, &t.report, t.now);
}

static void job_says(const char *text)
{
    job_writes(text, strlen(text));
}

static void job_counts(int from, int to)
{
    char line[32];

    for (int i = from; i < to; i++) {
        snprintf(line, sizeof(line), "line %d\n", i);
        job_says(line);
    }
}

static void pass_ms(int64_t ms)
{
    t.now.ms += ms;
    report_flush(&t.report, t.now);
}

static void job_ends(void)
{
    output_finish(&t.out, &t.report, t.now);
    report_ended(&t.report, &(struct message_ended){ .how = ENDED_RETURNED, .detail = "" });
    report_flush(&t.report, t.now);
}

static void assert_lines(size_t at, int from, int to)
{
    char line[32];

    for (int i = from; i < to; i++, at++) {
        snprintf(line, sizeof(line), "line %d", i);
        assert_in_range(at, 0, t.count - 1);
        assert_int_equal(t.told[at].type, MESSAGE_OUTPUT);
        assert_int_equal(t.told[at].dropped, 0);
        assert_string_equal(t.told[at].text, line);
    }
}

static void assert_gap(size_t at, uint32_t dropped)
{
    assert_in_range(at, 0, t.count - 1);
    assert_int_equal(t.told[at].type, MESSAGE_OUTPUT);
    assert_string_equal(t.told[at].text, "");
    assert_int_equal(t.told[at].dropped, dropped);
}

static void test_lines_are_escaped(void **state)
{
    static const char bytes[] = "a\0b\tc\n\n\n<3>x\033[2J\r\n\xc3";

    (void)state;
    begin(KEPT);
    job_writes(bytes, sizeof(bytes) - 1);
    job_says("\xbc\n<4>end");
    hear();
    assert_int_equal(t.count, 3);
    assert_string_equal(t.told[0].text, "a\\x00b c");
    assert_string_equal(t.told[1].text, "<3>x\\x1b[2J\\x0d");
    assert_string_equal(t.told[2].text, "\xc3\xbc");
    assert_string_equal(report_last(&t.report), "\xc3\xbc");
    job_ends();
    hear();
    assert_int_equal(t.count, 2);
    assert_string_equal(t.told[0].text, "<4>end");
    assert_string_equal(report_last(&t.report), "end");
    end();
}

static void assert_cut(const char *pattern, size_t shown)
{
    const size_t length = strlen(pattern);
    char mark[64], bytes[4096 + 1];

    for (size_t i = 0; i < 4096; i++)
        bytes[i] = pattern[i % length];
    begin(KEPT);
    for (int i = 0; i < 1000; i++)
        job_writes(bytes, 4096 / length * length);
    assert_int_equal(t.count, 0);
    job_says("\n");
    hear();
    assert_int_equal(t.count, 1);
    snprintf(mark, sizeof(mark), "... (%zu bytes more)", 1000 * (4096 / length * length) - shown);
    assert_string_equal(strstr(t.told[0].text, "... ("), mark);
    assert_in_range(strlen(t.told[0].text) - strlen(mark), OUTPUT_LINE_MAX - 3, OUTPUT_LINE_MAX);
    end();
}

/* The count is of what was written, however much more its escapes take. */
static void test_a_line_without_end_is_cut_with_a_count(void **state)
{
    (void)state;
    assert_cut("x", OUTPUT_LINE_MAX);
    assert_cut("\xff", OUTPUT_LINE_MAX / 4);
    assert_cut("\xe2\x82\xac", OUTPUT_LINE_MAX / 3 * 3);
}

static void test_a_flood_goes_out_in_pieces(void **state)
{
    struct boot next;

    (void)state;
    begin(KEPT);
    job_counts(0, REPORT_BURST_LINES + 100);
    hear();
    assert_int_equal(t.count, REPORT_BURST_LINES);
    assert_lines(0, 0, REPORT_BURST_LINES);
    assert_false(report_wants_room(&t.report, t.now));
    next = report_next(&t.report, t.now);
    assert_in_range(next.ms - t.now.ms, 900, 1100);
    pass_ms(next.ms - t.now.ms - 5);
    hear();
    assert_int_equal(t.count, 0);
    pass_ms(10);
    hear();
    assert_int_equal(t.count, 1 + KEPT);
    assert_gap(0, 100 - KEPT);
    assert_lines(1, REPORT_BURST_LINES + 100 - KEPT, REPORT_BURST_LINES + 100);
    assert_int_equal(report_next(&t.report, t.now).ms, BOOT_NEVER.ms);
    /* The rest of the second's lines, and no more. */
    job_counts(1000, 1100);
    hear();
    assert_in_range(t.count, REPORT_LINES_PER_SECOND - KEPT - 1,
                    REPORT_LINES_PER_SECOND - KEPT + 1);
    end();
}

static void test_the_last_lines_are_told_at_the_end(void **state)
{
    size_t gap = 0;

    (void)state;
    begin(KEPT);
    for (int second = 0; second < 3; second++) {
        job_counts(second * 10000, second * 10000 + 10000);
        pass_ms(700);
        hear();
    }
    job_says("the end");
    job_ends();
    hear();
    assert_int_equal(t.count, 1 + KEPT + 1);
    for (size_t i = 0; i < t.count; i++)
        gap = t.told[i].dropped > 0 ? i : gap;
    assert_gap(gap, t.told[gap].dropped);
    assert_int_equal(gap, 0);
    assert_lines(1, 30000 - KEPT + 1, 30000);
    assert_string_equal(t.told[KEPT].text, "the end");
    assert_int_equal(t.told[KEPT + 1].type, MESSAGE_ENDED);
    end();
}

static void test_nothing_is_held_where_nothing_is_kept(void **state)
{
    (void)state;
    begin(0);
    job_counts(0, REPORT_BURST_LINES + 100);
    job_ends();
    hear();
    assert_int_equal(t.count, REPORT_BURST_LINES + 2);
    assert_lines(0, 0, REPORT_BURST_LINES);
    assert_gap(REPORT_BURST_LINES, 100);
    assert_int_equal(t.told[REPORT_BURST_LINES + 1].type, MESSAGE_ENDED);
    assert_string_equal(report_last(&t.report), "");
    end();
}

/* log() and output share the limit and keep their order. */
static void test_log_keeps_its_place(void **state)
{
    (void)state;
    begin(KEPT);
    job_counts(0, REPORT_BURST_LINES);
    hear();
    job_counts(0, 2);
    report_line(&t.report, &(struct tail_line){ .at = t.now, .level = 3, .text = "bad" });
    job_counts(2, 3);
    pass_ms(2000);
    hear();
    assert_int_equal(t.count, 4);
    assert_lines(0, 0, 2);
    assert_int_equal(t.told[2].type, MESSAGE_LOG);
    assert_int_equal(t.told[2].level, 3);
    assert_string_equal(t.told[2].text, "bad");
    assert_lines(3, 2, 3);
    assert_string_equal(report_last(&t.report), "line 2");
    end();
}

/* A supervisor that does not read: all that fits, then the newest, and the end waits for room. */
static void test_a_slow_supervisor_gets_the_last_lines(void **state)
{
    const int small = 4608;
    int fit;

    (void)state;
    begin(KEPT);
    assert_return_code(setsockopt(t.report.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
                       errno);
    job_counts(0, 150);
    assert_true(report_wants_room(&t.report, t.now));
    job_ends();
    assert_true(report_wants_room(&t.report, t.now));
    hear();
    fit = (int)t.count;
    assert_in_range(fit, 1, 150 - KEPT - 1);
    for (int i = 0; i <= KEPT && t.report.ended_waits; i++) {
        report_flush(&t.report, t.now);
        hear_on();
    }
    assert_int_equal(t.count, fit + 1 + KEPT + 1);
    assert_lines(0, 0, fit);
    assert_gap((size_t)fit, (uint32_t)(150 - fit - KEPT));
    assert_lines((size_t)fit + 1, 150 - KEPT, 150);
    assert_int_equal(t.told[t.count - 1].type, MESSAGE_ENDED);
    end();
}

static void test_the_last_line_is_no_blank_one(void **state)
{
    char line[1000];

    (void)state;
    begin(KEPT);
    job_says("<3>no way out\n\n   \n<6>\n<5> \n");
    assert_string_equal(report_last(&t.report), "no way out");
    memset(line, 'x', sizeof(line));
    for (size_t i = 0; i + 1 < sizeof(line); i += 2)
        memcpy(line + i, "\xc3\xbc", 2);
    job_writes(line, sizeof(line));
    job_says("\n");
    assert_in_range(strlen(report_last(&t.report)), REPORT_LAST_SIZE - 3, REPORT_LAST_SIZE - 1);
    assert_string_equal(report_last(&t.report) + strlen(report_last(&t.report)) - 5, "\xc3\xbc...");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_escaped),
        cmocka_unit_test(test_a_line_without_end_is_cut_with_a_count),
        cmocka_unit_test(test_a_flood_goes_out_in_pieces),
        cmocka_unit_test(test_the_last_lines_are_told_at_the_end),
        cmocka_unit_test(test_nothing_is_held_where_nothing_is_kept),
        cmocka_unit_test(test_log_keeps_its_place),
        cmocka_unit_test(test_a_slow_supervisor_gets_the_last_lines),
        cmocka_unit_test(test_the_last_line_is_no_blank_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
