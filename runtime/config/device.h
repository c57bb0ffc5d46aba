/* SPDX-License-Identifier: MIT
 * config/device.h: this device's name. */
#ifndef ROTA_CONFIG_DEVICE_H
#define ROTA_CONFIG_DEVICE_H
#include "config/reading.h"

/* Where the keys of the name stand; 0: not written. */
struct device_lines {
    int device, device_file;
};

/* Sets config->device: from the first line of config->device_file, or from config->device, a
 * template with %H, %m, %b and %%. The machine-id itself never shows: its digits here are a hash of
 * it. With a root, what only the device itself knows is left open (device_open). */
void device_settle(struct reading *r, const struct device_lines *lines);
/* Whether the name matches one of the patterns; NULL: every name does. */
bool device_is_meant(char *const *patterns, const char *name);
#endif
