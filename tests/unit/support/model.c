/* SPDX-License-Identifier: MIT */
#include "support/model.h"

#include "base/text.h"
#include <string.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

const char *model_holder(const struct model *m, int64_t now)
{
    return now < m->lock_end_ms ? m->lock : "";
}

static void lock_it(struct model *m, int64_t now, const char *token, int64_t ttl_ms)
{
    text_copy(m->lock, sizeof m->lock, token);
    m->lock_end_ms = now + ttl_ms;
}

static struct store_reply answered(int64_t now)
{
    return (struct store_reply){ .status = STORE_ANSWERED, .server = { now } };
}

static struct store_reply passed(int64_t now, enum acquire_answer answer, int64_t turn,
                                 const char *why)
{
    struct store_reply reply = answered(now);

    reply.acquire.answer = answer;
    reply.acquire.turn.ms = turn;
    reply.acquire.why = why;
    reply.acquire.holder = "";
    return reply;
}

static struct store_reply wait_for(int64_t now, enum acquire_answer answer, int64_t left_ms,
                                   const char *why)
{
    struct store_reply reply = passed(now, answer, 0, why);

    reply.acquire.left_ms = left_ms;
    return reply;
}

static struct store_reply granted(const struct model *m, int64_t now, enum acquire_answer answer)
{
    struct store_reply reply = passed(now, answer, m->turn, "");

    reply.acquire.fence = m->fence;
    reply.acquire.attempt = m->attempt;
    return reply;
}

static struct store_reply held(struct model *m, int64_t now, const struct store_request *r)
{
    struct store_reply reply = wait_for(now, ACQUIRE_HELD, m->lock_end_ms - now, "");
    bool ours = strcmp(m->lock, m->token) == 0;

    if (m->watched != r->turn.ms)
        m->watch = 0;
    m->watched = r->turn.ms;
    if (r->first_ask)
        reply.acquire.watch = ++m->watch;
    reply.acquire.holder = m->lock;
    reply.acquire.holder_turn.ms = ours ? m->turn : 0;
    reply.acquire.fence = m->fence;
    return reply;
}

static void record(struct model *m, enum model_state state, int64_t turn)
{
    m->state = state;
    m->turn = turn;
    m->attempt = 0;
    m->token[0] = 0;
}

static struct store_reply first_sight(struct model *m, int64_t now, const struct store_request *r)
{
    if (now - r->turn.ms > r->fresh_ms) {
        record(m, MODEL_ASSUMED, r->turn.ms);
        m->done = r->turn.ms;
        return passed(now, ACQUIRE_DONE, r->turn.ms, "assumed");
    }
    record(m, MODEL_BLANK, r->turn.ms);
    m->retry = now + r->ttl_ms;
    m->delay = r->ttl_ms;
    return wait_for(now, ACQUIRE_WAIT, r->ttl_ms, "blank");
}

static struct store_reply grant(struct model *m, int64_t now, const struct store_request *r)
{
    uint32_t most = m->streak > 0 ? 1 : r->job->attempts;
    bool same = r->turn.ms == m->turn;

    if (!same && m->state == MODEL_RUNNING && m->attempt >= most)
        m->streak++;
    m->attempt = same ? m->attempt + 1 : 1;
    m->fence = (uint64_t)larger(larger((int64_t)m->fence + 1, (int64_t)r->fence + 1), now);
    m->turn = r->turn.ms;
    m->state = MODEL_RUNNING;
    m->ended = false;
    m->ttl = r->ttl_ms;
    m->retry = m->delay = 0;
    m->watch = 0;
    text_copy(m->token, sizeof m->token, r->token);
    lock_it(m, now, r->token, r->ttl_ms);
    return granted(m, now, ACQUIRE_GRANTED);
}

/* Steps 7 to 10: nobody holds the lock, and the turn is open. */
static struct store_reply acquire_free(struct model *m, int64_t now, const struct store_request *r)
{
    uint32_t most = m->streak > 0 ? 1 : r->job->attempts;
    bool same = r->turn.ms == m->turn;
    int64_t left = m->retry - now < m->delay ? m->retry - now : m->delay;
    struct store_reply reply;

    if (m->state == MODEL_EMPTY)
        return first_sight(m, now, r);
    if (left > 0 && (m->state == MODEL_BLANK || (same && m->attempt < most)))
        return wait_for(now, ACQUIRE_WAIT, left, m->state == MODEL_BLANK ? "blank" : "failed");
    if (!same || m->attempt < most)
        return grant(m, now, r);
    reply = passed(now, ACQUIRE_EXHAUSTED, 0, "");
    reply.acquire.attempt = m->attempt;
    reply.acquire.first = m->state != MODEL_GAVE_UP;
    m->streak += reply.acquire.first;
    m->state = MODEL_GAVE_UP;
    return reply;
}

struct store_reply model_acquire(struct model *m, int64_t now, const struct store_request *r)
{
    const char *holder = model_holder(m, now);
    int64_t top = larger(m->turn, m->done);

    if (strcmp(m->token, r->token) == 0) {
        if (m->state != MODEL_RUNNING)
            return passed(now, ACQUIRE_OVER, 0, "");
        if (!holder[0] || strcmp(holder, r->token) == 0) {
            lock_it(m, now, r->token, r->ttl_ms);
            return granted(m, now, m->turn <= m->done ? ACQUIRE_SPARE : ACQUIRE_GRANTED);
        }
    }
    if (r->turn.ms > now)
        return wait_for(now, ACQUIRE_EARLY, r->turn.ms - now, "");
    if (!holder[0] && top > now && top > r->next.ms) {
        record(m, MODEL_ASSUMED, r->turn.ms);
        m->done = r->turn.ms;
        m->retry = 0;
        return passed(now, ACQUIRE_DONE, r->turn.ms, "clock");
    }
    if (r->turn.ms <= m->done)
        return passed(now, ACQUIRE_DONE, m->done, "");
    if (r->turn.ms < m->turn)
        return passed(now, ACQUIRE_PASSED, m->turn, "");
    if (holder[0] && strcmp(holder, r->token) != 0)
        return held(m, now, r);
    return acquire_free(m, now, r);
}

struct store_reply model_renew(struct model *m, int64_t now, const struct store_request *r)
{
    const char *holder = model_holder(m, now);
    struct store_reply reply = answered(now);
    bool mine = strcmp(m->token, r->token) == 0, other, newer;

    reply.renew.answer = RENEW_LOST;
    reply.renew.why = holder;
    if ((mine && m->state != MODEL_RUNNING) || (holder[0] && strcmp(holder, r->token) != 0))
        return reply;
    other = !mine && m->state != MODEL_BLANK && m->state != MODEL_ASSUMED;
    newer = other && (m->turn > r->turn.ms || (m->turn == r->turn.ms && m->attempt >= r->attempt));
    if (!holder[0] && newer)
        return reply;
    reply.renew.answer = holder[0] ? RENEW_RENEWED : RENEW_REGAINED;
    reply.renew.why = "";
    lock_it(m, now, r->token, r->ttl_ms);
    if (!mine && !newer) {
        m->turn = r->turn.ms;
        m->attempt = r->attempt;
        m->state = MODEL_RUNNING;
        m->ended = false;
        m->retry = m->delay = 0;
        text_copy(m->token, sizeof m->token, r->token);
    }
    return reply;
}

static bool gives_back(const struct store_request *r)
{
    if (r->outcome == OUTCOME_UNSTARTED)
        return true;
    return r->outcome == OUTCOME_DECLINED && r->job->attempts > 1;
}

/* What finish says of the newest attempt; true: no try is left. */
static bool describe(struct model *m, int64_t now, const struct store_request *r)
{
    bool counts = outcome_retries(r->outcome) || r->outcome == OUTCOME_REFUSED;
    bool gave_up = counts && (r->attempt >= r->job->attempts || m->streak > 0 ||
                              r->outcome == OUTCOME_REFUSED);

    m->streak += gave_up && !(strcmp(m->token, r->token) == 0 && m->state == MODEL_GAVE_UP);
    m->ended = true;
    m->state = gave_up ? MODEL_GAVE_UP : MODEL_ENDED;
    m->turn = r->turn.ms;
    m->attempt = r->attempt - (gives_back(r) ? 1 : 0);
    m->retry = counts ? now + r->job->retry_delay_ms : 0;
    m->delay = counts ? r->job->retry_delay_ms : 0;
    text_copy(m->token, sizeof m->token, r->token);
    return gave_up;
}

static void settle(struct model *m, int64_t now, const struct store_request *r)
{
    int64_t settled = r->turn.ms;

    if (r->covers.ms <= now && r->covers.ms > settled)
        settled = r->covers.ms;
    if (settled > m->done) {
        m->done = settled;
        m->streak = 0;
    }
}

struct store_reply model_finish(struct model *m, int64_t now, const struct store_request *r)
{
    struct store_reply reply = answered(now);
    bool mine = strcmp(m->token, r->token) == 0;
    bool behind = m->turn < r->turn.ms || (m->turn == r->turn.ms && m->attempt < r->attempt);

    reply.finish.held = strcmp(model_holder(m, now), r->token) == 0;
    if (mine && m->state != MODEL_RUNNING && m->ended) { /* a repeat */
        reply.finish.held = m->held;
        reply.finish.gave_up = m->gave_up;
        return reply;
    }
    if (r->outcome == OUTCOME_UNSTARTED && !mine)
        return reply;
    if (reply.finish.held && outcome_frees_lock(r->outcome) && r->clean)
        m->lock_end_ms = 0;
    if (outcome_settles(r->outcome))
        settle(m, now, r);
    if (mine || behind || m->state == MODEL_BLANK || m->state == MODEL_ASSUMED) {
        reply.finish.gave_up = describe(m, now, r);
        m->held = reply.finish.held;
        m->gave_up = reply.finish.gave_up;
    }
    return reply;
}
