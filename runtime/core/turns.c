/* SPDX-License-Identifier: MIT */
#include "core/turns.h"
#include "base/units.h"
#include "core/curve.h"

/* From this size on the whole splay is used. */
#define TURNS_SPREAD_FLEET 6
/* So many of each turn's ranks ask at once, and one more for each half of e in time after that. */
#define TURNS_RANKS 9
#define TURNS_GROWTH 2
/* No fleet is larger; its ranks can be reckoned with. */
#define TURNS_FLEET_MAX (UINT32_C(1) << 29)
/* Fewer hellos are no estimate, and fewer devices no crowd. */
#define TURNS_HELLOS_MIN 5
#define TURNS_CROWD 20
/* 2^20 leases of 1 s are 12 days. */
#define TURNS_DOUBLINGS_MAX 20

int64_t turns_uniform_ms(int64_t spread_ms, uint64_t random)
{
    return spread_ms <= 0 ? 0 : (int64_t)(random % (uint64_t)spread_ms);
}

static int64_t splay_of(uint32_t fleet, int64_t splay_ms)
{
    if (fleet >= TURNS_SPREAD_FLEET)
        return splay_ms;
    return splay_ms / (TURNS_SPREAD_FLEET - 1) * (int64_t)(fleet - 1);
}

int64_t turns_delay_ms(uint32_t fleet, int64_t splay_ms, uint64_t random)
{
    return turns_uniform_ms(splay_of(fleet, splay_ms), random);
}

uint32_t turns_fleet(uint32_t estimate, uint32_t hellos, uint32_t boots)
{
    uint32_t fleet = hellos < TURNS_HELLOS_MIN ? 1 : estimate;

    if (boots > fleet)
        fleet = boots;
    return hellos < TURNS_HELLOS_MIN && fleet < TURNS_CROWD ? 1 : fleet;
}

/* Without a splay the later ranks need one all the same, or all of the fleet would ask at once. */
static int64_t scale_of(int64_t splay_ms, int64_t next_ms)
{
    if (splay_ms > 0)
        return splay_ms;
    return next_ms / 4 < SECOND_MS ? next_ms / 4 : SECOND_MS;
}

int64_t turns_ranked_ms(uint32_t fleet, int64_t splay_ms, int64_t next_ms, uint64_t random)
{
    /* Of the random bits the upper half is the rank, in units of CURVE_ONE; the lower half leads in
     * the delay's, so that one does not tell the other. */
    uint32_t ranks = fleet < TURNS_FLEET_MAX ? fleet : TURNS_FLEET_MAX;
    int64_t beyond = (int64_t)((random >> 32) * ranks) - TURNS_RANKS * CURVE_ONE;
    int64_t delay;

    if (beyond < 0)
        return turns_delay_ms(fleet, splay_ms, random << 32 | random >> 32);
    delay = curve_grow_ms(scale_of(splay_ms, next_ms), TURNS_GROWTH * beyond);
    return delay < next_ms ? delay : -1;
}

int64_t turns_seats_spread_ms(uint32_t fleet, const struct job_spec *spec)
{
    int64_t splay = splay_of(fleet, spec->splay_ms);
    int64_t most = schedule_period_ms(&spec->schedule) / 2;
    int64_t rounds = ((int64_t)fleet + spec->concurrency - 1) / spec->concurrency;
    int64_t serving;

    if (rounds <= 1)
        return splay;
    serving =
        spec->timing.worst_case_ms > most / rounds ? most : rounds * spec->timing.worst_case_ms;
    return serving > splay ? serving : splay;
}

int64_t turns_watch_ms(uint32_t place, int64_t left_ms, int64_t lease_ms, int renewed,
                       uint32_t asks)
{
    if (left_ms < 0) /* a foreign holder without expiry: PROTOCOL rule 13 */
        return lease_ms;
    if (place <= TURNS_WATCHERS)
        return left_ms + 1;
    if (!renewed)
        return -1;
    if (asks > TURNS_DOUBLINGS_MAX - 1)
        asks = TURNS_DOUBLINGS_MAX - 1;
    return lease_ms << (asks + 1);
}
