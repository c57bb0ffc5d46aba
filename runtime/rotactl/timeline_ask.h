/* SPDX-License-Identifier: MIT
 * rotactl/timeline_ask.h: what the picture shows, asked of a running rotad, which asks Redis. Of
 * each job that is its last 100 runs in the whole fleet, and the one under way. */
#ifndef ROTA_ROTACTL_TIMELINE_ASK_H
#define ROTA_ROTACTL_TIMELINE_ASK_H
#include "rotactl/call.h"
#include "rotactl/timeline/runs.h"
#include "rotactl/timeline/timeline_view.h"

/* Adds the runs of the jobs, until NULL; where there is none in the list, those of all jobs of the
 * fleet and of this device. runs->now becomes the server's time. 0; or an exit status, with a line.
 */
int timeline_ask_runs(struct call *c, const char *const *jobs, struct runs *runs);
/* Adds when those of the jobs that this device knows were due within the query's times, by their
 * schedules of today: not before the oldest run that is known, nor, unless the query goes on, after
 * its now. 0; or an exit status, with a line. */
int timeline_ask_dues(struct call *c, const struct timeline_query *query, struct runs *runs);
#endif
