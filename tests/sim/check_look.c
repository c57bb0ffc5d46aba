/* SPDX-License-Identifier: MIT
 * What the checkers see of a job's record: the same of either scope. */
#include "base/text.h"
#include "sim.h"
#include <string.h>

unsigned check_seats_taken(const struct store_job *job, struct wall now)
{
    const struct memory_seats *seats = &job->seats;
    unsigned taken = 0;

    for (uint32_t i = 0; i < seats->seats; i++)
        taken += seats->room.seats[i].until.ms > now.ms;
    return taken;
}

static const struct memory_device *find_device(const struct memory_seats *seats, const char *name)
{
    uint32_t count = seats->devices;
    struct memory_table table = { .entries = seats->room.devices,
                                  .size = sizeof seats->room.devices[0],
                                  .order = seats->room.by_name,
                                  .capacity = seats->room.devices_max,
                                  .count = &count };

    return memory_table_find(&table, name);
}

/* When the seat of that token ends, if it is taken by its run or by what that left behind. */
static struct wall seat_end(const struct memory_seats *seats, const char *token)
{
    for (uint32_t i = 0; i < seats->seats; i++) {
        const struct memory_seat *seat = &seats->room.seats[i];

        if (strcmp(seat->who + (seat->who[0] == '~'), token) == 0)
            return seat->until;
    }
    return (struct wall){ 0 };
}

const char *check_seat_holder(const struct store_job *job, const char *token, struct wall now)
{
    return seat_end(&job->seats, token).ms > now.ms ? token : "";
}

static void look_at_device(const struct store_job *job, const char *name, struct shot *shot)
{
    const struct memory_device *d = find_device(&job->seats, name);
    struct memory_claim *r = &shot->record;

    *r = (struct memory_claim){ 0 };
    shot->lock = (struct memory_lock){ 0 };
    if (!d)
        return;
    r->state = d->state;
    r->outcome = d->outcome;
    r->turn = d->turn;
    r->done = d->done;
    r->attempt = d->attempt;
    r->ended = d->ended.ms > 0;
    r->manual = d->manual;
    text_copy(r->token, sizeof r->token, d->token);
    text_copy(shot->lock.value, sizeof shot->lock.value, d->token);
    shot->lock.until.ms = seat_end(&job->seats, d->token).ms - 1;
}

void check_look(const struct store_job *job, const struct flight *f, struct wall now,
                struct shot *ret_shot)
{
    *ret_shot = (struct shot){ .record = job->record, .lock = *job->record.lock };
    ret_shot->paused = job->pause.why[0] && (job->pause.endless || now.ms <= job->pause.until.ms);
    ret_shot->expired = job->record.expires.ms < now.ms;
    ret_shot->taken = check_seats_taken(job, now);
    if (f->request.job->scope == SCOPE_DEVICE)
        look_at_device(job, f->request.device, ret_shot);
}
