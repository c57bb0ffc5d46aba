/* SPDX-License-Identifier: MIT
 * What a lease sends: its token, and the request for the state that it is in. */
#include "base/text.h"
#include "core/lease_internal.h"
#include <string.h>

/* --- tokens --- */

void lease_token_text(const struct lease *l, char ret_text[TOKEN_SIZE])
{
    static const char digit[] = "0123456789abcdef";
    char hex[2 * sizeof l->token + 1] = "";

    ret_text[0] = 0;
    if (!l->has_token)
        return;
    for (size_t i = 0; i < sizeof l->token; i++) {
        hex[2 * i] = digit[l->token[i] >> 4];
        hex[2 * i + 1] = digit[l->token[i] & 15];
    }
    text_format(ret_text, TOKEN_SIZE, "%.*s:%s", DEVICE_NAME_MAX, l->env->device, hex);
}

void lease_token_device(const char *token, char ret_name[DEVICE_NAME_MAX + 1])
{
    const char *colon = strrchr(token, ':');
    size_t length = colon ? (size_t)(colon - token) : 0;

    ret_name[0] = 0;
    if (length == 0 || length > DEVICE_NAME_MAX || strlen(colon + 1) != 32 ||
        strspn(colon + 1, "0123456789abcdef") != 32)
        return;
    memcpy(ret_name, token, length);
    ret_name[length] = 0;
}

/* --- requests --- */

static void make_token(struct lease *l)
{
    l->env->port->random(l->env->port->context, l->token, sizeof l->token);
    l->has_token = true;
    l->asked = false;
}

/* A token belongs to one turn: asked again for the same one it stays, so that the store counts a
 * watcher once. */
static bool aim(struct lease *l, struct boot now)
{
    struct wall turn;

    if (!l->env->ops->choose(l, now, &turn))
        return false;
    if (!l->has_token || turn.ms != l->turn.ms)
        make_token(l);
    l->turn = turn;
    return true;
}

static int64_t fresh_ms(const struct lease *l)
{
    if (l->spec->first_now)
        return INT64_C(1) << 52;
    return timing_takeover_ms(&l->spec->timing, l->spec->splay_ms) + l->env->ops->spread_ms(l);
}

/* None where it is by hand; before the first one where it is by force, too. */
static struct wall next_turn(const struct lease *l)
{
    if (l->way == LEASE_BY_SCHEDULE)
        return schedule_next(&l->spec->schedule, l->turn);
    return (struct wall){ l->way == LEASE_BY_FORCE ? STORE_NEXT_FORCED : 0 };
}

static bool compose_acquire(struct lease *l, struct boot now, struct store_request *r)
{
    const struct job_spec *spec = l->spec;

    if (l->state == LEASE_UNKNOWN && boot_reached(now, lease_unknown_until(l)))
        lease_happen(l, LEASE_EVENT_EXPIRE, now);
    if (l->state == LEASE_UNKNOWN && l->quiet)
        return false;
    if (l->state == LEASE_ASKING && !aim(l, now)) {
        lease_happen(l, LEASE_EVENT_DROP, now);
        l->env->ops->dropped(l, now);
        return false;
    }
    *r = (struct store_request){
        .verb = STORE_ACQUIRE,
        .ttl_ms = spec->timing.lease_ms,
        .next = next_turn(l),
        .fence = l->fence_seen,
        .fresh_ms = fresh_ms(l),
        /* By hand nobody watches. */
        .first_ask = !l->asked && l->way == LEASE_BY_SCHEDULE && !l->env->ops->watches(l),
    };
    l->in_flight = true;
    l->sent = now;
    return true;
}

static bool compose_renew(struct lease *l, struct boot now, struct store_request *r)
{
    int64_t ttl = timing_renewal_ttl(&l->spec->timing, l->sent, now);

    if (ttl <= 0 || timing_deadline(&l->spec->timing, now, ttl).ms <= l->deadline.ms) {
        lease_happen(l, LEASE_EVENT_USELESS, now);
        return false;
    }
    *r = (struct store_request){
        .verb = STORE_RENEW, .ttl_ms = ttl, .attempt = l->attempt, .fence = l->fence
    };
    return true;
}

static bool compose_finish(struct lease *l, struct store_request *r)
{
    *r = (struct store_request){
        .verb = STORE_FINISH,
        .attempt = l->attempt,
        .fence = l->fence,
        .outcome = l->end.outcome,
        .covers = l->end.covers,
        .ran_ms = l->end.ran_ms,
        .detail = l->end.detail ? l->end.detail : "",
        .clean = l->end.clean,
    };
    return true;
}

bool lease_compose(struct store_call *call, struct boot now, struct store_request *r)
{
    struct lease *l = lease_of_call(call);
    bool wanted;

    switch (l->state) {
    case LEASE_ASKING:
    case LEASE_UNKNOWN:
        wanted = compose_acquire(l, now, r);
        break;
    case LEASE_RENEWING:
        wanted = compose_renew(l, now, r);
        break;
    case LEASE_CLOSING:
        wanted = compose_finish(l, r);
        break;
    default:
        return false;
    }
    if (!wanted)
        return false;
    r->job = l->spec;
    lease_token_text(l, l->env->token);
    r->token = l->env->token;
    r->device = l->env->machine;
    r->boot = l->env->boot;
    r->turn = l->turn;
    if (r->verb != STORE_FINISH)
        l->sent_ttl_ms = r->ttl_ms;
    return true;
}
