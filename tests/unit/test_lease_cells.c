/* SPDX-License-Identifier: MIT
 * Every cell of the lease's table, through its public calls and the answers of the store. */
#include "support/bench.h"

struct probe {
    struct lease lease;
    struct fake fake;
    struct lease_env env;
    struct job_spec spec;
    bool none_to_choose;
    unsigned illegal;
};

static struct probe *probe_of(struct lease *l)
{
    return (struct probe *)((char *)l - offsetof(struct probe, lease));
}

static bool choose(struct lease *l, struct boot now, struct wall *ret_turn)
{
    if (probe_of(l)->none_to_choose)
        return false;
    (void)now;
    ret_turn->ms = 1000;
    return true;
}

static int64_t spread_ms(const struct lease *l)
{
    (void)l;
    return 0;
}

static bool watches(const struct lease *l)
{
    (void)l;
    return false;
}

static void at_instant(struct lease *l, struct boot now)
{
    (void)l;
    (void)now;
}

static void with_reply(struct lease *l, const struct store_reply *reply)
{
    (void)l;
    assert_non_null(reply);
}

static void with_delay(struct lease *l, struct boot now, int64_t delay_ms)
{
    at_instant(l, now);
    assert_true(delay_ms >= 0);
}

static void with_verb(struct lease *l, enum store_verb verb, const struct store_reply *reply)
{
    (void)verb;
    with_reply(l, reply);
}

static void with_left(struct lease *l, const struct store_reply *reply, int64_t left_ms)
{
    (void)left_ms;
    with_reply(l, reply);
}

static void alone(struct lease *l)
{
    (void)l;
}

static void illegal(struct lease *l, enum lease_event event)
{
    (void)event;
    probe_of(l)->illegal++;
}

static const struct lease_ops ops = {
    .choose = choose,
    .spread_ms = spread_ms,
    .watches = watches,
    .dropped = at_instant,
    .granted = with_reply,
    .refused = with_reply,
    .rejected = with_delay,
    .unanswered = with_verb,
    .answered = alone,
    .confirmed = with_left,
    .taken = with_reply,
    .recorded = with_reply,
    .heard = with_reply,
    .changed = at_instant,
    .illegal = illegal,
};

static const struct boot zero = { 10000 };

static void probe_init(struct probe *p)
{
    *p = (struct probe){ .spec = bench_renewed_spec() };
    fake_init(&p->fake, "alpha", 1, (struct unit_random){ 1 });
    p->env = (struct lease_env){ .ops = &ops, .port = &p->fake.port, .device = "alpha" };
    lease_init(&p->lease, &p->env, &p->spec);
}

static void probe_done(struct probe *p)
{
    lease_done(&p->lease);
    fake_done(&p->fake);
}

static void answer(struct probe *p, struct store_reply reply, int64_t after_ms)
{
    if (!p->fake.flying)
        assert_true(fake_send(&p->fake, zero));
    fake_reply(&p->fake, reply, boot_add(zero, after_ms));
}

static void answer_acquire(struct probe *p, enum acquire_answer how)
{
    answer(p, (struct store_reply){ .acquire = { .answer = how, .holder = "", .why = "" } }, 10);
}

/* A call in flight, so that an event which is the store's answer can be told in any state. */
static void fly(struct probe *p)
{
    if (p->fake.flying)
        return;
    for (size_t i = p->fake.queued_count; i > 0; i--)
        p->fake.port.cancel(&p->fake, p->fake.queued[i - 1]);
    p->fake.flying = &p->lease.call;
    p->fake.sent = zero;
}

static void cause_answer(struct probe *p, struct store_reply reply)
{
    fly(p);
    fake_reply(&p->fake, reply, boot_add(zero, 10));
}

static void to_state(struct probe *p, enum lease_state state)
{
    if (state == LEASE_NONE)
        return;
    lease_ask(&p->lease, zero);
    if (state == LEASE_UNKNOWN)
        answer(p, (struct store_reply){ .status = STORE_NO_ANSWER }, 10);
    if (state == LEASE_ASKING || state == LEASE_UNKNOWN)
        return;
    answer_acquire(p, ACQUIRE_GRANTED);
    if (state == LEASE_RENEWING || state == LEASE_GONE)
        lease_tick(&p->lease, p->lease.wake);
    if (state == LEASE_GONE) {
        assert_true(fake_send(&p->fake, boot_add(zero, 20000)));
        fake_reply(&p->fake, (struct store_reply){ .renew = { .answer = RENEW_LOST } },
                   boot_add(zero, 20010));
    }
    if (state == LEASE_CLOSING)
        lease_finish(&p->lease, zero);
}

/* By a public call or an answer of the store; false where none of these can mean `event` in this
 * state. */
static bool cause(struct probe *p, enum lease_event event)
{
    enum lease_state state = p->lease.state;

    switch (event) {
    case LEASE_EVENT_ASK:
        lease_ask(&p->lease, zero);
        return true;
    case LEASE_EVENT_DROP: /* only out of a question that was not sent */
        if (state != LEASE_ASKING)
            return false;
        assert_true(lease_drop(&p->lease, zero));
        return true;
    case LEASE_EVENT_MISS:
        cause_answer(p, (struct store_reply){ .status = STORE_NO_ANSWER });
        return true;
    case LEASE_EVENT_REJECT:
        cause_answer(p, (struct store_reply){ .status = STORE_ERROR });
        return true;
    case LEASE_EVENT_DUE: /* only where nothing is out */
        if (state != LEASE_HELD)
            p->fake.port.cancel(&p->fake, &p->lease.call);
        p->lease.wake = zero;
        lease_tick(&p->lease, zero);
        return true;
    case LEASE_EVENT_END:
        lease_finish(&p->lease, zero);
        return true;
    case LEASE_EVENT_REFUSE:
    case LEASE_EVENT_GRANT:
        if (state == LEASE_RENEWING || state == LEASE_CLOSING)
            return false; /* any answer there is one to renew, or to finish */
        cause_answer(p, (struct store_reply){ .acquire = { .answer = event == LEASE_EVENT_GRANT
                                                                         ? ACQUIRE_GRANTED
                                                                         : ACQUIRE_DONE } });
        return true;
    case LEASE_EVENT_CONFIRM:
    case LEASE_EVENT_TAKE:
        if (state != LEASE_RENEWING)
            return false;
        cause_answer(
            p, (struct store_reply){
                   .renew = { .answer = event == LEASE_EVENT_TAKE ? RENEW_LOST : RENEW_RENEWED } });
        return true;
    case LEASE_EVENT_RECORD:
        if (state != LEASE_CLOSING)
            return false;
        cause_answer(p, (struct store_reply){ .status = STORE_ANSWERED });
        return true;
    case LEASE_EVENT_EXPIRE: /* followed at once by the question of a new token */
        if (state != LEASE_UNKNOWN)
            return false;
        return fake_send(&p->fake, boot_add(zero, p->spec.timing.lease_ms));
    case LEASE_EVENT_USELESS:
        if (state != LEASE_RENEWING)
            return false;
        assert_false(fake_send(&p->fake, boot_add(zero, p->spec.timing.budget_ms)));
        return true;
    default:
        fail_msg("event %d is not in this test", (int)event);
        return false;
    }
}

static void test_every_cell(void **state)
{
    unsigned legal = 0, illegal_seen = 0;

    (void)state;
    for (enum lease_state s = 0; s < LEASE_STATE_COUNT; s++)
        for (enum lease_event e = 0; e < LEASE_EVENT_COUNT; e++) {
            struct probe p;
            enum lease_state next = s;
            bool is_legal = lease_cell(s, e, &next);

            probe_init(&p);
            to_state(&p, s);
            assert_string_equal(lease_state_name(p.lease.state), lease_state_name(s));
            if (cause(&p, e)) {
                if (p.lease.state != next || p.illegal != !is_legal)
                    fail_msg("%s in %s leads to %s", lease_event_name(e), lease_state_name(s),
                             lease_state_name(p.lease.state));
                legal += is_legal;
                illegal_seen += !is_legal;
            }
            probe_done(&p);
        }
    assert_int_equal(legal, 26); /* all but DROP in NONE, which nobody can cause */
    assert_true(illegal_seen >= 25);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(lease_state_name(LEASE_UNKNOWN), "UNKNOWN");
    assert_string_equal(lease_event_name(LEASE_EVENT_RECORD), "RECORD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cell),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
