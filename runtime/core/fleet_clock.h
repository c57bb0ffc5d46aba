/* SPDX-License-Identifier: MIT
 * core/fleet_clock.h: fleet time, Redis's clock as estimated here and carried on by CLOCK_BOOTTIME.
 *
 * A sample is a reply that carries the server's time: the server read its clock at the midpoint of
 * sending and receiving, give or take half the round trip. The sample with the smallest error wins,
 * where an old one's error grows by 200 ppm of its age (DESIGN section 6). */
#ifndef ROTA_CORE_FLEET_CLOCK_H
#define ROTA_CORE_FLEET_CLOCK_H
#include "base/time.h"

struct fleet_clock {
    bool known;
    int64_t offset_ms; /* wall = boot + offset */
    int64_t error_ms;  /* at `taken` */
    struct boot taken; /* the sending: the server's reading may be as old as that */
};

/* Takes a sample. Returns by how many ms fleet time has moved at `received` against what was
 * believed just before (0 where the sample was not better, or is the first). A sample that
 * contradicts the estimate (the two error intervals do not meet) wins whatever its error: the
 * server's clock has jumped. */
int64_t fleet_clock_sample(struct fleet_clock *c, struct boot sent, struct boot received,
                           struct wall server);
/* Fleet time at `now`. Only where known. */
struct wall fleet_clock_at(const struct fleet_clock *c, struct boot now);
/* The boot instant at which fleet time reaches `at`. Only where known. */
struct boot fleet_clock_when(const struct fleet_clock *c, struct wall at);
/* The estimate's error at `now`, in ms. */
int64_t fleet_clock_error_ms(const struct fleet_clock *c, struct boot now);
#endif
