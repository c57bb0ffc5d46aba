/* SPDX-License-Identifier: MIT
 * core/slot.h: in which of Redis Cluster's slots a key is: CRC16 (XMODEM) of its hash tag modulo
 * SLOT_COUNT, as its specification says. */
#ifndef ROTA_CORE_SLOT_H
#define ROTA_CORE_SLOT_H
#include "core/spec.h"
#include <stdint.h>

#define SLOT_COUNT 16384
/* What all keys of the fleet itself have as their tag. */
#define SLOT_FLEET_TAG "_fleet"

/* A text without braces is its own tag. */
uint16_t slot_of_key(const char *key);
/* Of all keys of the job. */
uint16_t slot_of_job(const struct job_spec *spec);
#endif
