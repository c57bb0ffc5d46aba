/* SPDX-License-Identifier: MIT
 * sim: plays fleets by seeds, and says which promise was broken, if one was. */
#include "base/units.h"
#include "options.h"
#include "reconnect.h"
#include "sim.h"
#include "table.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Enough for a p99 that does not jump. */
#define TABLE_TURNS 2000

static int64_t cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * SECOND_MS + t.tv_nsec / 1000000;
}

#define TALLY_ADD(name, text) sum->name += t->name;
static void add(struct tally *sum, const struct tally *t)
{
    TALLY(TALLY_ADD)
    for (unsigned i = 0; i < MISHAP_COUNT; i++)
        sum->played[i] += t->played[i];
    sum->device_ms += t->device_ms;
}

static void show_speed(int64_t device_ms)
{
    int64_t took = cpu_ms() > 0 ? cpu_ms() : 1;

    printf("%12lld device-hours, %lld for each second of CPU\n", (long long)(device_ms / HOUR_MS),
           (long long)(device_ms / 3600 / took));
}

#define TALLY_SHOW(name, text) printf("%12llu %s\n", (unsigned long long)t->name, text);
static void show(const struct tally *t)
{
    TALLY(TALLY_SHOW)
    for (enum mishap i = 0; i < MISHAP_COUNT; i++)
        printf("%12llu times %s: %s\n", (unsigned long long)t->played[i], plan_mishap_word(i),
               plan_mishap_text(i));
    show_speed(t->device_ms);
}

#define TALLY_MISSES(name, text)                                                                   \
    if (t->name == 0) {                                                                            \
        printf("there were no %s\n", text);                                                        \
        good = false;                                                                              \
    }
static bool is_thorough(const struct tally *t)
{
    bool good = true;

    TALLY(TALLY_MISSES)
    for (enum mishap i = 0; i < MISHAP_COUNT; i++) {
        if (t->played[i] > 0)
            continue;
        printf("it was never so that %s\n", plan_mishap_text(i));
        good = false;
    }
    return good;
}

/* True where no promise was broken; `sum` may be NULL. The breach is said where `loud`. */
static bool play(const struct options *o, uint64_t seed, struct tally *sum, bool loud)
{
    struct sim *s = sim_new(sizeof *s);
    struct plan plan;
    bool good;

    options_plan(o, seed, &plan);
    if (o->quorum && plan.quorum == 0) {
        free(s);
        return true;
    }
    sim_play(s, &plan, o->trace);
    good = !s->breach[0];
    if (!good && loud)
        printf("%s\n", s->breach);
    if (sum)
        add(sum, &s->tally);
    sim_done(s);
    free(s);
    return good;
}

/* Leaves out what the breach does not need. */
static void shrink(const struct options *o, uint64_t seed)
{
    struct options less = *o;
    struct plan plan;

    for (int i = 0; i < MISHAP_COUNT; i++) {
        less.without[i] = true;
        options_plan(o, seed, &plan);
        if (plan.gap_ms[i] == 0 || play(&less, seed, NULL, false))
            less.without[i] = false;
    }
    options_plan(&less, seed, &plan);
    for (unsigned devices = plan.devices / 2; devices > 0; devices /= 2) {
        struct options fewer = less;

        fewer.devices = devices;
        if (!play(&fewer, seed, NULL, false))
            less = fewer;
    }
    printf("or, with less: ");
    options_print(&less, seed, stdout);
    (void)play(&less, seed, NULL, true);
}

static void keep_seed(const struct options *o, uint64_t seed)
{
    FILE *to = o->keep ? fopen(o->keep, "a") : NULL;

    if (!to)
        return;
    fprintf(to, "%llu\n", (unsigned long long)seed);
    fclose(to);
}

static bool play_seed(const struct options *o, uint64_t seed, struct tally *sum)
{
    if (play(o, seed, sum, true))
        return true;
    printf("again: ");
    options_print(o, seed, stdout);
    if (!o->trace && !o->first)
        shrink(o, seed);
    return false;
}

/* Those that failed before; the file goes when all pass. */
static bool play_kept(const struct options *o, struct tally *sum)
{
    FILE *from = o->keep ? fopen(o->keep, "r") : NULL;
    unsigned long long seed;
    bool good = true;

    if (!from)
        return true;
    while (good && fscanf(from, "%llu", &seed) == 1)
        good = play_seed(o, seed, sum);
    fclose(from);
    if (good)
        (void)unlink(o->keep);
    return good;
}

static bool play_all(const struct options *o, struct tally *sum)
{
    if (o->fresh_ms > 0)
        printf("seeds from %llu on\n", (unsigned long long)o->seed);
    if (!play_kept(o, sum))
        return false;
    for (uint64_t i = 0; o->fresh_ms > 0 ? cpu_ms() < o->fresh_ms : i < o->seeds; i++) {
        if (play_seed(o, o->seed + i, sum))
            continue;
        keep_seed(o, o->seed + i);
        return false;
    }
    return true;
}

static int reconnect(const struct options *o)
{
    int64_t device_ms;
    bool good = reconnect_play(o->seed, o->reconnect, &device_ms);

    show_speed(device_ms);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct tally sum = { 0 };
    struct options o;
    bool good;

    if (options_parse(&o, argc, argv) < 0)
        return 2;
    if (o.table)
        return table_print(o.seed, TABLE_TURNS) ? EXIT_SUCCESS : EXIT_FAILURE;
    if (o.reconnect > 0)
        return reconnect(&o);
    good = play_all(&o, &sum);
    show(&sum);
    if (good && o.thorough)
        good = is_thorough(&sum);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
