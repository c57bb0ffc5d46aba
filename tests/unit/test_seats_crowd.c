/* SPDX-License-Identifier: MIT
 * Device scope with 5,000 devices and 20 seats, by the core as it is and the in-memory store: every
 * device runs the turn once, in few commands and about in the order of asking, and no more than
 * there are seats run at once. */
#include "base/text.h"
#include "base/units.h"
#include "core/memory.h"
#include "core/memory_seats.h"
#include "support/fake.h"
#include <stdio.h>
#include <stdlib.h>

#define DEVICES 5000
#define SEATS 20
#define PERIOD_MS (4 * DAY_MS)
#define BEGIN_MS (INT64_C(1700000000000) / PERIOD_MS * PERIOD_MS - MINUTE_MS)
#define TURN_MS (BEGIN_MS + MINUTE_MS)
#define COMMANDS_MAX 6
#define RUN_MIN_MS (10 * SECOND_MS)
#define RUN_MAX_MS (70 * SECOND_MS)
#define RUN_MEAN_MS ((RUN_MIN_MS + RUN_MAX_MS) / 2)

struct device {
    char name[8];
    struct fake fake;
    struct job job;
    int64_t wakes_ms;                        /* it has a place in the heap for then */
    int64_t ends_ms;                         /* its run; INT64_MAX: none */
    unsigned commands, starts, asked, began; /* asked, began: place in the order of doing so */
};

struct crowd {
    struct device *devices;
    struct device **heap; /* the earliest first */
    size_t heap_count;
    struct memory_claim record;
    struct memory_lock lock;
    struct memory_pause pause;
    struct memory_seats seats;
    struct job_spec spec;
    struct unit_random random;
    int64_t now_ms, last_began_ms;
    unsigned asked, began, running, most;
};

/* --- a heap of devices, by wakes_ms --- */

static void heap_put(struct crowd *c, size_t at, struct device *d)
{
    while (at > 0 && c->heap[(at - 1) / 2]->wakes_ms > d->wakes_ms) {
        c->heap[at] = c->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    c->heap[at] = d;
}

static struct device *heap_take(struct crowd *c)
{
    struct device *first = c->heap[0], *last = c->heap[--c->heap_count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < c->heap_count) {
        if (child + 1 < c->heap_count && c->heap[child + 1]->wakes_ms < c->heap[child]->wakes_ms)
            child++;
        if (c->heap[child]->wakes_ms >= last->wakes_ms)
            break;
        c->heap[at] = c->heap[child];
        at = child;
    }
    c->heap[at] = last;
    return first;
}

static void sleep_again(struct crowd *c, struct device *d)
{
    d->wakes_ms = d->fake.armed.ms < d->ends_ms ? d->fake.armed.ms : d->ends_ms;
    heap_put(c, c->heap_count, d);
    c->heap_count++;
}

/* --- the crowd --- */

static struct job_spec spec_of_seats(void)
{
    struct job_spec spec = {
        .name = "update",
        .key = "update",
        .schedule = { .every_ms = PERIOD_MS },
        .timing = { .worst_case_ms = 80 * SECOND_MS,
                    .stop_grace_ms = 5 * SECOND_MS,
                    .command_timeout_ms = 3 * SECOND_MS,
                    .connect_timeout_ms = 10 * SECOND_MS,
                    .lease_cap_ms = 2 * MINUTE_MS },
        .splay_ms = MINUTE_MS,
        .catch_up_ms = 0,
        .retention_ms = 30 * DAY_MS,
        .attempts = 3,
        .scope = SCOPE_DEVICE,
        .concurrency = SEATS,
        .fingerprint = "f1",
        .schedule_print = "s1",
    };
    int64_t smallest;

    assert_int_equal(timing_derive(&spec.timing, &smallest), 0);
    assert_int_equal(spec.timing.renew_ms, 0);
    return spec;
}

static void *array(size_t count, size_t size)
{
    void *block = calloc(count, size);

    assert_non_null(block);
    return block;
}

/* Each device has done the turn before. */
static void remember(struct crowd *c)
{
    struct memory_room *room = &c->seats.room;

    *room = (struct memory_room){ .seats = array(4 * SEATS, sizeof *room->seats),
                                  .devices = array(DEVICES, sizeof *room->devices),
                                  .by_name = array(DEVICES, sizeof *room->by_name),
                                  .queue = array(DEVICES, sizeof *room->queue),
                                  .seats_max = 4 * SEATS,
                                  .devices_max = DEVICES };
    for (uint32_t i = 0; i < DEVICES; i++) {
        struct memory_device *d = &room->devices[i];

        *d = (struct memory_device){ .known = true,
                                     .state = MEMORY_ENDED,
                                     .outcome = OUTCOME_SUCCEEDED,
                                     .attempt = 1,
                                     .turn = { TURN_MS - PERIOD_MS },
                                     .done = { TURN_MS - PERIOD_MS },
                                     .print = "s1",
                                     .token = "earlier" };
        text_copy(d->name, sizeof d->name, c->devices[i].name);
        room->by_name[i] = i;
    }
    c->seats.devices = DEVICES;
    c->seats.devices_end.ms = BEGIN_MS + 30 * DAY_MS;
    c->record = (struct memory_claim){ .lock = &c->lock, .pause = &c->pause, .seats = &c->seats };
}

static void send_all(struct crowd *c, struct device *d)
{
    struct boot now = { c->now_ms };

    while (fake_send(&d->fake, now)) {
        struct store_reply reply = { 0 };

        if (d->fake.request.verb != STORE_CLOCK)
            d->commands++;
        if (d->fake.request.verb == STORE_ACQUIRE && d->asked == 0)
            d->asked = ++c->asked;
        memory_answer(&c->record, (struct wall){ c->now_ms }, &d->fake.request, &reply);
        fake_reply(&d->fake, reply, now);
    }
}

static void begin_run(struct crowd *c, struct device *d)
{
    d->starts = d->fake.starts;
    d->began = ++c->began;
    c->last_began_ms = c->now_ms;
    d->ends_ms = c->now_ms + unit_random_in(&c->random, RUN_MIN_MS, RUN_MAX_MS);
    c->running++;
    c->most = c->running > c->most ? c->running : c->most;
    job_started(&d->job, (struct boot){ c->now_ms }, (struct boot){ c->now_ms });
}

static void wake(struct crowd *c, struct device *d)
{
    struct boot now = { c->now_ms };

    if (d->ends_ms <= c->now_ms) {
        d->ends_ms = INT64_MAX;
        c->running--;
        job_ended(&d->job, now,
                  &(struct run_end){ .exit = RUN_RETURNED, .clean = true, .detail = "" });
    }
    fleet_tick(&d->fake.fleet, now);
    send_all(c, d);
    if (d->fake.starts > d->starts)
        begin_run(c, d);
    sleep_again(c, d);
}

static struct crowd *crowd_new(uint32_t size)
{
    struct crowd *c = array(1, sizeof *c);

    *c = (struct crowd){ .devices = array(DEVICES, sizeof *c->devices),
                         .heap = array(DEVICES, sizeof(struct device *)),
                         .spec = spec_of_seats(),
                         .random = unit_random_begin(),
                         .now_ms = BEGIN_MS };
    for (unsigned i = 0; i < DEVICES; i++) {
        struct device *d = &c->devices[i];

        d->ends_ms = INT64_MAX;
        text_format(d->name, sizeof d->name, "d%05u", i);
        fake_init(&d->fake, d->name, 1, (struct unit_random){ unit_random_next(&c->random) });
        d->fake.fleet.size = size;
        job_init(&d->job, &d->fake.fleet, &c->spec);
        job_begin(&d->job, (struct boot){ c->now_ms });
    }
    remember(c);
    for (unsigned i = 0; i < DEVICES; i++)
        wake(c, &c->devices[i]);
    return c;
}

static void crowd_play(struct crowd *c, int64_t until_ms)
{
    while (c->heap[0]->wakes_ms <= until_ms) {
        struct device *d = heap_take(c);

        c->now_ms = d->wakes_ms > c->now_ms ? d->wakes_ms : c->now_ms;
        wake(c, d);
    }
}

static void crowd_free(struct crowd *c)
{
    for (unsigned i = 0; i < DEVICES; i++)
        fake_done(&c->devices[i].fake);
    free(c->seats.room.seats);
    free(c->seats.room.devices);
    free(c->seats.room.by_name);
    free(c->seats.room.queue);
    free(c->devices);
    free(c->heap);
    free(c);
}

static int by_size(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

/* Commands are bounded in the mean; all but one in a hundred begin within a tenth of the crowd of
 * the place in which they asked. */
static void expect(const struct crowd *c)
{
    unsigned *commands = array(DEVICES, sizeof *commands);
    unsigned *moved = array(DEVICES, sizeof *moved);
    unsigned sum = 0;

    for (unsigned i = 0; i < DEVICES; i++) {
        const struct device *d = &c->devices[i];

        assert_int_equal(d->starts, 1);
        assert_int_equal(d->job.counters.outcomes[OUTCOME_SUCCEEDED], 1);
        assert_int_equal(d->job.counters.illegal, 0);
        commands[i] = d->commands;
        sum += d->commands;
        moved[i] = d->asked > d->began ? d->asked - d->began : d->began - d->asked;
    }
    qsort(commands, DEVICES, sizeof *commands, by_size);
    qsort(moved, DEVICES, sizeof *moved, by_size);
    printf("commands: mean %u.%02u, 99 %% %u, most %u; displaced: 99 %% by %u places\n",
           sum / DEVICES, sum % DEVICES * 100 / DEVICES, commands[DEVICES - DEVICES / 100],
           commands[DEVICES - 1], moved[DEVICES - DEVICES / 100]);
    assert_int_equal(c->most, SEATS);
    assert_true(sum <= COMMANDS_MAX * DEVICES);
    assert_true(moved[DEVICES - DEVICES / 100] <= DEVICES / 10);
    free(commands);
    free(moved);
}

/* Nobody knows how large the fleet is: all ask within the splay. */
static void test_all_at_once(void **state)
{
    struct crowd *c = crowd_new(SEATS);
    int64_t least;

    (void)state;
    crowd_play(c, TURN_MS + PERIOD_MS / 2);
    expect(c);
    /* The seats are hardly ever free while somebody waits. */
    least = (int64_t)RUN_MEAN_MS * DEVICES / SEATS;
    printf("all have begun within %lld s, of at least %lld\n",
           (long long)(c->last_began_ms - TURN_MS) / SECOND_MS, (long long)least / SECOND_MS);
    assert_true(c->last_began_ms - TURN_MS < least * 6 / 5);
    crowd_free(c);
}

/* The fleet's size is known, so that the first questions are spread. */
static void test_spread(void **state)
{
    struct crowd *c = crowd_new(DEVICES);

    (void)state;
    crowd_play(c, TURN_MS + PERIOD_MS / 2 + HOUR_MS);
    expect(c);
    crowd_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_spread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
