/* SPDX-License-Identifier: MIT
 * core/fault.h: the classes of what can go wrong between a device and its store, and what the core
 * does about each. redis/fault.c says which reply and which errno is of which class.
 *
 *   class     acquire         renew               finish           the connection
 *   link      the same token, as soon as a connection is there      lost
 *   alien     the same                                              closed, the next address
 *   busy      soon            soon, in L/12       soon              kept, or the same address
 *   storage   slowly          soon, in L/12       slowly            kept
 *   replica   soon            soon, in L/12       soon              closed, the next address
 *   clock     soon            soon, in L/12       soon              closed, the same address
 *   operator  slowly          soon, in L/12       slowly            kept, or closed
 *   unknown   slowly          soon, in L/12       slowly            kept
 *   ours      soon            soon, in L/12       soon              kept
 *
 * Soon: asked again, or repeated, in windows of 500 ms up to 1 min; slowly: 5 s up to 5 min. A
 * renewal has no window longer than a twelfth of its lease.
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
    FAULT_CLOCK,    /* by this device's clock the server's certificate is not valid yet */
    FAULT_OPERATOR, /* a setting is wrong, here or there */
    FAULT_UNKNOWN,  /* an error that rota does not know */
    FAULT_OURS,     /* the command was never sent: memory is short, or it is too long */
    FAULT_COUNT
} __attribute__((packed));

/* "storage", ...: for the journal's debug lines. */
const char *fault_name(enum fault fault);
/* Nothing is out of order with this job alone: one line says it for all of them. */
bool fault_is_shared(enum fault fault);
/* Sets the windows of the class; what was counted stays. With `limit_ms` > 0 no window is longer.
 */
void fault_set_windows(enum fault fault, int64_t limit_ms, struct backoff *b);
#endif
