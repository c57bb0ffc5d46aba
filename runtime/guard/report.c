/* SPDX-License-Identifier: MIT */
#include "guard/report.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

#define LINE_MILLI 1000

void report_init(struct report *r, int fd, uint32_t lines_max, struct boot now)
{
    size_t bytes = lines_max * REPORT_HELD_LINE_BYTES;

    r->fd = fd;
    tail_init(&r->held, lines_max, bytes < REPORT_HELD_BYTES ? REPORT_HELD_BYTES : bytes);
    r->tokens_milli = (int64_t)REPORT_BURST_LINES * LINE_MILLI;
    r->refilled = now;
    r->progress_not_before = now;
}

void report_done(struct report *r)
{
    tail_done(&r->held);
}

/* Sends the frame that was packed. Whether it is on its way. */
static bool send_packed(struct report *r)
{
    int e;

    if (r->gone)
        return false;
    e = frame_send(r->fd, &r->frame);
    if (e < 0 && e != -EAGAIN && e != -EMSGSIZE)
        r->gone = true;
    return e == 0;
}

void report_started(struct report *r, const struct message_started *m)
{
    message_pack_started(&r->frame, m);
    send_packed(r); /* the first frame on a fresh socket: it fits */
}

/* A token bucket. */
static int64_t tokens_at(const struct report *r, struct boot now)
{
    const int64_t most = (int64_t)REPORT_BURST_LINES * LINE_MILLI;
    int64_t passed_ms = boot_between(r->refilled, now), room = most - r->tokens_milli;

    if (passed_ms <= 0)
        return r->tokens_milli;
    return passed_ms >= room / REPORT_LINES_PER_SECOND
               ? most
               : r->tokens_milli + passed_ms * REPORT_LINES_PER_SECOND;
}

static int64_t tokens_wanted(const struct report *r)
{
    return r->limited ? (int64_t)REPORT_LINES_PER_SECOND * LINE_MILLI : LINE_MILLI;
}

static bool line_may_go(const struct report *r, struct boot now)
{
    return r->ended_waits || tokens_at(r, now) >= tokens_wanted(r);
}

/* The lines lost after the last one that went out. False where that waits for room. */
static bool flush_dropped(struct report *r)
{
    struct message_output m = { .stream = 2, .text = "", .dropped = r->dropped };

    if (r->dropped == 0)
        return true;
    message_pack_output(&r->frame, &m);
    if (!send_packed(r))
        return false;
    r->dropped = 0;
    return true;
}

static bool send_line(struct report *r, const struct tail_line *line)
{
    struct message_output output = { .stream = line->stream, .text = line->text };
    struct message_log log = { .level = line->level, .text = line->text };

    if (!flush_dropped(r))
        return false;
    if (line->stream == 0)
        message_pack_log(&r->frame, &log);
    else
        message_pack_output(&r->frame, &output);
    return send_packed(r);
}

/* True where it went out. */
static bool try_line(struct report *r, const struct tail_line *line, struct boot now)
{
    if (!line_may_go(r, now)) {
        r->limited = true;
        return false;
    }
    if (!send_line(r, line))
        return false;
    r->limited = false;
    r->tokens_milli = tokens_at(r, now) - LINE_MILLI;
    r->refilled = now;
    return true;
}

static void flush_held(struct report *r, struct boot now)
{
    struct tail_line line;

    for (size_t at = 0; tail_next(&r->held, &at, &line) && try_line(r, &line, now); at = 0)
        tail_drop(&r->held);
}

static void remember(struct report *r, const struct tail_line *line)
{
    int level;
    const char *text = text_skip_level(line->text, &level);

    if (line->stream > 0 && text[strspn(text, " ")])
        text_escape(r->last, sizeof(r->last), text, strlen(text));
}

void report_line(struct report *r, const struct tail_line *line)
{
    if (!line->text[0])
        return;
    if (r->held.lines_max > 0)
        remember(r, line);
    flush_held(r, line->at);
    if (!r->gone && (r->held.lines > 0 || !try_line(r, line, line->at)))
        r->dropped += tail_add(&r->held, line);
}

const char *report_last(const struct report *r)
{
    return r->last;
}

void report_progress(struct report *r, const struct message_progress *m)
{
    r->permille = m->permille;
    text_copy(r->progress_text, sizeof(r->progress_text), m->text);
    r->progress_waits = true;
}

void report_ended(struct report *r, const struct message_ended *m)
{
    r->ended = *m;
    text_copy(r->detail, sizeof(r->detail), m->detail);
    r->ended.detail = r->detail;
    r->ended_waits = true;
}

static void flush_progress(struct report *r, struct boot now)
{
    struct message_progress m = { .permille = r->permille, .text = r->progress_text };

    message_pack_progress(&r->frame, &m);
    if (!send_packed(r))
        return;
    r->progress_waits = false;
    r->progress_not_before = boot_add(now, REPORT_PROGRESS_GAP_MS);
}

void report_flush(struct report *r, struct boot now)
{
    if (r->gone) {
        r->progress_waits = r->ended_waits = false;
        return;
    }
    if (r->progress_waits && (r->ended_waits || boot_reached(now, r->progress_not_before)))
        flush_progress(r, now);
    flush_held(r, now);
    if (r->progress_waits || !r->ended_waits || r->held.lines > 0 || !flush_dropped(r))
        return;
    message_pack_ended(&r->frame, &r->ended);
    if (send_packed(r))
        r->ended_waits = false;
}

bool report_wants_room(const struct report *r, struct boot now)
{
    if (r->gone)
        return false;
    return r->ended_waits || (r->progress_waits && boot_reached(now, r->progress_not_before)) ||
           (r->held.lines > 0 && line_may_go(r, now));
}

struct boot report_next(const struct report *r, struct boot now)
{
    struct boot next = BOOT_NEVER;
    int64_t missing;

    if (r->gone)
        return next;
    if (r->progress_waits && !boot_reached(now, r->progress_not_before))
        next = r->progress_not_before;
    missing = tokens_wanted(r) - tokens_at(r, now);
    if (r->held.lines > 0 && missing > 0)
        next = boot_min(next, boot_add(now, missing / REPORT_LINES_PER_SECOND + 1));
    return next;
}
