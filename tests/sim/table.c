/* SPDX-License-Identifier: MIT
 * One turn at a time of a fleet without faults: the core's own draw of who asks and when, its own
 * watchers, and the in-memory store. Of a large fleet only those are played that ask at all: how
 * many these are is drawn, and then each draws its rank among the ranks that ask. */
#include "table.h"
#include "base/text.h"
#include "base/units.h"
#include "chance.h"
#include "core/curve.h"
#include "core/memory.h"
#include "core/turns.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_MS (5 * MINUTE_MS)
#define RUN_MS (SECOND_MS / 2)
/* One way on the link, at the most. */
#define TRIP_MS 50
/* The worst of quartz, where no NTP corrects it; the server's clock is corrected. */
#define RATE_PPM 50
/* As core/fleet_hello.c: a device hears the fleet's time by hello, one a second in the whole fleet,
 * within these. */
#define HELLO_MIN_MS (10 * MINUTE_MS)
#define HELLO_MAX_MS (6 * HOUR_MS)
/* Ranks beyond this would ask after the next turn is due: 9 + ln(300) / 2, and some. */
#define RANKS_ASKING 16
#define ASKERS_MAX 256
/* Of a turn, on average, and where the fleet's size is wrong by a factor of four. */
#define COMMANDS_MAX 20
#define COMMANDS_WRONG_MAX 80

struct asker {
    int64_t at_ms; /* of its next question at the store; INT64_MAX: none */
    uint32_t asks;
    bool asked;
};

/* A turn that is due at 0 of its own time. */
struct turn {
    struct chance *chance;
    const struct job_spec *spec;
    struct memory_claim *record;
    struct wall due;
    bool dies;        /* the first to be granted never ends */
    uint32_t too_low; /* the devices take the fleet for so many times smaller */
    int64_t rate_ppm; /* their clocks are at most so much too fast or too slow */
    struct asker askers[ASKERS_MAX];
    unsigned count;
    unsigned commands;
    int64_t start_ms, again_ms, finish_ms; /* INT64_MAX: not yet */
    char holder[TOKEN_SIZE];
};

struct column {
    int64_t *values;
    unsigned count;
};

struct columns {
    struct column commands, starts;
    struct column takeovers; /* from one start to the next */
};

static int64_t trip(struct turn *t)
{
    return chance_in(t->chance, 1, TRIP_MS);
}

/* --- who asks --- */

static int64_t hello_mean_ms(uint32_t fleet)
{
    int64_t mean_ms = fleet * SECOND_MS;

    if (mean_ms < HELLO_MIN_MS)
        return HELLO_MIN_MS;
    return mean_ms < HELLO_MAX_MS ? mean_ms : HELLO_MAX_MS;
}

/* By how much a device takes it to be later than it is: since it was told, by hello or where all
 * ask at the turn before, its clock has gone by a rate of its own. */
static int64_t draw_ahead_ms(struct turn *t, uint32_t fleet)
{
    int64_t age_ms;

    if (t->rate_ppm == 0)
        return 0;
    age_ms = curve_gap_ms(hello_mean_ms(fleet), chance_next(t->chance));
    if (fleet <= RANKS_ASKING && age_ms > EVERY_MS)
        age_ms = EVERY_MS;
    return age_ms * chance_in(t->chance, -t->rate_ppm, t->rate_ppm) / 1000000;
}

static void add_asker(struct turn *t, uint32_t fleet, int64_t delay_ms)
{
    int64_t trip_ms;

    assert(t->count < ASKERS_MAX);
    if (delay_ms < 0)
        return;
    trip_ms = trip(t);
    t->askers[t->count++] =
        (struct asker){ .at_ms = 1 + delay_ms + trip_ms - draw_ahead_ms(t, fleet) };
}

static int64_t delay_of(const struct turn *t, uint32_t fleet, uint64_t random)
{
    return turns_ranked_ms(fleet, t->spec->splay_ms, EVERY_MS, random);
}

/* How many of so many devices have a rank that asks; beyond 65,536 the size makes no difference any
 * more that could be seen. */
static unsigned draw_count(struct turn *t, uint32_t fleet)
{
    int64_t devices = fleet < 65536 ? fleet : 65536;
    unsigned count = 0;

    for (int64_t i = 0; i < devices; i++)
        count += chance_in(t->chance, 0, devices - 1) < RANKS_ASKING * t->too_low;
    return count;
}

static void draw_askers(struct turn *t, uint32_t fleet)
{
    uint32_t taken_for = fleet < t->too_low ? 1 : fleet / t->too_low;
    uint64_t ranks = ((uint64_t)RANKS_ASKING << 32) / taken_for; /* of the upper half of the bits */
    unsigned count;

    if (taken_for <= RANKS_ASKING) {
        for (uint32_t i = 0; i < fleet; i++)
            add_asker(t, fleet, delay_of(t, taken_for, chance_next(t->chance)));
        return;
    }
    count = draw_count(t, fleet);
    for (unsigned i = 0; i < count; i++) {
        uint64_t upper = chance_next(t->chance) % ranks;

        add_asker(t, fleet, delay_of(t, taken_for, upper << 32 | chance_next(t->chance) >> 32));
    }
}

/* --- the store --- */

static void send(struct turn *t, struct store_request *q, int64_t at_ms, struct store_reply *reply)
{
    *reply = (struct store_reply){ 0 };
    q->job = t->spec;
    q->turn = t->due;
    t->commands++;
    memory_answer(t->record, wall_add(t->due, at_ms), q, reply);
    assert(reply->status == STORE_ANSWERED);
}

static void granted(struct turn *t, const char *token, int64_t at_ms)
{
    text_copy(t->holder, sizeof t->holder, token);
    if (t->start_ms == INT64_MAX)
        t->start_ms = at_ms + trip(t);
    else
        t->again_ms = at_ms + trip(t);
    if (!t->dies || t->again_ms != INT64_MAX)
        t->finish_ms = at_ms + RUN_MS + 2 * trip(t);
}

static void ask(struct turn *t, struct asker *a)
{
    const struct timing *timing = &t->spec->timing;
    char token[TOKEN_SIZE];
    struct store_request q = { .verb = STORE_ACQUIRE,
                               .token = token,
                               .ttl_ms = timing->lease_ms,
                               .next = wall_add(t->due, EVERY_MS),
                               .fresh_ms = timing_takeover_ms(timing, t->spec->splay_ms),
                               .first_ask = !a->asked };
    struct store_reply reply;
    int64_t at_ms = a->at_ms, in_ms = -1;

    text_format(token, sizeof token, "asker:%016llx%016x", (unsigned long long)t->due.ms,
                (unsigned)(a - t->askers));
    send(t, &q, at_ms, &reply);
    a->asked = true;
    if (reply.acquire.answer == ACQUIRE_GRANTED)
        granted(t, token, at_ms);
    else if (reply.acquire.answer == ACQUIRE_HELD)
        in_ms = turns_watch_ms(reply.acquire.watch, reply.acquire.left_ms, timing->lease_ms,
                               timing->renew_ms > 0, a->asks++);
    else if (reply.acquire.answer == ACQUIRE_EARLY)
        in_ms = reply.acquire.left_ms + 1;
    a->at_ms = in_ms < 0 ? INT64_MAX : at_ms + in_ms + 2 * trip(t);
}

static void finish(struct turn *t)
{
    struct store_request q = { .verb = STORE_FINISH,
                               .token = t->holder,
                               .attempt = t->record->attempt,
                               .fence = t->record->fence,
                               .outcome = OUTCOME_SUCCEEDED,
                               .covers = t->due,
                               .detail = "",
                               .clean = true };
    struct store_reply reply;

    send(t, &q, t->finish_ms, &reply);
    t->finish_ms = INT64_MAX;
}

static struct asker *first_asker(struct turn *t)
{
    struct asker *first = t->askers;

    for (unsigned i = 1; i < t->count; i++)
        if (t->askers[i].at_ms < first->at_ms)
            first = &t->askers[i];
    return t->count > 0 && first->at_ms < EVERY_MS ? first : NULL;
}

static void play(struct turn *t, uint32_t fleet)
{
    struct asker *a;

    t->count = t->commands = 0;
    t->start_ms = t->again_ms = t->finish_ms = INT64_MAX;
    draw_askers(t, fleet);
    while ((a = first_asker(t)) || t->finish_ms < EVERY_MS) {
        if (!a || t->finish_ms <= a->at_ms)
            finish(t);
        else
            ask(t, a);
    }
    t->due = wall_add(t->due, EVERY_MS);
}

/* --- the table --- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* In thousandths. */
static int64_t mean_of(const struct column *c)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < c->count; i++)
        sum += c->values[i];
    return c->count ? sum * 1000 / c->count : 0;
}

static int64_t p99_of(struct column *c)
{
    qsort(c->values, c->count, sizeof *c->values, compare);
    return c->count ? c->values[(c->count - 1) * 99 / 100] : 0;
}

static void note(struct column *c, int64_t value)
{
    c->values[c->count++] = value;
}

/* Plays `turns` turns. How many takeovers were too late is returned. */
static unsigned play_turns(struct turn *t, uint32_t fleet, unsigned turns, struct columns *c)
{
    int64_t bound = timing_takeover_ms(&t->spec->timing, t->spec->splay_ms);
    unsigned late = 0;

    c->commands.count = c->starts.count = c->takeovers.count = 0;
    for (unsigned i = 0; i < turns; i++) {
        play(t, fleet);
        note(&c->commands, t->commands);
        if (t->start_ms == INT64_MAX)
            continue;
        note(&c->starts, t->start_ms);
        late += t->dies && t->again_ms - t->start_ms > bound;
        if (t->again_ms != INT64_MAX)
            note(&c->takeovers, t->again_ms - t->start_ms);
    }
    return late;
}

static void print_tenths(int64_t thousandths)
{
    printf("%lld.%lld", (long long)(thousandths / 1000), (long long)(thousandths % 1000 / 100));
}

static void print_seconds(int64_t ms)
{
    printf("%lld.%02lld", (long long)(ms / SECOND_MS), (long long)(ms % SECOND_MS / 10));
}

static void print_mean_and_p99(struct column *c)
{
    print_seconds(mean_of(c) / 1000);
    printf(" / ");
    print_seconds(p99_of(c));
}

static int64_t mean_commands(struct turn *t, uint32_t fleet, unsigned turns, struct columns *c)
{
    (void)play_turns(t, fleet, turns, c);
    return mean_of(&c->commands);
}

static void print_takeovers(struct turn *t, uint32_t fleet, unsigned turns, struct columns *c)
{
    unsigned late;

    t->dies = true;
    late = play_turns(t, fleet, turns, c);
    t->dies = false;
    if (c->takeovers.count > 0) {
        print_mean_and_p99(&c->takeovers);
        printf(" | %u of %u", late, turns);
    } else {
        printf("nobody is there |");
    }
}

/* False where a bound is broken. */
static bool print_row(struct turn *t, uint32_t fleet, unsigned turns, struct columns *c)
{
    int64_t exact = mean_commands(t, fleet, turns, c), wrong, adrift;

    printf("| %u | ", fleet);
    print_tenths(exact);
    printf(" / %lld | ", (long long)p99_of(&c->commands));
    print_mean_and_p99(&c->starts);
    printf(" | ");
    print_takeovers(t, fleet, turns, c);
    t->too_low = 4;
    wrong = mean_commands(t, fleet, turns, c);
    t->too_low = 1;
    t->rate_ppm = RATE_PPM;
    adrift = mean_commands(t, fleet, turns, c);
    t->rate_ppm = 0;
    printf(" | ");
    print_tenths(wrong);
    printf(" | ");
    print_tenths(adrift);
    printf(" |\n");
    return exact <= COMMANDS_MAX * 1000 && wrong <= COMMANDS_WRONG_MAX * 1000 &&
           adrift <= COMMANDS_MAX * 1000;
}

static void make_spec(struct job_spec *spec)
{
    int64_t smallest;

    *spec = (struct job_spec){ .name = "job",
                               .key = "job",
                               .schedule = { .every_ms = EVERY_MS },
                               .timing = { .worst_case_ms = SECOND_MS,
                                           .stop_grace_ms = 5 * SECOND_MS,
                                           .command_timeout_ms = 3 * SECOND_MS,
                                           .connect_timeout_ms = 10 * SECOND_MS,
                                           .lease_cap_ms = MINUTE_MS },
                               .splay_ms = SECOND_MS,
                               .catch_up_ms = EVERY_MS,
                               .retention_ms = DAY_MS,
                               .attempts = 3 };
    strcpy(spec->schedule_print, "grid");
    assert(timing_derive(&spec->timing, &smallest) == 0);
}

static void *new_memory(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory)
        return memory;
    fputs("sim: no memory for the table\n", stderr);
    exit(EXIT_FAILURE);
}

bool table_print(uint64_t seed, unsigned turns)
{
    static const uint32_t sizes[] = { 1, 2, 5, 10, 100, 1000, 10000, 100000, 1000000 };
    struct chance chance = chance_stream(seed, 3);
    struct job_spec spec;
    struct memory_lock lock = { 0 };
    struct memory_claim record = { .lock = &lock };
    struct turn *t = new_memory(1, sizeof *t);
    int64_t *values = new_memory(3 * turns, sizeof *values);
    struct columns columns = { { .values = values },
                               { .values = values + turns },
                               { .values = values + 2 * turns } };
    bool good = true;

    make_spec(&spec);
    *t = (struct turn){ .chance = &chance, .spec = &spec, .record = &record, .too_low = 1 };
    t->due.ms = INT64_C(1700000000) * 1000 / EVERY_MS * EVERY_MS;
    memory_assume(&record, t->due, &spec, wall_add(t->due, -EVERY_MS));
    puts("| devices | commands a turn, mean / p99 | start after due, mean / p99 s "
         "| takeover, mean / p99 s | out of bound | commands, the fleet taken for a quarter "
         "| commands, clocks up to 50 ppm off |\n"
         "|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        good = print_row(t, sizes[i], turns, &columns) && good;
    free(values);
    free(t);
    return good;
}
