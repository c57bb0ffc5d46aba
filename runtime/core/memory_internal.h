/* SPDX-License-Identifier: MIT
 * core/memory_internal.h: what the files of the in-memory store share. memory_acquire.c is
 * acquire.lua, memory_run.c is renew.lua and finish.lua. */
#ifndef ROTA_CORE_MEMORY_INTERNAL_H
#define ROTA_CORE_MEMORY_INTERNAL_H
#include "core/memory.h"

/* The time left as PTTL tells it: -1 without end. Only of a lock that is held. */
int64_t memory_lock_left_ms(const struct memory_lock *lock, struct wall now);
/* Held by `token` up to `until`, whoever held it. */
void memory_lock_set(struct memory_lock *lock, const char *token, struct wall until);
/* The record's `state` as the scripts write it; "" without a record. */
const char *memory_state_word(const struct memory_record *r);
/* The retention starts anew. */
void memory_keep(struct memory_record *r, struct wall now, const struct job_spec *spec);

/* The newest four are kept, the newest first. */
void memory_remember_schedule(struct memory_record *r, const char *print);
/* A record of `turn` with no attempt, and nothing to wait for. */
void memory_begin(struct memory_record *r, struct wall turn, enum memory_state state,
                  const char *print);

/* The scripts of these names; *reply is all zero but for what every answer has. */
void memory_acquire(struct memory_record *r, struct wall now, const struct store_request *request,
                    struct store_reply *reply);
void memory_renew(struct memory_record *r, struct wall now, const struct store_request *request,
                  struct store_reply *reply);
void memory_finish(struct memory_record *r, struct wall now, const struct store_request *request,
                   struct store_reply *reply);
#endif
