/* SPDX-License-Identifier: MIT
 * config/fleet_summary.h: what this configuration tells the fleet of its jobs: a digest with each
 * hello, and the text behind it where the store has none yet. core/fleet_text.h has the lines. */
#ifndef ROTA_CONFIG_FLEET_SUMMARY_H
#define ROTA_CONFIG_FLEET_SUMMARY_H
#include "config/config.h"

/* Both are about the jobs that are valid and enabled, in order of name, also those that are meant
 * for other devices: one conf file has one digest on all of them, but where a plugin is missing. */

/* Equal texts, equal digests; lines that the text has no room for count too. "" without jobs. */
void fleet_summary_digest(const struct config *c, char ret_digest[FINGERPRINT_SIZE]);
/* A heap string of at most STORE_CONFIG_TEXT_MAX bytes, to be freed; what is beyond is left out by
 * whole lines, first of when jobs are due. 0 or -ENOMEM. */
int fleet_summary_text(const struct config *c, char **ret_text);
#endif
