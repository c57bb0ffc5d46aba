/* SPDX-License-Identifier: MIT
 * core/lease_internal.h: what lease.c (the machine) and lease_compose.c (what it sends) share. */
#ifndef ROTA_CORE_LEASE_INTERNAL_H
#define ROTA_CORE_LEASE_INTERNAL_H
#include "core/lease.h"
#include <stddef.h>

static inline struct lease *lease_of_call(struct store_call *call)
{
    return (struct lease *)((char *)call - offsetof(struct lease, call));
}

/* An event that no answer of the store has brought. */
void lease_happen(struct lease *l, enum lease_event event, struct boot now);
/* The lease's store_call.compose. */
bool lease_compose(struct store_call *call, struct boot now, struct store_request *ret_request);
#endif
