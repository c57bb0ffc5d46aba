/* SPDX-License-Identifier: MIT
 * The lines above the table of status. */
#include "base/text.h"
#include "base/units.h"
#include "rotactl/status_view.h"
#include "rotactl/when.h"
#include <inttypes.h>
#include <string.h>

#define LINE_SIZE 512
/* Where the second part of a line begins, and the third. */
#define SECOND_STOP 40
#define THIRD_STOP 59
#define LINE_COLUMNS 80

struct line {
    char text[LINE_SIZE];
    size_t used; /* columns */
    const struct screen *screen;
};

static void end_line(FILE *out, struct line *l)
{
    screen_print_text(out, l->screen, l->text);
    *l = (struct line){ .screen = l->screen };
}

static size_t columns_of(const struct line *l)
{
    size_t width = l->screen->width;

    return width > 0 && width < LINE_COLUMNS ? width : LINE_COLUMNS;
}

/* At the stop, or behind what is there; in a line of its own where it would not fit. */
static void add_part(FILE *out, struct line *l, size_t stop, const char *part)
{
    size_t at = l->used + 2 > stop ? l->used + 2 : stop, width = columns_of(l), columns, bytes;
    char shown[LINE_SIZE];

    columns = screen_columns(text_escape(shown, sizeof shown, part, strlen(part)));
    if (l->used > 0 && at + columns > width && l->used + 2 + columns <= width)
        at = l->used + 2;
    if (l->used > 0 && at + columns > width)
        end_line(out, l);
    if (l->used == 0)
        at = 0;
    bytes = strlen(l->text);
    text_format(l->text + bytes, sizeof l->text - bytes, "%*s%s", (int)(at - l->used), "", shown);
    l->used = at + columns;
}

static void say_redis(const struct status_facts *f, char *buf, size_t size)
{
    char trip[UNITS_SIZE + 2] = "", ms[UNITS_SIZE], which[160] = "";
    bool ok = text_equal(f->redis, "ok");

    if (!f->redis) {
        text_copy(buf, size, f->store ? "local, this device alone" : "");
        return;
    }
    if (ok && f->trip_ms != FACT_NONE)
        text_format(trip, sizeof trip, ", %s", units_say_duration(f->trip_ms, ms, sizeof ms));
    if (ok && f->servers > 0 && f->servers_ok >= 0)
        text_format(which, sizeof which, "%" PRId64 " of %" PRId64 " ", f->servers_ok, f->servers);
    else if (ok && f->master)
        text_format(which, sizeof which, "%.120s ", f->master);
    text_format(buf, size, "redis %s%s%s%s", which, f->redis, trip, ok && f->tls ? ", TLS" : "");
}

static void print_first(FILE *out, const struct screen *screen, const struct status *s)
{
    char part[LINE_SIZE], up[WHEN_SIZE + 8] = "", span[WHEN_SIZE];
    const struct status_facts *f = &s->rotad;
    struct line l = { .screen = screen };

    if (f->uptime_ms != FACT_NONE)
        text_format(up, sizeof up, ", up %s", when_say_span(f->uptime_ms, span));
    text_format(part, sizeof part, "%s  rotad %s%s", s->device, f->version ? f->version : "", up);
    add_part(out, &l, 0, part);
    if (f->fleet && *f->fleet) {
        size_t length = strlen(f->fleet);

        /* A prefix mostly ends so: it is not of the name. */
        length -= f->fleet[length - 1] == ':';
        text_format(part, sizeof part, "fleet %.*s", (int)length, f->fleet);
        add_part(out, &l, SECOND_STOP, part);
    }
    say_redis(f, part, sizeof part);
    if (*part)
        add_part(out, &l, THIRD_STOP, part);
    end_line(out, &l);
}

static void add_count(char *buf, const struct status *s, const char *word)
{
    size_t count = 0, used = strlen(buf);

    for (size_t i = 0; i < s->job_count; i++)
        count += text_equal(status_state(&s->jobs[i]), word);
    if (count > 0)
        text_format(buf + used, LINE_SIZE - used, ", %zu %s", count, word);
}

static void say_jobs(const struct status *s, char *buf)
{
    static const char *const words[] = { "running",  "given up", "stuck",    "paused",
                                         "mismatch", "blocked",  "outdated", "newer",
                                         "invalid",  "disabled", "elsewhere" };

    if (s->job_count == 0)
        text_copy(buf, LINE_SIZE, s->rotad.unread ? "no jobs" : "no jobs yet");
    else
        text_format(buf, LINE_SIZE, "%zu job%s", s->job_count, s->job_count == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        add_count(buf, s, words[i]);
    if (s->rotad.draining)
        text_format(buf + strlen(buf), LINE_SIZE - strlen(buf), "%s",
                    s->rotad.busy ? ", draining" : ", drained");
}

/* In tenths of a second, or as people say it. */
static void say_ours(int64_t ms, char *buf, size_t size)
{
    int64_t by = ms < 0 ? -ms : ms;
    char text[UNITS_SIZE], sign = ms <= -50 ? '-' : '+';

    if (by < MINUTE_MS)
        text_format(buf, size, "ours %c%" PRId64 ".%" PRId64 " s", sign, (by + 50) / 1000,
                    (by + 50) % 1000 / 100);
    else
        text_format(buf, size, "ours %c%s", sign, units_say_duration(by, text, sizeof text));
}

static void say_clock(const struct status_facts *f, bool local, char *buf, size_t size)
{
    char at[WHEN_SIZE], ours[48] = "";

    if (f->ours_ms != FACT_NONE)
        say_ours(f->ours_ms, ours, sizeof ours);
    text_format(buf, size, "fleet clock %s%s%s", when_clock(f->now, local, at), *ours ? ", " : "",
                ours);
}

void status_print_head(FILE *out, const struct screen *screen, const struct status *s)
{
    char part[LINE_SIZE];
    struct line l = { .screen = screen };

    print_first(out, screen, s);
    say_jobs(s, part);
    add_part(out, &l, 0, part);
    if (s->rotad.now != FACT_NONE) {
        say_clock(&s->rotad, screen->local, part, sizeof part);
        add_part(out, &l, SECOND_STOP, part);
    }
    end_line(out, &l);
}
