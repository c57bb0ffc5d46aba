/* SPDX-License-Identifier: MIT
 * ipc/setup.h: the part that START and PROBE have in common. Inside ipc only. */
#ifndef ROTA_IPC_SETUP_H
#define ROTA_IPC_SETUP_H
#include "ipc/messages.h"

/* Puts all but the user's five fields, which each message has among its own. */
void setup_put(struct frame *f, const struct message_setup *setup);
/* Fills what setup_put() wrote; what a peer of an earlier version did not say is as it was then. 0,
 * -EBADMSG or -ENOMEM, and then there is nothing to free. */
int setup_take(struct frame *f, struct message_setup *setup);
#endif
