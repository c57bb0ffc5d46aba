/* SPDX-License-Identifier: MIT
 * core/quorum.h: one request put to several independent servers, of which a majority decides
 * (Redlock), and what their answers amount to: one reply, as though one server had given it.
 *
 * What is safe rests on one fact: any two majorities have a server in common. A grant counts only
 * where a majority gave it, so that two leases of one job never stand side by side, and a success
 * that a majority has recorded is met by everybody who asks for that turn, as long as a majority
 * keeps its data. All durations are each server's own; none compares its clock with another's.
 *
 * What answers amount to, of N servers with M = N/2 + 1. Not asked, an error and no answer are no
 * votes.
 *
 * acquire: M grants are a grant. Its attempt is the largest, its turn (by hand they differ) the
 *   middle one of theirs, and it has no fence.
 *   One server that knows more is believed at once: `done` with a token (a success of this very
 *   turn), spare. All else binds only where grants of M have become impossible, so that a minority
 *   that was emptied (`assumed`), missed a resume or a forget, or has old claims silences nobody:
 *   - M say that nothing can come of it (newer, outdated, mismatch, done, exhausted, paused,
 *     passed, over), or too few say anything else: what most of them say; of two, the first in
 *     that order.
 *   - M name one holder: held, until M of the servers can be free.
 *   - M can be free later: wait until then; or early, where M say that. By fewer, early by more
 *     than a minute is a clock that is wrong, and no vote.
 *   - M are free or held, and nobody has M: split. The grants cancel each other; asked again after
 *     a random 50 to 550 ms, which the job doubles.
 *   Fewer than M answers, and none can come: unknown (STORE_NO_ANSWER) where a sent request was
 *   lost: the core repeats the same token, and nothing is given back. Else the error.
 * renew: M renewed or took back: renewed; regained only where all of those took back. M say lost:
 *   lost. Neither can be any more: unknown, or the error.
 * finish: M recorded it: recorded. Held, and given up, by most of those.
 * config_get: the first text that is not empty; else as the rest.
 * the rest: M answered: the answer that makes M whole. A pause's `before` is any that is not empty;
 *   hello's `wanted` holds where one wants it.
 *
 * A decision falls as soon as no answer that is out could change it: a server that hangs costs no
 * time where the others agree.
 *
 * Not granted, what single servers granted is to be given back, also where such a grant comes after
 * the decision, and where no answer came: quorum_gives_back(). Else a fleet on bad links blocks
 * itself: each question that is lost would take a server away from all for a lease.
 *
 * What a quorum does not give: a fence; seats that add up (device scope); and attempts that are
 * counted exactly where servers come and go: each server counts its own grants, so that a turn
 * whose devices all die may be started up to N x attempts / M times. `attempts = 1` stays at most
 * once. */
#ifndef ROTA_CORE_QUORUM_H
#define ROTA_CORE_QUORUM_H
#include "core/fleet_clock.h"
#include "core/store.h"

#define QUORUM_SERVERS_MAX 7

/* What is known of the servers' clocks: of one quorum, beyond its rounds. Zeroed at first. */
struct quorum_clock {
    struct fleet_clock server[QUORUM_SERVERS_MAX];
};

/* What one server said: the round's own. */
struct quorum_vote {
    struct wall turn;
    int64_t left_ms;
    uint64_t holder; /* short for it */
    uint32_t attempt, watch;
    uint8_t kind, flags;
    char why[14];
};

/* A request and its answers. The owner's to allocate and to free; it points to nothing but the
 * clock, and may be copied. */
struct quorum_round {
    struct quorum_clock *clock;
    struct boot sent;
    uint64_t random;
    enum store_verb verb;
    uint8_t servers;
    bool decided;
    bool refused; /* acquire: decided, and neither granted nor unknown */
    bool missed;  /* `fault` and `error` are of a request that was lost */
    enum fault fault;
    char error[96];
    char text[STORE_TEXT_SIZE]; /* of a pause */
    struct quorum_vote votes[QUORUM_SERVERS_MAX];
};

/* So many of them decide. */
unsigned quorum_majority(unsigned servers);

struct quorum_asked {
    unsigned servers; /* 3, 5 or 7 */
    unsigned who;     /* bit i: server i is asked; at least a majority */
    struct boot sent; /* the instant before the first byte of the first request */
};

/* All that are asked are sent the one request, which is not kept. A server that is asked and cannot
 * be sent to is told of by a reply, too. */
void quorum_init(struct quorum_round *r, struct quorum_clock *clock,
                 const struct quorum_asked *asked, const struct store_request *request);

/* Takes the reply of server i, which was asked and has not replied before. True exactly once a
 * round, with the reply that was due by then at the latest: when the last one is in. *ret_reply is
 * for the request's owner, to be told to it at once: its texts are `reply`'s and the round's. */
bool quorum_take(struct quorum_round *r, unsigned i, const struct store_reply *reply,
                 struct store_reply *ret_reply);

/* Whether server i holds something, or may, that the round came to nothing with: it is to be sent a
 * finish as `unstarted` by the request's token with this attempt and turn (which are told where
 * they are known; the server goes by its own), as soon as there is a connection to it. Asked for
 * each server once it is decided, and for those that reply later when they do. */
bool quorum_gives_back(const struct quorum_round *r, unsigned i, uint32_t *ret_attempt,
                       struct wall *ret_turn);

/* The request is not wanted any more: as though it were decided, an acquire as not granted. */
void quorum_drop(struct quorum_round *r);

/* Server i was asked, and has not replied. */
bool quorum_is_out(const struct quorum_round *r, unsigned i);
#endif
