/* SPDX-License-Identifier: MIT */
#include "core/lease.h"
#include "core/lease_internal.h"
#include "core/slot.h"

/* While renewals are refused: so many tries in the time between two good ones, at the least. */
#define LEASE_TRIES_A_RENEWAL 4

struct step {
    struct boot now;
    const struct store_reply *reply; /* NULL where the event is not an answer */
};

typedef void lease_action(struct lease *l, const struct step *s);

static lease_action submit, submit_urgent, missed, rejected, granted, refused, confirmed, taken,
    start_closing, recorded, turned_away, rest;

#define ACTIONS(X)                                                                                 \
    X(submit)                                                                                      \
    X(submit_urgent)                                                                               \
    X(missed)                                                                                      \
    X(rejected)                                                                                    \
    X(granted)                                                                                     \
    X(refused)                                                                                     \
    X(confirmed)                                                                                   \
    X(taken)                                                                                       \
    X(start_closing)                                                                               \
    X(recorded)                                                                                    \
    X(turned_away)                                                                                 \
    X(rest)

#define ACTION_ENUM(name) ACTION_##name,
#define ACTION_ROW(name) [ACTION_##name] = (name),

/* By number, in one byte, as in job.c. */
enum action { ACTION_NONE, ACTIONS(ACTION_ENUM) } __attribute__((packed));
static lease_action *const actions[] = { ACTIONS(ACTION_ROW) };

struct cell {
    enum action action; /* ACTION_NONE: illegal */
    enum lease_state next;
};

/* clang-format off */
#define GO(to, act) { .action = ACTION_##act, .next = LEASE_##to }
#define ON(event) [LEASE_EVENT_##event]

static const struct cell table[LEASE_STATE_COUNT][LEASE_EVENT_COUNT] = {
    [LEASE_NONE] = {
        ON(ASK)     = GO(ASKING, submit),
        ON(DROP)    = GO(NONE, rest),
    },
    [LEASE_ASKING] = {
        ON(DROP)    = GO(NONE, rest),
        ON(REFUSE)  = GO(NONE, refused),
        ON(GRANT)   = GO(HELD, granted),
        ON(MISS)    = GO(UNKNOWN, missed),
        ON(REJECT)  = GO(NONE, turned_away),
    },
    [LEASE_UNKNOWN] = {
        ON(REFUSE)  = GO(NONE, refused),
        ON(GRANT)   = GO(HELD, granted),
        ON(MISS)    = GO(UNKNOWN, missed),
        ON(REJECT)  = GO(UNKNOWN, rejected),
        ON(DUE)     = GO(UNKNOWN, submit),
        ON(EXPIRE)  = GO(ASKING, rest),
    },
    [LEASE_HELD] = {
        ON(DUE)     = GO(RENEWING, submit_urgent),
        ON(END)     = GO(CLOSING, start_closing),
    },
    [LEASE_RENEWING] = {
        ON(CONFIRM) = GO(HELD, confirmed),
        ON(MISS)    = GO(RENEWING, submit_urgent),
        ON(REJECT)  = GO(RENEWING, rejected),
        ON(DUE)     = GO(RENEWING, submit_urgent),
        ON(USELESS) = GO(HELD, rest),
        ON(TAKE)    = GO(GONE, taken),
        ON(END)     = GO(CLOSING, start_closing),
    },
    [LEASE_GONE] = {
        ON(END)     = GO(CLOSING, start_closing),
    },
    [LEASE_CLOSING] = {
        ON(MISS)    = GO(CLOSING, submit),
        ON(REJECT)  = GO(CLOSING, rejected),
        ON(DUE)     = GO(CLOSING, submit),
        ON(RECORD)  = GO(NONE, recorded),
    },
};
/* clang-format on */

static const struct core_port *port_of(const struct lease *l)
{
    return l->env->port;
}

static void set_state(struct lease *l, enum lease_state next)
{
    l->state = next;
    l->wake = BOOT_NEVER;
}

static void happen(struct lease *l, enum lease_event event, const struct step *s)
{
    const struct cell *c = &table[l->state][event];

    if (c->action == ACTION_NONE) {
        l->env->ops->illegal(l, event);
        return;
    }
    set_state(l, c->next);
    actions[c->action](l, s);
}

static void submit(struct lease *l, const struct step *s)
{
    (void)s;
    l->in_flight = false;
    port_of(l)->submit(port_of(l)->context, &l->call, false);
}

static void submit_urgent(struct lease *l, const struct step *s)
{
    (void)s;
    port_of(l)->submit(port_of(l)->context, &l->call, true);
}

static void reset_failures(struct lease *l)
{
    l->failures = 0;
}

/* What waits for a person waits long; but a lease that is held cannot, nor may a token stay
 * unsettled for longer than its lock would live. */
static int64_t longest_window_ms(const struct lease *l)
{
    if (l->state == LEASE_RENEWING)
        return l->spec->timing.renew_ms / LEASE_TRIES_A_RENEWAL;
    return l->state == LEASE_UNKNOWN ? l->spec->timing.lease_ms : 0;
}

static int64_t next_delay_ms(struct lease *l, enum fault fault)
{
    struct backoff backoff = { .failures = l->failures };
    int64_t delay_ms;
    uint64_t random;

    l->in_flight = false;
    port_of(l)->random(port_of(l)->context, &random, sizeof random);
    fault_set_windows(fault, longest_window_ms(l), &backoff);
    delay_ms = backoff_next_ms(&backoff, random);
    l->failures = backoff.failures;
    return delay_ms;
}

/* Repeated by the lease itself: something may be out that only this token can settle. */
static void rejected(struct lease *l, const struct step *s)
{
    l->wake = boot_add(s->now, next_delay_ms(l, s->reply->fault));
}

/* Nothing is out: the job gives its slot to others meanwhile. */
static void turned_away(struct lease *l, const struct step *s)
{
    if (s->reply->spent)
        lease_renew_token(l);
    l->env->ops->rejected(l, s->now, next_delay_ms(l, s->reply->fault));
}

/* The same token again, at once: the link has its own back-off. The store may know the token by
 * now. */
static void missed(struct lease *l, const struct step *s)
{
    l->asked = true;
    submit(l, s);
}

static void rest(struct lease *l, const struct step *s)
{
    (void)l;
    (void)s;
}

static struct boot renew_at(const struct lease *l)
{
    if (l->spec->timing.renew_ms <= 0 || l->way == LEASE_WITHOUT_LOCK)
        return BOOT_NEVER;
    return boot_add(l->confirmed, l->spec->timing.renew_ms);
}

static void granted(struct lease *l, const struct step *s)
{
    reset_failures(l);
    l->sent = l->confirmed = s->reply->sent;
    l->deadline = timing_deadline(&l->spec->timing, s->reply->sent, l->sent_ttl_ms);
    l->expires = boot_add(s->reply->received, l->sent_ttl_ms);
    l->attempt = s->reply->acquire.attempt;
    l->fence = s->reply->acquire.fence;
    l->turn = s->reply->acquire.turn;
    l->wake = renew_at(l);
    l->env->ops->granted(l, s->reply);
}

static void refused(struct lease *l, const struct step *s)
{
    reset_failures(l);
    l->asked = true;
    if (s->reply->spent)
        lease_renew_token(l);
    l->env->ops->refused(l, s->reply);
}

static void confirmed(struct lease *l, const struct step *s)
{
    struct boot d = timing_deadline(&l->spec->timing, s->reply->sent, l->sent_ttl_ms);
    struct boot stop = boot_add(l->deadline, -l->spec->timing.stop_grace_ms);

    reset_failures(l);
    l->confirmed = s->reply->sent;
    l->deadline = boot_max(l->deadline, d);
    l->expires = boot_add(s->reply->received, l->sent_ttl_ms);
    l->wake = renew_at(l);
    l->env->ops->confirmed(l, s->reply, boot_between(s->reply->received, stop));
}

static void taken(struct lease *l, const struct step *s)
{
    l->env->ops->taken(l, s->reply);
}

static void start_closing(struct lease *l, const struct step *s)
{
    if (l->way == LEASE_WITHOUT_LOCK) {
        lease_close(l, s->now, false);
        return;
    }
    /* A renewal that is still out answers nobody. */
    port_of(l)->cancel(port_of(l)->context, &l->call);
    reset_failures(l);
    submit_urgent(l, s);
}

static void recorded(struct lease *l, const struct step *s)
{
    l->env->ops->recorded(l, s->reply);
    lease_renew_token(l);
    port_of(l)->keep(port_of(l)->context, &l->end.detail, NULL);
}

/* --- answers --- */

static enum lease_event acquire_event(const struct lease *l, const struct store_reply *r)
{
    if (r->acquire.answer != ACQUIRE_GRANTED && r->acquire.answer != ACQUIRE_SPARE)
        return LEASE_EVENT_REFUSE;
    /* A late grant may have too little left to be worth starting: the repeat sets the time to live
     * anew. */
    if (boot_between(r->sent, r->received) > l->spec->timing.command_timeout_ms)
        return LEASE_EVENT_MISS;
    return LEASE_EVENT_GRANT;
}

static enum lease_event answer_event(const struct lease *l, const struct store_reply *r)
{
    if (r->status == STORE_NO_ANSWER)
        return LEASE_EVENT_MISS;
    if (r->status == STORE_ERROR)
        return LEASE_EVENT_REJECT;
    switch (l->state) {
    case LEASE_RENEWING:
        return r->renew.answer == RENEW_LOST ? LEASE_EVENT_TAKE : LEASE_EVENT_CONFIRM;
    case LEASE_CLOSING:
        return LEASE_EVENT_RECORD;
    default:
        return acquire_event(l, r);
    }
}

static void answer(struct store_call *call, const struct store_reply *r)
{
    struct lease *l = lease_of_call(call);
    enum lease_event event = answer_event(l, r);

    l->env->ops->heard(l, r);
    if (r->status == STORE_ANSWERED && call->verb == STORE_ACQUIRE &&
        r->acquire.fence > l->fence_seen)
        l->fence_seen = r->acquire.fence;
    if (event == LEASE_EVENT_MISS || event == LEASE_EVENT_REJECT)
        l->env->ops->unanswered(l, call->verb, r);
    else
        l->env->ops->answered(l);
    if (r->spent && l->state == LEASE_UNKNOWN)
        lease_happen(l, LEASE_EVENT_EXPIRE,
                     r->received); /* whatever it was granted was given back */
    happen(l, event, &(struct step){ .now = r->received, .reply = r });
    l->env->ops->changed(l, r->received);
}

void lease_happen(struct lease *l, enum lease_event event, struct boot now)
{
    happen(l, event, &(struct step){ .now = now });
}

/* --- calls from the job --- */

void lease_init(struct lease *l, struct lease_env *env, const struct job_spec *spec)
{
    *l = (struct lease){
        .call = { .compose = lease_compose, .answer = answer, .slot = slot_of_job(spec) },
        .env = env,
        .spec = spec,
        .wake = BOOT_NEVER,
    };
}

void lease_done(struct lease *l)
{
    port_of(l)->cancel(port_of(l)->context, &l->call);
    port_of(l)->keep(port_of(l)->context, &l->end.detail, NULL);
    set_state(l, LEASE_NONE);
}

void lease_ask(struct lease *l, struct boot now)
{
    l->quiet = false;
    lease_happen(l, LEASE_EVENT_ASK, now);
}

void lease_take(struct lease *l, struct boot now, struct wall turn)
{
    struct store_reply reply = {
        .sent = now,
        .received = now,
        .acquire = { .answer = ACQUIRE_GRANTED, .attempt = 1, .turn = turn },
    };

    l->sent_ttl_ms = l->spec->timing.budget_ms;
    set_state(l, LEASE_ASKING);
    happen(l, LEASE_EVENT_GRANT, &(struct step){ .now = now, .reply = &reply });
}

void lease_renew_token(struct lease *l)
{
    l->has_token = false;
    l->asked = false;
}

struct boot lease_unknown_until(const struct lease *l)
{
    return boot_add(l->sent, l->sent_ttl_ms);
}

void lease_hush(struct lease *l)
{
    l->quiet = true;
}

bool lease_drop(struct lease *l, struct boot now)
{
    if (l->state == LEASE_NONE)
        return true;
    if (l->state == LEASE_UNKNOWN && !l->in_flight && boot_reached(now, lease_unknown_until(l)))
        lease_happen(l, LEASE_EVENT_EXPIRE, now);
    if (l->state != LEASE_ASKING || l->in_flight)
        return false;
    port_of(l)->cancel(port_of(l)->context, &l->call);
    lease_happen(l, LEASE_EVENT_DROP, now);
    return true;
}

void lease_finish(struct lease *l, struct boot now)
{
    lease_happen(l, LEASE_EVENT_END, now);
}

void lease_close(struct lease *l, struct boot now, bool gave_up)
{
    struct store_reply reply = { .received = now, .finish = { .gave_up = gave_up } };

    port_of(l)->cancel(port_of(l)->context, &l->call);
    happen(l, LEASE_EVENT_RECORD, &(struct step){ .now = now, .reply = &reply });
}

void lease_tick(struct lease *l, struct boot now)
{
    if (boot_reached(now, l->wake))
        lease_happen(l, LEASE_EVENT_DUE, now);
}

/* --- names --- */

bool lease_cell(enum lease_state state, enum lease_event event, enum lease_state *ret_next)
{
    if (table[state][event].action == ACTION_NONE)
        return false;
    *ret_next = table[state][event].next;
    return true;
}

#define LEASE_NAME_STATE(name, text) [LEASE_##name] = #name,
#define LEASE_NAME_EVENT(name, text) [LEASE_EVENT_##name] = #name,

const char *lease_state_name(enum lease_state state)
{
    static const char *const names[] = { LEASE_STATES(LEASE_NAME_STATE) };

    return names[state];
}

const char *lease_event_name(enum lease_event event)
{
    static const char *const names[] = { LEASE_EVENTS(LEASE_NAME_EVENT) };

    return names[event];
}
