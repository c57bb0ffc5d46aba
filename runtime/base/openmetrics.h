/* SPDX-License-Identifier: MIT
 * base/openmetrics.h: numbers as Prometheus and its like read them, in one of two ways to write the
 * same.
 *
 * In Prometheus's text format 0.0.4, which node_exporter's textfile collector and promtool read, a
 * counter's HELP and TYPE name its samples, NAME_total; in OpenMetrics 1.0 they name the family,
 * NAME, and a text that does the former is refused. All else is the same: UNIT and EOF are comments
 * to those that do not know them. */
#ifndef ROTA_BASE_OPENMETRICS_H
#define ROTA_BASE_OPENMETRICS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OPENMETRICS_LABELS_MAX 3

struct openmetrics {
    FILE *out;   /* whether it could be written is its owner's to see */
    bool strict; /* OpenMetrics 1.0 to the letter */
};

/* What samples of one name have in common. Constants. */
struct openmetrics_family {
    const char *name; /* without _total; its end is the unit */
    const char *unit; /* or NULL */
    const char *help; /* one sentence, without a backslash */
    bool counts;      /* a counter; else a gauge */
    bool in_ms;       /* of its values, which are written in seconds */
};

struct openmetrics_label {
    const char *name;
    const char *value; /* any text; what no line may hold is escaped. NULL: no label */
};

struct openmetrics_sample {
    struct openmetrics_label labels[OPENMETRICS_LABELS_MAX];
    int64_t value;
};

/* A family's samples follow its head, and no other's stand between. */
void openmetrics_head(const struct openmetrics *o, const struct openmetrics_family *f);
void openmetrics_sample(const struct openmetrics *o, const struct openmetrics_family *f,
                        const struct openmetrics_sample *s);
/* One sample without labels, and its family's head. */
void openmetrics_alone(const struct openmetrics *o, const struct openmetrics_family *f,
                       int64_t value);
/* Behind all others. */
void openmetrics_end(const struct openmetrics *o);
#endif
