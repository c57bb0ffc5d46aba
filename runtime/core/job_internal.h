/* SPDX-License-Identifier: MIT
 * core/job_internal.h: what job.c (the machine), job_tick.c (time), job_plan.c (which turns are
 * asked for, and when), job_lease.c and job_refused.c (what the store's answers mean) share. */
#ifndef ROTA_CORE_JOB_INTERNAL_H
#define ROTA_CORE_JOB_INTERNAL_H
#include "core/fleet_text.h"
#include "core/job.h"
#include "core/report.h"

extern const struct lease_ops job_lease_ops;

/* The one way to change the state. */
void job_happen(struct job *j, enum job_event event, struct boot now);
/* Sets the job's one timer by its state and its lease's: not before now, so that what a move of the
 * clock has made due does not look overdue. */
void job_rearm(struct job *j, struct boot now);
void job_report(struct job *j, const struct report *r);
/* Device scope: the failure that was told has paused the job in the whole fleet. */
void job_report_brake(struct job *j);
void job_report_illegal(struct job *j, const char *event);
/* The newest turn that is due; only where fleet time is known. */
struct wall job_latest_due(const struct job *j, struct boot now);
/* Whether `turn` is more than catch_up late. */
bool job_too_late(const struct job *j, struct boot now);
/* Sets j->at, by the turns that this device asks for. */
void job_plan(struct job *j, struct boot now);
/* Whether this device asks for a turn, which is due or the next; draws for it if need be. */
bool job_plan_asks(struct job *j, struct wall turn, struct boot now);
/* What was drawn for turns to come is drawn anew when it is next looked at. */
void job_plan_forget(struct job *j, struct boot now);
/* An answer to acquire: whose configuration the claim is of, and whether this device may run the
 * job beside it. */
void job_versions_heard(struct job *j, const struct store_reply *reply);
/* What another configuration, as its text has it, means for a job that has the same key. */
void job_versions_peer(struct job *j, const struct fleet_text_line *ours,
                       const struct fleet_text_line *theirs, struct boot now);
/* No other configuration that is known has another lock for it. */
void job_versions_alone(struct job *j, struct boot now);
/* The device has nothing to do any more with any turn up to this one. */
void job_settle_up_to(struct job *j, struct wall turn);
/* How many turns fell due after j->turn, up to `until`, by time that passed. */
int64_t job_count_since(const struct job *j, struct wall until);
/* The turn that is asked for from now on; where it is another one, nothing of the former counts. */
void job_aim_at(struct job *j, struct wall turn);
/* Puts how the run ended, with the detail as Redis gets it, into its lease, which has none yet. */
void job_keep_end(struct job *j, struct boot now, enum outcome outcome, const struct run_end *end,
                  const char *detail);
/* How many turns fell due during the run whose end is kept; counts those of them that have passed.
 */
int64_t job_count_meanwhile(struct job *j);
/* Keeps who holds the turn; NULL or "": nobody that is known. */
void job_keep_holder(struct job *j, const char *device);

/* job_alone.c; without run_unreachable none of these does anything. The job asks the shared store
 * for a turn, or tells it of one: plans when it goes on without. */
void job_alone_plan(struct job *j, struct boot now);
/* Where it is time to, goes on without. */
void job_alone_tick(struct job *j, struct boot now);
/* The job's time is known: turns that are due by now may have been granted to this device before it
 * was started, or the job was edited. They are left to the shared store. */
void job_alone_begin(struct job *j, struct boot now);
/* The shared store has granted j->turn. */
void job_alone_granted(struct job *j);
/* When either of the ticks has something to do. */
struct boot job_alone_wake(const struct job *j);
void job_alone_done(struct job *j);
/* What the lease's end says is owed to the shared store, in place of what was before. */
void job_owe(struct job *j);
/* The shared store is about to be asked: what is owed and waits for its back-off goes first ... */
void job_owed_urge(struct job *j);
/* ... and until that is recorded the job, which is in ASKING, asks nothing (PROTOCOL rule 14). */
bool job_owes(const struct job *j);
void job_owed_tick(struct job *j, struct boot now);

/* job_hand.c. The question that is out, or about to be, is one by hand. */
bool job_hand_asks(const struct job *j);
void job_hand_ask(struct job *j, struct boot now);
/* Which turn it is for: 0: one of its own. False: it is not wanted any more. */
bool job_hand_choose(struct job *j, struct boot now, struct wall *ret_turn);
/* The store's answer; NULL: none, and the question is not out. Told once. */
void job_hand_tell(struct job *j, const struct store_reply *reply);
/* The answer is no grant: true where the question was for a turn of its own, so that no turn of the
 * schedule is concerned. */
bool job_hand_refused(struct job *j, const struct store_reply *reply);
/* Whether nobody wants what was granted any more. */
bool job_hand_is_given_up(const struct job *j);
void job_hand_tick(struct job *j, struct boot now);
/* The job asks nothing any more. */
void job_hand_over(struct job *j);
/* Whether an operator has paused it here; then the newest turn that is due has passed. */
bool job_hand_pauses(struct job *j, struct boot now);

/* job_refused.c: the answer is no grant. */
void job_refused(struct lease *l, const struct store_reply *reply);
/* The job asks for its turn again in so many ms; the turn counts as planned for then. */
void job_ask_again(struct job *j, struct boot now, int64_t in_ms);
/* There is nothing more to do for this turn. */
void job_turn_is_settled(struct job *j, struct boot now, struct wall turn);
/* The answer is about this turn. */
void job_answered_turn(struct job *j, struct wall turn);
/* Whose lease it is. */
struct job *job_of_lease(struct lease *l);
#endif
