/* SPDX-License-Identifier: MIT
 * What the servers' answers to acquire amount to (core/quorum.h). */
#include "base/text.h"
#include "base/units.h"
#include "core/quorum_internal.h"
#include <assert.h>

/* Two devices that split the votes ask again at different instants: the one that comes first has
 * them all, a round trip being far shorter than this. */
#define SPLIT_LEAST_MS 50
#define SPLIT_SPREAD_MS 500

/* Servers that are kept in time are not that far apart. */
#define EARLY_MOST_MS MINUTE_MS

/* FULL is of device scope, which a quorum refuses to have: somebody's mistake, waited out. */
static const uint8_t kinds[] = {
    [ACQUIRE_GRANTED] = VOTE_YES,       [ACQUIRE_SPARE] = VOTE_SPARE,
    [ACQUIRE_HELD] = VOTE_HELD,         [ACQUIRE_FULL] = VOTE_WAIT,
    [ACQUIRE_DONE] = VOTE_DONE,         [ACQUIRE_PASSED] = VOTE_PASSED,
    [ACQUIRE_WAIT] = VOTE_WAIT,         [ACQUIRE_EXHAUSTED] = VOTE_EXHAUSTED,
    [ACQUIRE_PAUSED] = VOTE_PAUSED,     [ACQUIRE_EARLY] = VOTE_EARLY,
    [ACQUIRE_OVER] = VOTE_OVER,         [ACQUIRE_MISMATCH] = VOTE_MISMATCH,
    [ACQUIRE_OUTDATED] = VOTE_OUTDATED, [ACQUIRE_NEWER] = VOTE_NEWER,
    [ACQUIRE_SPLIT] = VOTE_WAIT,
};

/* The inverse, of those that settle a turn. */
static const uint8_t answers[VOTE_COUNT] = {
    [VOTE_NEWER] = ACQUIRE_NEWER,         [VOTE_OUTDATED] = ACQUIRE_OUTDATED,
    [VOTE_MISMATCH] = ACQUIRE_MISMATCH,   [VOTE_DONE] = ACQUIRE_DONE,
    [VOTE_EXHAUSTED] = ACQUIRE_EXHAUSTED, [VOTE_PAUSED] = ACQUIRE_PAUSED,
    [VOTE_PASSED] = ACQUIRE_PASSED,       [VOTE_OVER] = ACQUIRE_OVER,
};

void quorum_acquire_vote(struct quorum_round *r, struct quorum_vote *v,
                         const struct store_reply *reply)
{
    enum acquire_answer answer = reply->acquire.answer;

    v->kind = kinds[answer];
    if (answer == ACQUIRE_EARLY && reply->acquire.left_ms > EARLY_MOST_MS)
        v->kind = VOTE_BEHIND;
    v->turn = reply->acquire.turn;
    v->left_ms = answer == ACQUIRE_OUTDATED || answer == ACQUIRE_NEWER
                     ? (int64_t)reply->acquire.version
                     : reply->acquire.left_ms;
    v->attempt = reply->acquire.attempt;
    v->watch = reply->acquire.watch;
    v->flags = answer == ACQUIRE_EXHAUSTED && reply->acquire.first ? VOTE_FIRST : 0;
    if (reply->acquire.why)
        text_copy(v->why, sizeof v->why, reply->acquire.why);
    if (answer == ACQUIRE_PAUSED)
        text_copy(r->text, sizeof r->text, reply->acquire.why);
}

/* One server is enough: it knows what the others will learn, or have missed. Not so where the word
 * may come of its having lost its data, of a pause, of its clock, or of a claim that it kept while
 * the others forgot it: a version, a layout, a scope. */
static bool knows_more(const struct store_reply *reply)
{
    if (reply->status != STORE_ANSWERED)
        return false;
    switch (reply->acquire.answer) {
    case ACQUIRE_SPARE:
        return true;
    case ACQUIRE_DONE:
        return reply->acquire.holder && reply->acquire.holder[0];
    default:
        return false;
    }
}

/* --- instants --- */

/* Servers that were told of one instant say how long it is until then with so much between them:
 * whoever has not answered would not change it. */
#define SAME_INSTANT_MS 100

/* Who counts as free at once, besides those that granted. */
struct guess {
    bool held; /* whoever holds it may be about to give it back */
    bool out;  /* whoever has not answered */
};

/* So long until the server can grant; of one that settles the turn, never. */
static int64_t free_in_ms(const struct quorum_vote *v, struct guess guess)
{
    switch (v->kind) {
    case VOTE_YES:
        return 0;
    case VOTE_OUT:
        return guess.out ? 0 : INT64_MAX;
    case VOTE_HELD:
        return guess.held ? 0 : v->left_ms < 0 ? INT64_MAX : v->left_ms;
    case VOTE_WAIT:
    case VOTE_EARLY:
        return v->left_ms;
    default:
        return INT64_MAX;
    }
}

/* When a majority can grant, by the vote that makes it whole. */
static const struct quorum_vote *last_to_be_free(const struct quorum_round *r, struct guess guess)
{
    const struct quorum_vote *order[QUORUM_SERVERS_MAX] = { NULL };

    for (unsigned i = 0; i < r->servers; i++) {
        const struct quorum_vote *v = &r->votes[i];
        int64_t in = free_in_ms(v, guess);
        unsigned place = i;

        for (; place > 0 && free_in_ms(order[place - 1], guess) > in; place--)
            order[place] = order[place - 1];
        order[place] = v;
    }
    return order[quorum_majority(r->servers) - 1];
}

static int64_t majority_in_ms(const struct quorum_round *r, struct guess guess)
{
    return free_in_ms(last_to_be_free(r, guess), guess);
}

/* Whatever those say that have not answered, it is no earlier, or not by much. */
static bool is_settled_when(const struct quorum_round *r)
{
    return majority_in_ms(r, (struct guess){ .held = true }) -
               majority_in_ms(r, (struct guess){ .held = true, .out = true }) <=
           SAME_INSTANT_MS;
}

/* --- decisions --- */

/* Of turns that differ, which they do by hand: the middle one, or the lower of two, so that a
 * server's clock that is far ahead makes no turn of the future. */
static struct wall middle_turn(const struct quorum_round *r)
{
    struct wall turns[QUORUM_SERVERS_MAX] = { { 0 } };
    unsigned count = 0;

    for (unsigned i = 0; i < r->servers; i++) {
        unsigned place;

        if (r->votes[i].kind != VOTE_YES)
            continue;
        for (place = count++; place > 0 && turns[place - 1].ms > r->votes[i].turn.ms; place--)
            turns[place] = turns[place - 1];
        turns[place] = r->votes[i].turn;
    }
    return turns[count > 0 ? (count - 1) / 2 : 0];
}

static bool grant(const struct quorum_round *r, struct store_reply *ret_reply)
{
    for (unsigned i = 0; i < r->servers; i++)
        if (r->votes[i].kind == VOTE_YES && r->votes[i].attempt > ret_reply->acquire.attempt)
            ret_reply->acquire.attempt = r->votes[i].attempt;
    ret_reply->acquire.turn = middle_turn(r);
    ret_reply->acquire.fence = 0;
    return true;
}

/* A token that some server granted, or may be about to, is given back there and counts as finished
 * from then on. */
static bool refuse(struct quorum_round *r, const struct tally *t, struct store_reply *ret_reply)
{
    r->refused = true;
    ret_reply->acquire.fence = 0;
    ret_reply->spent =
        t->of[VOTE_YES] + t->of[VOTE_SPARE] + t->of[VOTE_OUT] + t->of[VOTE_MISSED] > 0;
    return true;
}

/* Where every server has said something, there is nothing unknown, and what some granted goes back.
 */
static bool fail(struct quorum_round *r, const struct tally *t, struct store_reply *ret_reply)
{
    quorum_fails(r, ret_reply);
    if (ret_reply->status == STORE_ERROR)
        refuse(r, t, ret_reply);
    return true;
}

static bool believe(struct quorum_round *r, const struct tally *t, struct store_reply *ret_reply)
{
    ret_reply->acquire.fence = 0;
    if (ret_reply->acquire.answer == ACQUIRE_SPARE) /* its owner gives it back, everywhere */
        return true;
    return refuse(r, t, ret_reply);
}

/* A clock that most servers have is right. */
static void believe_clocks(struct quorum_round *r, struct tally *t)
{
    if (t->of[VOTE_EARLY] + t->of[VOTE_BEHIND] < t->majority)
        return;
    for (unsigned i = 0; i < r->servers; i++)
        if (r->votes[i].kind == VOTE_BEHIND)
            r->votes[i].kind = VOTE_EARLY;
    t->of[VOTE_EARLY] += t->of[VOTE_BEHIND];
    t->of[VOTE_BEHIND] = 0;
}

/* So many name the one holder that most do. */
static unsigned count_held(const struct quorum_round *r)
{
    unsigned most = 0;

    for (unsigned i = 0; i < r->servers; i++) {
        unsigned same = 0;

        for (unsigned k = 0; k < r->servers && r->votes[i].kind == VOTE_HELD; k++)
            same += r->votes[k].kind == VOTE_HELD && r->votes[k].holder == r->votes[i].holder;
        if (same > most)
            most = same;
    }
    return most;
}

/* The reply that made the majority whole is one of them. Its place among the watchers is the best
 * of all, so that somebody has the first, in whatever order questions came to the servers. */
static void say_held(const struct quorum_round *r, struct store_reply *ret_reply)
{
    int64_t left = majority_in_ms(r, (struct guess){ 0 });

    ret_reply->acquire.left_ms = left == INT64_MAX ? -1 : left;
    for (unsigned i = 0; i < r->servers; i++) {
        const struct quorum_vote *v = &r->votes[i];

        if (v->kind != VOTE_HELD || v->watch == 0)
            continue;
        if (ret_reply->acquire.watch == 0 || v->watch < ret_reply->acquire.watch)
            ret_reply->acquire.watch = v->watch;
    }
}

/* An answer that no single reply has to have been. */
static void say(struct store_reply *ret_reply, enum acquire_answer answer,
                const struct quorum_vote *v)
{
    *ret_reply = (struct store_reply){
        .acquire = { .answer = answer,
                     .turn = v->turn,
                     .left_ms = v->left_ms,
                     .attempt = v->attempt,
                     .holder = "",
                     .why = v->why,
                     .print = "",
                     .printer = "" },
    };
}

/* Early is what most say: that a device, whose time is theirs, is told so by a few has nothing to
 * do with its turn, and is waited out. */
static void say_later(const struct quorum_round *r, const struct tally *t,
                      struct store_reply *ret_reply)
{
    const struct quorum_vote *v = last_to_be_free(r, (struct guess){ .held = true });

    if (v->kind == VOTE_WAIT || v->kind == VOTE_EARLY) {
        say(ret_reply, t->of[VOTE_EARLY] >= t->majority ? ACQUIRE_EARLY : ACQUIRE_WAIT, v);
        return;
    }
    say(ret_reply, ACQUIRE_SPLIT, v);
    ret_reply->acquire.left_ms = SPLIT_LEAST_MS + (int64_t)(r->random % (SPLIT_SPREAD_MS + 1));
    ret_reply->acquire.why = "";
}

/* Of those that say the same, the one that claims least: the earliest turn, and none of its reasons
 * where one has none. */
static const struct quorum_vote *mildest(const struct quorum_round *r, unsigned kind)
{
    const struct quorum_vote *best = NULL;

    for (unsigned i = 0; i < r->servers; i++) {
        const struct quorum_vote *v = &r->votes[i];

        if (v->kind != kind)
            continue;
        if (!best || v->turn.ms < best->turn.ms ||
            (v->turn.ms == best->turn.ms && best->why[0] && !v->why[0]))
            best = v;
    }
    assert(best); /* it was counted */
    return best;
}

static void say_settled(const struct quorum_round *r, const struct tally *t,
                        struct store_reply *ret_reply)
{
    unsigned kind = VOTE_NEWER;

    for (unsigned k = VOTE_NEWER; k <= VOTE_OVER; k++)
        if (t->of[k] > t->of[kind])
            kind = k;
    say(ret_reply, (enum acquire_answer)answers[kind], mildest(r, kind));
    ret_reply->acquire.first = quorum_flags(r, VOTE_FIRST) > 0;
    if (kind == VOTE_NEWER || kind == VOTE_OUTDATED)
        ret_reply->acquire.version = (uint64_t)ret_reply->acquire.left_ms;
    if (kind == VOTE_PAUSED)
        ret_reply->acquire.why = r->text;
}

bool quorum_acquire_decide(struct quorum_round *r, struct tally *t, const struct store_reply *reply,
                           struct store_reply *ret_reply)
{
    unsigned out = t->of[VOTE_OUT], held = count_held(r), never = 0, later;

    believe_clocks(r, t);
    later = t->of[VOTE_YES] + t->of[VOTE_HELD] + t->of[VOTE_WAIT] + t->of[VOTE_EARLY];
    for (unsigned k = VOTE_NEWER; k <= VOTE_OVER; k++)
        never += t->of[k];
    if (knows_more(reply))
        return believe(r, t, ret_reply);
    if (t->of[VOTE_YES] >= t->majority)
        return grant(r, ret_reply);
    if (t->of[VOTE_YES] + out >= t->majority)
        return false;
    if (held >= t->majority)
        say_held(r, ret_reply);
    else if (later >= t->majority && held + out < t->majority && is_settled_when(r))
        say_later(r, t, ret_reply);
    else if (never < t->majority && out > 0)
        return false;
    else if (later + never < t->majority)
        return fail(r, t, ret_reply);
    else
        say_settled(r, t, ret_reply);
    return refuse(r, t, ret_reply);
}
