/* SPDX-License-Identifier: MIT
 * rotactl/fleet_devices.h: the devices of a fleet, as Redis has heard of them. */
#ifndef ROTA_ROTACTL_FLEET_DEVICES_H
#define ROTA_ROTACTL_FLEET_DEVICES_H
#include "rotactl/fleet_pages.h"
#include "rotactl/fleet_view.h"

struct fleet_device {
    const char *name, *version, *digest; /* the digest of its configuration; "": it has none */
    int64_t heard;
    bool there;
};

/* Zeroed at first. */
struct fleet_devices {
    struct fleet_device *items; /* in order of name */
    size_t count, there;
    int64_t now_ms;
};

/* 0; or an exit status, with a line. */
int fleet_devices_ask(struct call *c, struct kept *k, struct fleet_devices *d);
void fleet_devices_done(struct fleet_devices *d);
/* Of those that are there: each text that `of` gives of one, but "", with how many have it; the
 * commonest first. 0 or -ENOMEM; *ret is the caller's to free. */
int fleet_devices_tally(const struct fleet_devices *d,
                        const char *(*of)(const struct fleet_device *device),
                        struct fleet_tally **ret, size_t *ret_count);
#endif
