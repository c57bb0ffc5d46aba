/* SPDX-License-Identifier: MIT
 * guard/credential.h: systemd's credentials that a job's parameters name. They are rotad's to read,
 * so a worker reads them while it is still of rotad's user, and only those that are named. */
#ifndef ROTA_GUARD_CREDENTIAL_H
#define ROTA_GUARD_CREDENTIAL_H
#include "base/param.h"
#include <stddef.h>
#include <stdint.h>

/* Reads the first line of each file in `folder` (NULL: there is none) that a text among the run's
 * parameters names as "credential:NAME"; eight at most. `params` outlive it. */
void credential_read(const char *folder, const struct param_value *params, uint32_t count);

/* The line that the parameter `name` names, for as long as the process lives. NULL where its text
 * names no credential; or where there is none, which `why` says. */
const char *credential_of(const char *name, char *why, size_t size);
#endif
