/* SPDX-License-Identifier: MIT
 * core/memory_internal.h: what the files of the in-memory store share. memory_acquire.c is
 * acquire.lua, memory_run.c is renew.lua and finish.lua; memory_seat_acquire.c and
 * memory_seat_run.c are the scripts of these names, and memory_seats.c has the lists that they work
 * on; memory_fleet.c is hello.lua and its like, with its configurations in memory_confs.c;
 * memory.c has pause.lua, resume.lua and what is common to all. */
#ifndef ROTA_CORE_MEMORY_INTERNAL_H
#define ROTA_CORE_MEMORY_INTERNAL_H
#include "core/memory_fleet.h"
#include "core/memory_seats.h"

/* A wait for every schedule. */
#define MEMORY_ANY_PRINT "*"

/* No end: what never expires. */
#define MEMORY_FOREVER ((struct wall){ INT64_MAX })

/* The later one. */
struct wall memory_later(struct wall a, struct wall b);
/* A record beyond this lies more than one turn in the store's future (rule 8). */
struct wall memory_turn_ahead(const struct store_request *request, struct wall now);
/* An answer with nothing in it yet but the time; `sent` and `received` stay. */
void memory_begin_reply(struct wall now, struct store_reply *ret_reply);
/* The answer where an array of the caller's does not last. */
void memory_no_room(struct store_reply *reply);

/* Looks like a device's, not like another program's. */
bool memory_is_token(const char *value);
/* The time left as PTTL tells it: -1 without end. Only of a lock that is held. */
int64_t memory_lock_left_ms(const struct memory_lock *lock, struct wall now);
/* Held by `token` up to `until`, whoever held it. */
void memory_lock_set(struct memory_lock *lock, const char *token, struct wall until);
/* `state` as the scripts write it; "" without a record. */
const char *memory_state_word(enum memory_state state, enum outcome outcome);
/* The pause's text; "": not paused. */
const char *memory_paused(const struct memory_claim *r);
/* The pause's time left as PTTL tells it: -1 without end. Only where it is paused. */
int64_t memory_pause_left_ms(const struct memory_claim *r, struct wall now);
/* An acquire's answer, of a turn or of the time that is left. True, for it is one. */
bool memory_say_turn(struct store_reply *reply, enum acquire_answer answer, struct wall turn,
                     const char *why);
bool memory_say_left(struct store_reply *reply, enum acquire_answer answer, int64_t left_ms,
                     const char *why);
/* Says in the reply whose the claim is, where it is another configuration's than the asking one's:
 * its print, and `by`. */
void memory_tell_print(const struct memory_claim *r, const struct job_spec *spec, const char *by,
                       struct store_reply *reply);
/* Of an acquire's answer: those that are not the claim's leave it out. */
void memory_untell_print(struct store_reply *reply);
/* Of an acquire, where the job's record is not for this device to change: a newer layout, or a
 * higher version. True where that gave the answer. */
bool memory_is_newer(const struct memory_claim *r, struct store_reply *reply);
bool memory_is_outdated(const struct memory_claim *r, const struct job_spec *spec,
                        struct store_reply *reply);
/* How many tries of its turn were granted; one that was given back was. */
uint32_t memory_tries(enum memory_state state, enum outcome outcome, uint32_t attempt);
/* The retention starts anew. */
void memory_keep(struct memory_claim *r, struct wall now, const struct job_spec *spec);

/* The newest four are kept, the newest first. */
void memory_remember_schedule(struct memory_claim *r, const char *print);
void memory_remember_sight(struct memory_claim *r, const struct memory_sight *sight);
/* A record of `turn` with no attempt, and nothing to wait for, by this configuration. */
void memory_begin(struct memory_claim *r, struct wall turn, enum memory_state state,
                  const struct job_spec *spec);

/* The scripts of these names; *reply is all zero but for what every answer has. */
void memory_acquire(struct memory_claim *r, struct wall now, const struct store_request *request,
                    struct store_reply *reply);
void memory_renew(struct memory_claim *r, struct wall now, const struct store_request *request,
                  struct store_reply *reply);
void memory_finish(struct memory_claim *r, struct wall now, const struct store_request *request,
                   struct store_reply *reply);
void memory_seat_acquire(struct memory_claim *r, struct wall now,
                         const struct store_request *request, struct store_reply *reply);
void memory_seat_renew(struct memory_claim *r, struct wall now, const struct store_request *request,
                       struct store_reply *reply);
void memory_seat_finish(struct memory_claim *r, struct wall now,
                        const struct store_request *request, struct store_reply *reply);

/* --- seats --- */

/* What has expired as a whole by now, as its key has. */
void memory_seats_expire(struct memory_seats *s, struct wall now);
void memory_devices_expire(struct memory_seats *s, struct wall now);
void memory_queue_expire(struct memory_seats *s, struct wall now);
/* When the seat of that name ends; 0: there is none. */
struct wall memory_seats_find(const struct memory_seats *s, const char *who);
/* So many are taken at `now`: the last ones of the list. */
uint32_t memory_seats_taken(const struct memory_seats *s, struct wall now);
/* The request's token has a seat for its time to live, and the list lives for the retention longer
 * than any. False where there is no room: then nothing was changed. */
bool memory_seats_sit(struct memory_seats *s, struct wall now, const struct store_request *request);
/* Taken up to then; the list's own end stays, as long as it has one. False where there is no room.
 */
bool memory_seats_put(struct memory_seats *s, const char *who, struct wall until);
void memory_seats_remove(struct memory_seats *s, const char *who);
/* None is taken beyond that. */
void memory_seats_cut(struct memory_seats *s, struct wall most);
/* Those that are over are gone. */
void memory_seats_drop_over(struct memory_seats *s, struct wall now);
/* The device's entry, without a record where there was none. NULL where there is no room. */
struct memory_device *memory_seats_device(struct memory_seats *s, const char *name);
struct memory_table memory_seats_table(struct memory_seats *s);
/* Devices that are no more are forgotten, two looked at each time; never `self`. */
void memory_seats_forget_old(struct memory_seats *s, const struct memory_device *self,
                             struct wall now, int64_t retention_ms);
/* Its record is gone; its place in the queue stays. */
void memory_device_forget(struct memory_device *d);
/* The record is kept, and the list as a whole for the retention. */
void memory_device_keep(struct memory_seats *s, struct memory_device *d, struct wall now,
                        int64_t retention_ms);
/* Its place in the queue, from 0; the queue's length where it is not there. */
uint32_t memory_queue_place(const struct memory_seats *s, const struct memory_device *d);
struct memory_device *memory_queue_at(const struct memory_seats *s, uint32_t place);
/* Behind those that came before, where it is not there yet. */
void memory_queue_join(struct memory_seats *s, struct memory_device *d, struct wall now);
void memory_queue_leave(struct memory_seats *s, struct memory_device *d);
/* The first two that were told to ask more than patience_ms ago are dropped; never `self`. */
void memory_queue_drop_heads(struct memory_seats *s, const struct memory_device *self,
                             struct wall now, int64_t patience_ms, int64_t retention_ms);
/* One more failure in a row was that of `token`: at the limit (0: there is none) the job is paused
 * without end, which it says how. True where this did it. */
bool memory_brake(struct memory_claim *r, uint32_t limit, const char *token, const char *how);

/* --- the fleet --- */

/* The tables of the two lists that hello prunes. */
struct memory_table memory_fleet_devices(struct memory_fleet *f);
struct memory_table memory_fleet_jobs(struct memory_fleet *f);

/* All that hello looks at. */
void memory_fleet_expire(struct memory_fleet *f, struct wall now);
void memory_confs_expire_texts(struct memory_fleet *f, struct wall now);
/* The list, and the texts, which live no longer. */
void memory_confs_expire(struct memory_fleet *f, struct wall now);
bool memory_confs_have_text(const struct memory_fleet *f, const char *digest);
/* Full of such as are in use, the store takes no more. */
bool memory_confs_have_room(const struct memory_fleet *f, struct wall now, int64_t used_ms);
/* None was seen in the future: else the clock was set back. */
void memory_confs_cut(struct memory_fleet *f, struct wall now);
/* Whether nobody else was heard of with it since a device said so that has another now. */
bool memory_confs_is_left(const struct memory_fleet *f, const char *former, struct wall heard);
void memory_confs_list(struct memory_fleet *f, struct wall now, const struct store_request *request,
                       const char *former, struct store_reply *reply);
/* What a hello does to them; `known`: its own has a text; `former`: it is in use no more, "": none.
 */
void memory_confs_refresh(struct memory_fleet *f, struct wall now,
                          const struct store_request *request, bool known, const char *former);
void memory_confs_get(const struct memory_fleet *f, const struct store_request *request,
                      struct store_reply *reply);
void memory_confs_put(struct memory_fleet *f, struct wall now, const struct store_request *request,
                      struct store_reply *reply);
#endif
