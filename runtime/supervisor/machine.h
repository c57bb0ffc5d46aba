/* SPDX-License-Identifier: MIT
 * supervisor/machine.h: what tells this machine from every other of the fleet, and this boot from
 * the one before: core/store.h's `device` and `boot`. */
#ifndef ROTA_SUPERVISOR_MACHINE_H
#define ROTA_SUPERVISOR_MACHINE_H
#include "config/identity.h"
#include "core/fingerprint.h"
#include "core/spec.h"

struct machine {
    char name[DEVICE_NAME_MAX + 1 + FINGERPRINT_SIZE];
    char boot[IDENTITY_SIZE];
};

/* The device's name, and behind a colon 8 digits made of the machine-id, so that two devices of one
 * name are two. Where there is no machine-id that stays, the name alone. `device` has no blanks. */
void machine_read(const char *device, struct machine *ret_machine);
#endif
