/* SPDX-License-Identifier: MIT
 * rotactl/timeline/timeline_parts.h: what timeline_view.c is made of, and nobody else's. */
#ifndef ROTA_ROTACTL_TIMELINE_PARTS_H
#define ROTA_ROTACTL_TIMELINE_PARTS_H
#include "rotactl/timeline/timeline_view.h"

/* Below 0, 0, above 0: as a before b. Names by the numbers in them, gate-9 before gate-10; only
 * equal ones are 0. Not strverscmp(), which not every C library makes an order. */
int timeline_order_names(const char *a, const char *b);
int timeline_order_numbers(int64_t a, int64_t b);

bool timeline_view_chooses(const struct timeline_query *query, const char *job);

/* t->dues and t->missed, and each job's part of them, from t->job, which has room for all jobs and
 * in which all are, by name, and from t->runs, which has all runs by job and turn. -ENOMEM. */
int timeline_due_find(struct timeline *t, const struct runs *runs,
                      const struct timeline_query *query, size_t run_count);

/* t->lanes, and each job's part of them and of t->runs, which has the span's runs by job, device
 * and start; t->job as above. -ENOMEM. */
int timeline_lanes_find(struct timeline *t, size_t run_count);
/* Who took over from whom, in t->runs, which have their lanes; t->takeovers. -ENOMEM. */
int timeline_takeover_find(struct timeline *t, size_t run_count);
#endif
