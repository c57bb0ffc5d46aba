/* SPDX-License-Identifier: MIT */
#include "guard/report.h"
#include "base/text.h"

#include <errno.h>

#define LINE_MILLI 1000

void report_init(struct report *r, int fd, struct boot now)
{
    r->fd = fd;
    r->tokens_milli = (int64_t)REPORT_BURST_LINES * LINE_MILLI;
    r->refilled = now;
    r->progress_not_before = now;
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
static bool take_token(struct report *r, struct boot now)
{
    const int64_t most = (int64_t)REPORT_BURST_LINES * LINE_MILLI;
    int64_t passed_ms = boot_between(r->refilled, now);

    if (passed_ms > 0) {
        int64_t room = most - r->tokens_milli;

        r->tokens_milli = passed_ms >= room / REPORT_LINES_PER_SECOND
                              ? most
                              : r->tokens_milli + passed_ms * REPORT_LINES_PER_SECOND;
        r->refilled = now;
    }
    if (r->tokens_milli < LINE_MILLI)
        return false;
    r->tokens_milli -= LINE_MILLI;
    return true;
}

void report_output(struct report *r, uint32_t stream, const char *text, struct boot now)
{
    struct message_output m = { .stream = stream, .text = text, .dropped = r->dropped };

    if (take_token(r, now)) {
        message_pack_output(&r->frame, &m);
        if (send_packed(r)) {
            r->dropped = 0;
            return;
        }
    }
    r->dropped++;
}

void report_log(struct report *r, const struct message_log *m, struct boot now)
{
    if (take_token(r, now)) {
        message_pack_log(&r->frame, m);
        if (send_packed(r))
            return;
    }
    r->dropped++;
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

/* The lines lost after the last one that went out; told before the end. False where they wait for
 * room. */
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

void report_flush(struct report *r, struct boot now)
{
    if (r->gone) {
        r->progress_waits = r->ended_waits = false;
        return;
    }
    if (r->progress_waits && (r->ended_waits || boot_reached(now, r->progress_not_before)))
        flush_progress(r, now);
    if (r->progress_waits || !r->ended_waits || !flush_dropped(r))
        return;
    message_pack_ended(&r->frame, &r->ended);
    if (send_packed(r))
        r->ended_waits = false;
}

bool report_wants_room(const struct report *r, struct boot now)
{
    if (r->gone)
        return false;
    return r->ended_waits || (r->progress_waits && boot_reached(now, r->progress_not_before));
}

struct boot report_next(const struct report *r, struct boot now)
{
    if (!r->progress_waits || r->gone || boot_reached(now, r->progress_not_before))
        return BOOT_NEVER;
    return r->progress_not_before;
}
