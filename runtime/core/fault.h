/* SPDX-License-Identifier: MIT
 * core/fault.h: the classes of what can go wrong between a device and its store, and what the core
 * does about each. redis/fault.c says which reply and which errno is of which class.
 *
 *   class      acquire               renew                   finish            the connection
 *   link       the same token, as soon as there is a connection: all three     lost; the next
 * address alien      as link                                                         closed; the
 * next address busy       asked again soon      repeated soon           repeated soon     kept, or
 * the same address storage    asked again slowly    repeated in L/12 at most   repeated slowly kept
 *   replica    asked again soon      repeated soon           repeated soon     closed; the next
 * address operator   asked again slowly    repeated in L/12 at most   repeated slowly   kept, or
 * closed unknown    asked again slowly    repeated in L/12 at most   repeated slowly   kept ours
 * asked again soon      repeated soon           repeated soon     kept
 *
 * None of them is ever counted as a turn that another device holds. */
#ifndef ROTA_CORE_FAULT_H
#define ROTA_CORE_FAULT_H
#include "core/backoff.h"
#include <stdbool.h>

enum fault {
    FAULT_NONE,
    FAULT_LINK,     /* sent, and no whole reply: the outcome is unknown */
    FAULT_ALIEN,    /* a reply that is not rota's: whatever answered, it is not believed; unknown */
    FAULT_BUSY,     /* passes by itself */
    FAULT_STORAGE,  /* writes are refused for want of memory or disk */
    FAULT_REPLICA,  /* this server does not write: another one does */
    FAULT_OPERATOR, /* a setting is wrong, here or there */
    FAULT_UNKNOWN,  /* an error that rota does not know */
    FAULT_OURS,     /* the command was never sent: memory is short, or it is too long */
    FAULT_COUNT
};

/* "storage", ...: for the journal's debug lines. */
const char *fault_name(enum fault fault);
/* Nothing is out of order with this job alone: one line says it for all of them. */
bool fault_is_shared(enum fault fault);
/* Sets the windows of the class; what was counted stays. With `limit_ms` > 0 no window is longer.
 */
void fault_set_windows(enum fault fault, int64_t limit_ms, struct backoff *b);
#endif
