/* SPDX-License-Identifier: MIT */
#include "redis/differ/play.h"

#include "base/units.h"

/* Of a seat, a device or the queue; 0: there is none. */
static int64_t draw_seats_instant(struct play *p, const struct memory_seats *s)
{
    const struct memory_device *d;

    if (s->seats > 0 && play_chance(p, 50))
        return s->room.seats[play_between(p, 0, s->seats - 1)].until.ms;
    if (s->devices == 0)
        return 0;
    d = &s->room.devices[play_between(p, 0, s->devices - 1)];
    switch (play_between(p, 0, 5)) {
    case 0:
        return d->retry.ms;
    case 1:
        return d->blank.ms;
    case 2:
    case 3:
        return d->ask.ms;
    case 4:
        return s->queued > 0 ? s->queue_end.ms : 0;
    default:
        return s->devices_end.ms == INT64_MAX ? 0 : s->devices_end.ms;
    }
}

static int64_t draw_fleet_instant(struct play *p, const struct memory_fleet *f)
{
    switch (play_between(p, 0, 5)) {
    case 0:
        return f->devices_end.ms;
    case 1:
        return f->confs_end.ms;
    case 2:
        return f->texts_end.ms;
    case 3:
        return f->jobs_end.ms;
    case 4:
        return f->conf_count > 0 ? f->confs[0].seen.ms + DAY_MS : 0;
    default:
        return f->hour > 0 ? (f->hour + 1) * HOUR_MS : 0;
    }
}

/* At which something changes; 0: none was met. */
static int64_t draw_instant(struct play *p, const struct sides *s)
{
    const struct sides_job *j = &s->jobs[play_between(p, 0, SIDES_JOBS - 1)];
    const struct memory_claim *r = &j->record;

    if (play_chance(p, p->fleets))
        return draw_fleet_instant(p, &s->fleet.fleet);
    switch (play_between(p, 0, 9)) {
    case 0:
    case 1:
    case 2:
        return r->lock->value[0] && !r->lock->endless ? r->lock->until.ms : 0;
    case 3:
        return r->retry.ms;
    case 4:
        return r->sights[0].print[0] ? r->sights[0].until.ms : 0;
    case 5:
        return r->expires.ms;
    case 6:
        return j->pause.why[0] && !j->pause.endless ? j->pause.until.ms : 0;
    default:
        return draw_seats_instant(p, &j->seats);
    }
}

int64_t play_clock(struct play *p, const struct sides *s)
{
    int64_t now = s->now.ms, kind = play_between(p, 0, 99), instant;

    if (p->before_jump_ms && play_chance(p, 40)) {
        now = p->before_jump_ms;
        p->before_jump_ms = 0;
        return now;
    }
    if (kind < 35 || p->calm)
        return now + play_between(p, 0, 2 * SECOND_MS);
    if (kind < 50)
        return now + play_between(p, 2 * SECOND_MS, 2 * MINUTE_MS);
    if (kind < 85) {
        instant = draw_instant(p, s);
        return (instant > 0 ? instant : now) + play_between(p, -1, 1);
    }
    if (kind < 91 || !p->jumps)
        return now - play_between(p, 1, MINUTE_MS);
    p->before_jump_ms = now;
    return now + PLAY_PICK(p, -HOUR_MS, HOUR_MS, DAY_MS, 10 * DAY_MS);
}
