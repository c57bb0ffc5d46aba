/* SPDX-License-Identifier: MIT
 * config/device.h: this device's name. */
#ifndef ROTA_CONFIG_DEVICE_H
#define ROTA_CONFIG_DEVICE_H
#include "config/reading.h"

/* Replaces config->device, a template with %H, %m, %b and %%, by the name. `line`: where it stands;
 * 0: it is the default. The machine-id itself never shows: its digits here are a hash of it. */
void device_expand(struct reading *r, int line);
#endif
