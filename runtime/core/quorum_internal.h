/* SPDX-License-Identifier: MIT
 * core/quorum_internal.h: the votes of a round, as quorum.c and quorum_acquire.c share them. */
#ifndef ROTA_CORE_QUORUM_INTERNAL_H
#define ROTA_CORE_QUORUM_INTERNAL_H
#include "core/quorum.h"

/* The words that settle a turn stand in the order in which they win over each other. */
enum vote {
    VOTE_ABSENT, /* not asked */
    VOTE_OUT,
    VOTE_FAILED, /* an error: nothing was changed */
    VOTE_MISSED, /* sent, and no whole reply */
    VOTE_YES,    /* granted, renewed, recorded, answered */
    VOTE_SPARE,  /* granted, and settled since */
    VOTE_LOST,   /* renew */
    VOTE_HELD,
    VOTE_WAIT,
    VOTE_EARLY,
    VOTE_BEHIND, /* early, by so much that its clock is wrong, unless most say so */
    VOTE_NEWER,
    VOTE_OUTDATED,
    VOTE_MISMATCH,
    VOTE_DONE,
    VOTE_EXHAUSTED,
    VOTE_PAUSED,
    VOTE_PASSED,
    VOTE_OVER,
    VOTE_COUNT
};

enum vote_flag {
    VOTE_RENEWED = 1, /* not taken back */
    VOTE_WAS_HELD = 2,
    VOTE_GAVE_UP = 4,
    VOTE_STOPPED = 8,
    VOTE_FIRST = 16, /* exhausted: found out by this question */
    VOTE_WANTED = 32
};

struct tally {
    unsigned of[VOTE_COUNT];
    unsigned majority;
};

/* So many votes have the flag. */
unsigned quorum_flags(const struct quorum_round *r, enum vote_flag flag);
/* Too few votes: what failed, for the owner. Always true. */
bool quorum_fails(const struct quorum_round *r, struct store_reply *ret_reply);

/* Of one answer to acquire. */
void quorum_acquire_vote(struct quorum_round *r, struct quorum_vote *v,
                         const struct store_reply *reply);
/* False: the answers that are out may change it. *ret_reply is a copy of `reply` at first. */
bool quorum_acquire_decide(struct quorum_round *r, struct tally *t, const struct store_reply *reply,
                           struct store_reply *ret_reply);
#endif
