/* SPDX-License-Identifier: MIT
 * supervisor/control_metrics.h: what rotad tells a monitor, as text (base/openmetrics.h): at
 * people's request, and in metrics_file. */
#ifndef ROTA_SUPERVISOR_CONTROL_METRICS_H
#define ROTA_SUPERVISOR_CONTROL_METRICS_H
#include "base/openmetrics.h"
#include "supervisor/control_internal.h"

struct manager;

/* control_metrics.c: all of it, as it is now. What cannot be read is left out. */
void control_metrics_write(const struct openmetrics *o, const struct manager *m);

/* control_metrics_jobs.c: of each job; only what is asked for by control_metrics_write(). */
void control_metrics_write_jobs(const struct openmetrics *o, const struct manager *m,
                                struct boot now);

/* control_metrics_file.c: writes metrics_file soon, at most once a minute; deletes the one that the
 * configuration does not name any more. */
void control_metrics_file_changed(struct control *c);
/* Deletes what was written. */
void control_metrics_file_done(struct control *c);
#endif
