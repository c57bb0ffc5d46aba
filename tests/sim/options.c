/* SPDX-License-Identifier: MIT */
#include "options.h"
#include "base/units.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <time.h>

/* Between the first seeds of two that begin a second, or a ROTA_SEED, apart; short to type. */
#define FRESH_STEP 1000

static const struct option long_options[] = {
    { "seed", required_argument, NULL, 's' },
    { "seeds", required_argument, NULL, 'n' },
    { "fresh", required_argument, NULL, 'f' },
    { "keep", required_argument, NULL, 'k' },
    { "devices", required_argument, NULL, 'd' },
    { "minutes", required_argument, NULL, 'm' },
    { "without", required_argument, NULL, 'w' },
    { "trace", no_argument, NULL, 't' },
    { "thorough", no_argument, NULL, 'T' },
    { "first", no_argument, NULL, 'F' },
    { "table", no_argument, NULL, 'b' },
    { "quorum", no_argument, NULL, 'q' },
    { "reconnect", required_argument, NULL, 'r' },
    { "help", no_argument, NULL, 'h' },
    { 0 },
};

static void usage(FILE *to)
{
    fputs("sim [--seed N] [--seeds COUNT] [--thorough] [--first]\n"
          "    plays whole fleets by the seeds from N on. --thorough: what never happened is a\n"
          "    failure; --first: a failure is not looked at for what could be left out of it\n"
          "sim --fresh SECONDS [--keep FILE]\n"
          "    plays new seeds for so long (CPU time), from the time's or ROTA_SEED's on. FILE\n"
          "    keeps the seeds that failed: they are played first, until they pass\n"
          "    --quorum: of all seeds, those that have a quorum of servers\n"
          "sim --table\n"
          "    says what a turn costs a fleet, by its size\n"
          "sim --reconnect DEVICES\n"
          "    says how so many come back after Redis was gone for five minutes\n"
          "sim --seed N [--devices N] [--minutes N] [--without WHAT]... --trace\n"
          "    says all that happens. WHAT is left out of:\n",
          to);
    for (enum mishap i = 0; i < MISHAP_COUNT; i++)
        fprintf(to, "      %-12s %s\n", plan_mishap_word(i), plan_mishap_text(i));
}

static int leave_out(struct options *o, const char *word)
{
    int kind = plan_mishap_of(word);

    if (kind < 0) {
        fprintf(stderr, "sim: --without knows no \"%s\"; --help lists the words\n", word);
        return -EINVAL;
    }
    o->without[kind] = true;
    return 0;
}

static uint64_t first_fresh_seed(void)
{
    const char *given = getenv("ROTA_SEED");

    return (given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL)) * FRESH_STEP;
}

static int take(struct options *o, int option)
{
    switch (option) {
    case 's':
        o->seed = strtoull(optarg, NULL, 0);
        return 0;
    case 'n':
        o->seeds = (unsigned)strtoul(optarg, NULL, 0);
        return 0;
    case 'f':
        o->fresh_ms = strtoll(optarg, NULL, 0) * SECOND_MS;
        o->seed = first_fresh_seed();
        return 0;
    case 'k':
        o->keep = optarg;
        return 0;
    case 'd':
        o->devices = (unsigned)strtoul(optarg, NULL, 0);
        return 0;
    case 'm':
        o->length_ms = strtoll(optarg, NULL, 0) * MINUTE_MS;
        return 0;
    case 'w':
        return leave_out(o, optarg);
    case 't':
        o->trace = true;
        return 0;
    case 'b':
        o->table = true;
        return 0;
    case 'q':
        o->quorum = true;
        return 0;
    case 'r':
        o->reconnect = (unsigned)strtoul(optarg, NULL, 0);
        return o->reconnect > 0 ? 0 : -EINVAL;
    case 'F':
        o->first = true;
        return 0;
    case 'T':
        o->thorough = true;
        return 0;
    case 'h':
        usage(stdout);
        exit(EXIT_SUCCESS);
    default:
        return -EINVAL;
    }
}

int options_parse(struct options *o, int argc, char **argv)
{
    int c, rc = 0;

    *o = (struct options){ .seed = 1, .seeds = 1 };
    while (rc >= 0 && (c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        rc = take(o, c);
    if (rc >= 0 && optind == argc)
        return 0;
    usage(stderr);
    return -EINVAL;
}

void options_plan(const struct options *o, uint64_t seed, struct plan *ret_plan)
{
    plan_make(ret_plan, seed);
    for (enum mishap i = 0; i < MISHAP_COUNT; i++)
        if (o->without[i])
            ret_plan->gap_ms[i] = 0;
    if (o->devices > 0)
        ret_plan->devices = ret_plan->names = o->devices;
    if (o->length_ms > 0)
        ret_plan->length_ms = o->length_ms;
    if (ret_plan->quiet_ms > ret_plan->length_ms / 2)
        ret_plan->quiet_ms = ret_plan->length_ms / 2;
}

void options_print(const struct options *o, uint64_t seed, FILE *to)
{
    fprintf(to, "sim --seed %llu", (unsigned long long)seed);
    if (o->devices > 0)
        fprintf(to, " --devices %u", o->devices);
    if (o->length_ms > 0)
        fprintf(to, " --minutes %lld", (long long)(o->length_ms / MINUTE_MS));
    for (enum mishap i = 0; i < MISHAP_COUNT; i++)
        if (o->without[i])
            fprintf(to, " --without %s", plan_mishap_word(i));
    fputs(" --trace\n", to);
}
