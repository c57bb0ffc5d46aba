/* SPDX-License-Identifier: MIT
 * rotactl/word.h: the words behind a command. */
#ifndef ROTA_ROTACTL_WORD_H
#define ROTA_ROTACTL_WORD_H
#include "rotactl/options.h"

/* The one job that `command` is about. 0; or EX_USAGE, with a line, where there is none, or more.
 */
int word_job(const struct request *r, const char *command, const char **ret_job);
/* The line that this device has no such job, and EX_USAGE. */
int word_say_no_job(const char *job);
/* The time behind an option, in milliseconds; where it was not given, *ret_ms stays. 0; or
 * EX_USAGE, with a line. */
int word_time(const struct request *r, enum option_id option, int64_t *ret_ms);
/* The line that it is none, and EX_USAGE. */
int word_say_no_time(const struct request *r, enum option_id option);
#endif
