/* SPDX-License-Identifier: MIT */
#include "guard/output.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void output_init(struct output *o, int fd, uint32_t stream)
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

static void end_line(struct output *o, struct report *report, char *last, struct boot now)
{
    o->line[o->length] = 0;
    if (o->cut_bytes > 0)
        text_format(o->line + o->length, OUTPUT_MARK_SIZE, "... (%" PRIu64 " bytes more)",
                    o->cut_bytes);
    if (o->length > 0)
        text_copy(last, OUTPUT_LAST_SIZE, o->line);
    report_output(report, o->stream, o->line, now);
    o->length = 0;
    o->cut_bytes = 0;
}

static void add(struct output *o, const char *data, size_t size)
{
    size_t room = OUTPUT_LINE_MAX - o->length, part = size < room ? size : room;

    /* A frame's text would end at a NUL. */
    for (size_t i = 0; i < part; i++)
        o->line[o->length + i] = data[i] ? data[i] : '?';
    o->length += part;
    o->cut_bytes += size - part;
}

void output_read(struct output *o, size_t limit_bytes, struct report *report, char *last,
                 struct boot now)
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
            end_line(o, report, last, now);
            at = end + 1;
        }
        add(o, at, (size_t)(data + n - at));
    }
}

void output_finish(struct output *o, struct report *report, char *last, struct boot now)
{
    if (o->length > 0)
        end_line(o, report, last, now);
}
