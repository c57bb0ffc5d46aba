/* SPDX-License-Identifier: MIT
 * sim/tally.h: what happened in a play, in numbers. */
#ifndef ROTA_SIM_TALLY_H
#define ROTA_SIM_TALLY_H
#include "plan.h"

/* Counted, shown at the end, and by these a test sees that a play was about something. The last
 * three are what DESIGN names as not covered. */
#define TALLY(X)                                                                                   \
    X(events, "events")                                                                            \
    X(commands, "commands to the store")                                                           \
    X(connects, "connections")                                                                     \
    X(mishaps, "mishaps")                                                                          \
    X(starts, "runs")                                                                              \
    X(successes, "successes recorded")                                                             \
    X(failures, "failures recorded")                                                               \
    X(crashes, "runs that crashed")                                                                \
    X(overruns, "runs that took too long")                                                         \
    X(lost, "runs that lost their lease")                                                          \
    X(declined, "runs that were declined")                                                         \
    X(unstarted, "grants that were given back")                                                    \
    X(unanswered, "requests without an answer")                                                    \
    X(same_names, "fleets with devices of one name")                                               \
    X(rollouts, "fleets with two configurations")                                                  \
    X(queued, "questions that found no seat")                                                      \
    X(reboots, "runs that rebooted their device")                                                  \
    X(brakes, "jobs that were stopped by their failures")                                          \
    X(resumed, "jobs that were resumed")                                                           \
    X(alone, "runs without the store")                                                             \
    X(extended, "runs beyond their worst case, by progress")                                       \
    X(by_hand, "runs that were asked for by hand")                                                 \
    X(mixed, "devices that saw the other configuration")                                           \
    X(mismatches, "devices that saw the other scope")                                              \
    X(apart, "devices that saw the other lock")                                                    \
    X(outdated, "devices that stood aside for a higher version")                                   \
    X(newer, "devices that stood aside for a newer rota")                                          \
    X(takeovers, "takeovers")                                                                      \
    X(takeovers_due, "takeovers demanded of a watcher")                                            \
    X(regained, "leases taken back after a loss of data")                                          \
    X(again_after_loss, "turns run again: a clock was set back, or most of a quorum lost data")    \
    X(overlap_excused, "runs beside another: leases were lost")                                    \
    X(lease_excused, "runs past their lease: the clock was set forward")                           \
    X(quorums, "fleets with a quorum of servers")                                                  \
    X(splits, "questions that split a quorum")                                                     \
    X(quorum_excused, "runs that most servers of a quorum knew of no more: too many lost data")
#define TALLY_MEMBER(name, text) uint64_t name;

struct tally {
    TALLY(TALLY_MEMBER)
    uint64_t played[MISHAP_COUNT];
    int64_t device_ms;
};
#endif
