/* SPDX-License-Identifier: MIT */
#include "guard/output.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void output_init(struct output *o, int fd, uint8_t stream)
{
    o->fd = fd;
    o->stream = stream;
    o->length = 0;
    o->cut_bytes = 0;
}

void output_done(struct output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

static void end_line(struct output *o, struct report *report, struct boot now)
{
    char text[OUTPUT_LINE_MAX + OUTPUT_MARK_SIZE];
    uint64_t cut_bytes = o->cut_bytes + o->length;

    cut_bytes -= text_escape_part(text, OUTPUT_LINE_MAX + 1, o->line, o->length);
    if (cut_bytes > 0)
        text_format(text + strlen(text), OUTPUT_MARK_SIZE, "... (%" PRIu64 " bytes more)",
                    cut_bytes);
    report_line(report, &(struct tail_line){ .at = now, .stream = o->stream, .text = text });
    o->length = 0;
    o->cut_bytes = 0;
}

static void add(struct output *o, const char *data, size_t size)
{
    size_t room = sizeof(o->line) - o->length, part = size < room ? size : room;

    for (size_t i = 0; i < part; i++)
        o->line[o->length + i] = data[i] == '\t' ? ' ' : data[i];
    o->length += part;
    o->cut_bytes += size - part;
}

void output_read(struct output *o, size_t limit_bytes, struct report *report, struct boot now)
{
    char data[4096];

    for (size_t got = 0; o->fd >= 0 && got < limit_bytes;) {
        ssize_t n = read(o->fd, data, sizeof(data));
        const char *at = data, *end;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            output_done(o);
            return;
        }
        got += (size_t)n;
        while ((end = memchr(at, '\n', (size_t)(data + n - at)))) {
            add(o, at, (size_t)(end - at));
            end_line(o, report, now);
            at = end + 1;
        }
        add(o, at, (size_t)(data + n - at));
    }
}

void output_finish(struct output *o, struct report *report, struct boot now)
{
    if (o->length > 0)
        end_line(o, report, now);
}
