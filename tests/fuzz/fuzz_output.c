/* SPDX-License-Identifier: MIT
 * What a job writes: however it comes in, each line is told or counted as dropped, escaped but for
 * tabs, and cut with a count where it is too long; the last lines are told in any case. */
#include "base/text.h"
#include "fuzz.h"
#include "guard/output.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a pipe takes at once. */
#define PIPE_MAX 65536
#define LINES_MAX 20
#define NOW ((struct boot){ 1000000 })

struct job {
    struct report report;
    struct output output;
    struct frame frame;
    int peer, pipe;       /* where the report arrives; where the job writes */
    const char *at, *end; /* what was written and is not told yet */
    uint64_t told_last;   /* lines since the last gap */
};

static struct job job;

static void begin(const char *text, size_t size)
{
    int pair[2], ends[2];

    assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    assert(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    memset(&job, 0, offsetof(struct job, frame));
    job.peer = pair[1];
    job.pipe = ends[1];
    job.at = text;
    job.end = text + size;
    job.told_last = 0;
    report_init(&job.report, pair[0], LINES_MAX, NOW);
    output_init(&job.output, ends[0], 1);
}

/* The next line of what was written that is not empty; *ret_length without its end. */
static const char *next_line(size_t *ret_length)
{
    const char *line, *line_end;

    do {
        assert(job.at < job.end);
        line = job.at;
        line_end = memchr(line, '\n', (size_t)(job.end - line));
        *ret_length = (size_t)((line_end ? line_end : job.end) - line);
        job.at += *ret_length + (line_end != NULL);
    } while (*ret_length == 0);
    return line;
}

/* Bytes of `line` that the front of `told` shows; *ret_rest: what stands behind them. */
static size_t shown_bytes(const char *line, size_t length, const char *told, const char **ret_rest)
{
    size_t i = 0;

    for (; i < length && *told; i++) {
        char byte = line[i] == '\t' ? ' ' : line[i], escape[5];

        if (*told == byte) {
            told++;
            continue;
        }
        snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)byte);
        if (strncmp(told, escape, 4) != 0)
            break;
        told += 4;
    }
    *ret_rest = told;
    return i;
}

static void check_line(const char *told)
{
    size_t length, shown;
    const char *line = next_line(&length), *rest;
    char mark[OUTPUT_MARK_SIZE] = "", again[OUTPUT_LINE_MAX + OUTPUT_MARK_SIZE];
    uint64_t more = 0;

    for (const char *at = told; *at; at++)
        assert((unsigned char)*at >= ' ' && *at != 0x7f);
    text_escape(again, sizeof(again), told, strlen(told));
    assert(strcmp(told, again) == 0);
    shown = shown_bytes(line, length, told, &rest);
    if (shown < length || *rest) {
        /* Dots of the line may look like the mark's. */
        rest = strrchr(told, '(');
        assert(rest && sscanf(rest, "(%" SCNu64 " bytes more)", &more) == 1 && more > 0);
        snprintf(mark, sizeof(mark), "... (%" PRIu64 " bytes more)", more);
        assert(strlen(told) >= strlen(mark));
        assert(strcmp(told + strlen(told) - strlen(mark), mark) == 0);
        assert(strlen(told) - strlen(mark) + 4 > OUTPUT_LINE_MAX);
        assert(shown >= length - more);
    }
    assert(strlen(told) - strlen(mark) <= OUTPUT_LINE_MAX);
}

/* Takes what has arrived, until ENDED. */
static bool take_told(void)
{
    size_t unused;
    int type;

    while ((type = frame_receive(job.peer, &job.frame)) > 0 && type != MESSAGE_ENDED) {
        struct message_output m;

        assert(type == MESSAGE_OUTPUT && message_unpack_output(&job.frame, &m) == 0);
        for (uint32_t i = 0; i < m.dropped; i++)
            next_line(&unused);
        job.told_last = m.dropped > 0 ? 0 : job.told_last;
        if (!m.text[0])
            continue;
        assert(m.stream == 1);
        check_line(m.text);
        job.told_last++;
    }
    return type == MESSAGE_ENDED;
}

static void write_part(const char *bytes, size_t size)
{
    assert(write(job.pipe, bytes, size) == (ssize_t)size);
    output_read(&job.output, SIZE_MAX, &job.report, NOW);
}

static void finish(void)
{
    close(job.pipe);
    output_read(&job.output, SIZE_MAX, &job.report, NOW);
    assert(job.output.fd < 0);
    output_finish(&job.output, &job.report, NOW);
    report_ended(&job.report, &(struct message_ended){ .how = ENDED_RETURNED, .detail = "" });
    do
        report_flush(&job.report, NOW);
    while (!take_told());
    for (; job.at < job.end; job.at++)
        assert(*job.at == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    bool gaps;
    size_t cut;

    size = size < PIPE_MAX ? size : PIPE_MAX;
    cut = (size_t)fuzz_number(data, size, (int64_t)size + 1);
    begin(text, size);
    write_part(text, cut);
    write_part(text + cut, size - cut);
    gaps = job.report.dropped > 0;
    finish();
    assert(!gaps || job.told_last >= LINES_MAX);
    assert(strlen(report_last(&job.report)) < REPORT_LAST_SIZE);
    output_done(&job.output);
    report_done(&job.report);
    close(job.peer);
    close(job.report.fd);
    return 0;
}
