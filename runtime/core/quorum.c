/* SPDX-License-Identifier: MIT */
#include "core/quorum.h"
#include "base/text.h"
#include "core/quorum_internal.h"
#include <assert.h>
#include <string.h>

unsigned quorum_majority(unsigned servers)
{
    return servers / 2 + 1;
}

/* --- a round's beginning --- */

/* FNV-1a: short for a text. */
static uint64_t shorten(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return hash;
}

void quorum_init(struct quorum_round *r, struct quorum_clock *clock,
                 const struct quorum_asked *asked, const struct store_request *request)
{
    assert(asked->servers > 0 && asked->servers <= QUORUM_SERVERS_MAX);
    assert(asked->who >> asked->servers == 0);
    *r = (struct quorum_round){
        .clock = clock,
        .sent = asked->sent,
        .verb = request->verb,
        .servers = (uint8_t)asked->servers,
        .random = request->token ? shorten(request->token) : 0,
    };
    for (unsigned i = 0; i < asked->servers; i++) {
        r->votes[i].turn = request->turn;
        r->votes[i].kind = asked->who >> i & 1 ? VOTE_OUT : VOTE_ABSENT;
    }
}

/* --- time --- */

/* Of those that were ever heard, the middle one, and of an even number the lower: a server whose
 * clock is far off leads nobody, as long as most are right. */
static struct wall median_time(const struct quorum_clock *c, unsigned servers, struct boot at)
{
    struct wall times[QUORUM_SERVERS_MAX] = { { 0 } };
    unsigned count = 0;

    for (unsigned i = 0; i < servers; i++) {
        unsigned place;
        struct wall time;

        if (!c->server[i].known)
            continue;
        time = fleet_clock_at(&c->server[i], at);
        for (place = count++; place > 0 && times[place - 1].ms > time.ms; place--)
            times[place] = times[place - 1];
        times[place] = time;
    }
    return count > 0 ? times[(count - 1) / 2] : (struct wall){ 0 };
}

/* A reply's server time is that of the midpoint between sending and receiving. */
static struct wall merged_time(const struct quorum_round *r, struct boot received)
{
    return median_time(r->clock, r->servers,
                       boot_add(r->sent, boot_between(r->sent, received) / 2));
}

/* --- votes --- */

unsigned quorum_flags(const struct quorum_round *r, enum vote_flag flag)
{
    unsigned count = 0;

    for (unsigned i = 0; i < r->servers; i++)
        count += (r->votes[i].flags & flag) != 0;
    return count;
}

/* Of failures the owner is told the first; but one that leaves the outcome unknown goes before. */
static void note_failure(struct quorum_round *r, const struct store_reply *reply)
{
    bool missed = reply->status == STORE_NO_ANSWER;

    if (r->fault != FAULT_NONE && (r->missed || !missed))
        return;
    r->missed = missed;
    r->fault = reply->fault;
    text_copy(r->error, sizeof r->error, reply->error ? reply->error : "");
}

static void note_renew(struct quorum_vote *v, const struct store_reply *reply)
{
    if (reply->renew.answer == RENEW_LOST)
        v->kind = VOTE_LOST;
    else if (reply->renew.answer == RENEW_RENEWED)
        v->flags = VOTE_RENEWED;
    v->left_ms = reply->renew.left_ms;
}

static void note_finish(struct quorum_vote *v, const struct store_reply *reply)
{
    v->flags = (uint8_t)((reply->finish.held ? VOTE_WAS_HELD : 0) |
                         (reply->finish.gave_up ? VOTE_GAVE_UP : 0) |
                         (reply->finish.stopped ? VOTE_STOPPED : 0));
}

static void note(struct quorum_round *r, struct quorum_vote *v, const struct store_reply *reply)
{
    v->kind = VOTE_YES;
    switch (r->verb) {
    case STORE_ACQUIRE:
        quorum_acquire_vote(r, v, reply);
        v->holder = reply->acquire.holder ? shorten(reply->acquire.holder) : 0;
        break;
    case STORE_RENEW:
        note_renew(v, reply);
        break;
    case STORE_FINISH:
        note_finish(v, reply);
        break;
    case STORE_HELLO:
        v->flags = reply->hello.wanted ? VOTE_WANTED : 0;
        break;
    case STORE_PAUSE:
    case STORE_RESUME:
        if (reply->pause.before[0])
            text_copy(r->text, sizeof r->text, reply->pause.before);
        break;
    default:
        break;
    }
}

static void count(const struct quorum_round *r, struct tally *t)
{
    *t = (struct tally){ .majority = quorum_majority(r->servers) };
    for (unsigned i = 0; i < r->servers; i++)
        t->of[r->votes[i].kind]++;
}

/* --- decisions --- */

bool quorum_fails(const struct quorum_round *r, struct store_reply *ret_reply)
{
    bool none = r->fault == FAULT_NONE;

    *ret_reply = (struct store_reply){
        .status = r->missed ? STORE_NO_ANSWER : STORE_ERROR,
        .fault = none ? FAULT_LINK : r->fault,
        .error = none ? "too few of its servers give an answer that counts" : r->error,
    };
    return true;
}

static int64_t least_left(const struct quorum_round *r)
{
    int64_t least = INT64_MAX;

    for (unsigned i = 0; i < r->servers; i++)
        if (r->votes[i].kind == VOTE_YES && r->votes[i].left_ms < least)
            least = r->votes[i].left_ms;
    return least;
}

/* What most servers said yes to. */
static void merge(const struct quorum_round *r, struct store_reply *ret_reply)
{
    unsigned half = quorum_majority(r->servers) / 2;

    switch (r->verb) {
    case STORE_RENEW:
        ret_reply->renew.answer =
            quorum_flags(r, VOTE_RENEWED) > 0 ? RENEW_RENEWED : RENEW_REGAINED;
        ret_reply->renew.left_ms = least_left(r);
        break;
    case STORE_FINISH:
        ret_reply->finish.held = quorum_flags(r, VOTE_WAS_HELD) > half;
        ret_reply->finish.gave_up = quorum_flags(r, VOTE_GAVE_UP) > half;
        ret_reply->finish.stopped = quorum_flags(r, VOTE_STOPPED) > 0;
        break;
    case STORE_HELLO:
        ret_reply->hello.wanted = quorum_flags(r, VOTE_WANTED) > 0;
        break;
    case STORE_PAUSE:
    case STORE_RESUME:
        ret_reply->pause.before = r->text;
        break;
    default:
        break;
    }
}

static bool decide(struct quorum_round *r, const struct store_reply *reply,
                   struct store_reply *ret_reply)
{
    struct tally t;

    count(r, &t);
    *ret_reply = *reply;
    if (r->verb == STORE_ACQUIRE)
        return quorum_acquire_decide(r, &t, reply, ret_reply);
    if (r->verb == STORE_CONFIG_GET && reply->status == STORE_ANSWERED && reply->config.text[0])
        return true;
    if (t.of[VOTE_LOST] >= t.majority)
        return true;
    if (t.of[VOTE_YES] >= t.majority) {
        merge(r, ret_reply);
        return true;
    }
    if (t.of[VOTE_YES] + t.of[VOTE_OUT] >= t.majority)
        return false;
    if (r->verb == STORE_RENEW && t.of[VOTE_LOST] + t.of[VOTE_OUT] >= t.majority)
        return false;
    return quorum_fails(r, ret_reply);
}

bool quorum_take(struct quorum_round *r, unsigned i, const struct store_reply *reply,
                 struct store_reply *ret_reply)
{
    assert(quorum_is_out(r, i));
    if (reply->status != STORE_ANSWERED) {
        r->votes[i].kind = reply->status == STORE_ERROR ? VOTE_FAILED : VOTE_MISSED;
        note_failure(r, reply);
    } else {
        if (r->verb != STORE_RAW)
            fleet_clock_sample(&r->clock->server[i], reply->sent, reply->received, reply->server);
        note(r, &r->votes[i], reply);
    }
    if (r->decided || !decide(r, reply, ret_reply))
        return false;
    r->decided = true;
    ret_reply->sent = r->sent;
    ret_reply->received = reply->received;
    ret_reply->server = merged_time(r, reply->received);
    return true;
}

bool quorum_gives_back(const struct quorum_round *r, unsigned i, uint32_t *ret_attempt,
                       struct wall *ret_turn)
{
    const struct quorum_vote *v = &r->votes[i];

    if (!r->refused || (v->kind != VOTE_YES && v->kind != VOTE_SPARE && v->kind != VOTE_MISSED))
        return false;
    *ret_attempt = v->attempt;
    *ret_turn = v->turn;
    return true;
}

void quorum_drop(struct quorum_round *r)
{
    r->decided = true;
    r->refused = r->verb == STORE_ACQUIRE;
}

bool quorum_is_out(const struct quorum_round *r, unsigned i)
{
    return i < r->servers && r->votes[i].kind == VOTE_OUT;
}
