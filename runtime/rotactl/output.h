/* SPDX-License-Identifier: MIT
 * rotactl/output.h: how what rotad says reaches the terminal. It may come from Redis, a plugin or a
 * file, so nothing of it is printed as it is. */
#ifndef ROTA_ROTACTL_OUTPUT_H
#define ROTA_ROTACTL_OUTPUT_H
#include <stdio.h>

/* Escaped, and cut after 4,000 bytes. */
void output_text(FILE *out, const char *text);
/* As a string of JSON, in its quotes. `text` is UTF-8, as all that comes by D-Bus. */
void output_json(FILE *out, const char *text);
#endif
