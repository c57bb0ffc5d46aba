/* SPDX-License-Identifier: MIT
 * config/identity.h: the machine-id, and whether it stays. */
#ifndef ROTA_CONFIG_IDENTITY_H
#define ROTA_CONFIG_IDENTITY_H
#include <stddef.h>

enum identity {
    IDENTITY_STAYS,
    IDENTITY_ABSENT,    /* no file, an empty one, or "uninitialized" */
    IDENTITY_TRANSIENT, /* there, but new each boot */
};

#define IDENTITY_SIZE 64

/* The id in the file machine-id of the folder `etc`, its hexadecimal digits; "" where absent. */
enum identity identity_read(const char *etc, char ret_id[IDENTITY_SIZE]);
/* The boot's id in the same manner; "" where the kernel tells none. */
void identity_read_boot(char ret_id[IDENTITY_SIZE]);
#endif
