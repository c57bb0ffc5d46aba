/* SPDX-License-Identifier: MIT
 * rotactl/fleet_confs.h: which configurations the devices of a fleet have, and of which jobs: the
 * lines of core/fleet_text.h. */
#ifndef ROTA_ROTACTL_FLEET_CONFS_H
#define ROTA_ROTACTL_FLEET_CONFS_H
#include "rotactl/fleet_devices.h"

/* A job in one of them. Texts are parts of `text`. */
struct fleet_line {
    char *text;
    const char *key, *fingerprint, *kind, *schedule; /* schedule: of another line; or NULL */
    const char *digest;
    size_t devices; /* that are there, with that digest */
};

/* Zeroed at first. */
struct fleet_confs {
    struct fleet_tally *digests;
    size_t digest_count;
    struct fleet_line *lines; /* in order of key, then of fingerprint */
    size_t count;
    struct fleet_conf *confs; /* of each key and fingerprint one, in the same order */
    size_t conf_count;
    bool whole; /* all of them are known, so a job that none has is retired */
};

/* 0; or an exit status, with a line. */
int fleet_confs_ask(struct call *c, struct kept *k, const struct fleet_devices *d,
                    struct fleet_confs *f);
void fleet_confs_done(struct fleet_confs *f);
/* Those of one job: the first of them, and how many there are. */
size_t fleet_confs_find(const struct fleet_confs *f, const char *key,
                        const struct fleet_conf **ret_first);
/* Whether the device has that job in its configuration. */
bool fleet_confs_has(const struct fleet_confs *f, const char *key, const char *digest);
#endif
