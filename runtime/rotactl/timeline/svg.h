/* SPDX-License-Identifier: MIT
 * rotactl/timeline/svg.h: the picture as one SVG that needs nothing else: no script, no reference
 * to the outside, fonts by family; light or dark as its reader wishes. */
#ifndef ROTA_ROTACTL_SVG_H
#define ROTA_ROTACTL_SVG_H
#include "rotactl/timeline/timeline_view.h"
#include <stdio.h>

/* Pixels. */
#define SVG_WIDTH 1200
#define SVG_WIDTH_LEAST 480
#define SVG_WIDTH_MOST 2000

/* `width`: within the bounds. Whether all could be written, `out` knows. */
void svg_write(FILE *out, const struct timeline *view, int width);
#endif
