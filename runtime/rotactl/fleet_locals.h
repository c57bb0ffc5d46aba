/* SPDX-License-Identifier: MIT
 * rotactl/fleet_locals.h: what this device's configuration adds to what Redis knows: jobs by their
 * present names, and how often each is tried. */
#ifndef ROTA_ROTACTL_FLEET_LOCALS_H
#define ROTA_ROTACTL_FLEET_LOCALS_H
#include "rotactl/fleet_confs.h"

struct fleet_local {
    const char *name, *fingerprint;
    const char *key; /* of its keys in Redis: the name, or the one that it had before (`was`) */
    int64_t attempts;
};

/* Zeroed at first. */
struct fleet_locals {
    const char *prefix, *address; /* of rotad */
    struct fleet_local *items;
    size_t count;
};

/* 0; or an exit status, with a line. */
int fleet_locals_ask(struct call *c, struct kept *k, struct fleet_locals *l);
void fleet_locals_done(struct fleet_locals *l);
/* Finds the keys of jobs that have been renamed. */
void fleet_locals_match(struct fleet_locals *l, const struct fleet_confs *f);
/* NULL: there is none here. */
const struct fleet_local *fleet_locals_by_key(const struct fleet_locals *l, const char *key);
const struct fleet_local *fleet_locals_by_name(const struct fleet_locals *l, const char *name);
#endif
