/* SPDX-License-Identifier: MIT
 * rotactl/output.h: how what rotad says reaches the terminal. It may come from Redis, a plugin or a
 * file, so nothing of it is printed as it is. */
#ifndef ROTA_ROTACTL_OUTPUT_H
#define ROTA_ROTACTL_OUTPUT_H
#include <stdio.h>

/* Escaped, and cut after 4,000 bytes. */
void output_text(FILE *out, const char *text);
/* The same on a monitor's line, in which what stands behind a '|' is data. */
void output_monitor(FILE *out, const char *text);
/* As a string of JSON, in its quotes. What comes by D-Bus is UTF-8; of a file, a byte that is none
 * becomes U+FFFD. */
void output_json(FILE *out, const char *text);
/* What is said on stderr from now on is on standard output: a monitor reads that alone. */
void output_all_on_stdout(void);
/* The line that there is no memory, and EX_OSERR. */
int output_say_no_memory(void);
#endif
