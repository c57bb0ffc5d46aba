/* SPDX-License-Identifier: MIT
 * rotactl/timeline/chart.h: the picture in characters, for a terminal. */
#ifndef ROTA_ROTACTL_CHART_H
#define ROTA_ROTACTL_CHART_H
#include "rotactl/timeline/timeline_view.h"
#include <stdio.h>

#define CHART_COLUMNS 80
#define CHART_COLUMNS_LEAST 40
#define CHART_COLUMNS_MOST 1000

struct chart_options {
    int columns; /* within the bounds */
    bool utf8;   /* else ASCII; names are measured by the locale that is set */
    bool colour;
};

/* -ENOMEM. Whether all could be written, `out` knows. */
int chart_write(FILE *out, const struct timeline *view, const struct chart_options *options);
#endif
