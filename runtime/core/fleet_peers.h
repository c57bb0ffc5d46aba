/* SPDX-License-Identifier: MIT
 * core/fleet_peers.h: the other configurations in use in the fleet: this device's own is told where
 * the store lacks it, and each of the others is read once, for what it has otherwise (DESIGN
 * section 5, "Two versions in one fleet"). Of a text only the verdict on each job is kept. */
#ifndef ROTA_CORE_FLEET_PEERS_H
#define ROTA_CORE_FLEET_PEERS_H
#include "core/fingerprint.h"
#include "core/port.h"

struct fleet;

struct fleet_peer {
    char digest[FINGERPRINT_SIZE]; /* "": none */
    bool read;
};

struct fleet_peers {
    struct store_call call;
    bool out;    /* a call is on its way */
    bool wanted; /* the store has no text of this device's configuration */
    struct fleet_peer peers[STORE_HELLO_OTHERS_MAX];
    char asked[FINGERPRINT_SIZE]; /* whose text is on its way */
    char *text;                   /* this device's own while it is told; kept by the port */
};

void fleet_peers_init(struct fleet *f);
void fleet_peers_done(struct fleet *f);
/* Hello has told which configurations are in use. */
void fleet_peers_heard(struct fleet *f, const struct store_reply *reply);
/* A job is new: what was read of others was not about it. They are read again after the next hello.
 */
void fleet_peers_forget(struct fleet *f);
#endif
