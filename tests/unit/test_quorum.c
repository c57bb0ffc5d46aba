/* SPDX-License-Identifier: MIT
 * What the answers of several servers amount to, held against a plain account of it, for all mixes
 * of answers in all orders where they can be counted: for three servers and five, and for seven
 * those that matter. */
#include "core/quorum.h"
#include "support/bench.h"
#include <string.h>

#define ALPHA "alpha:00000000000000000000000000000001"
#define BRAVO "bravo:00000000000000000000000000000002"
#define NEVER INT64_MAX
#define SENT ((struct boot){ 1000 })

/* --- answers to acquire --- */

/* One of each kind that may matter, and what a plain reader makes of it. */
struct sample {
    const char *name;
    enum store_status status;
    enum acquire_answer answer;
    int64_t left_ms;
    const char *holder, *why;
    bool absent; /* not asked at all */
};

static const struct sample samples[] = {
    { .name = "granted", .answer = ACQUIRE_GRANTED },
    { .name = "held by alpha", .answer = ACQUIRE_HELD, .left_ms = 5000, .holder = ALPHA },
    { .name = "held by bravo", .answer = ACQUIRE_HELD, .left_ms = 7000, .holder = BRAVO },
    { .name = "wait", .answer = ACQUIRE_WAIT, .left_ms = 3000, .why = "blank" },
    { .name = "assumed", .answer = ACQUIRE_DONE, .why = "assumed" },
    { .name = "not asked", .absent = true },
    { .name = "lost", .status = STORE_NO_ANSWER },
    { .name = "error", .status = STORE_ERROR },
    { .name = "done", .answer = ACQUIRE_DONE, .holder = BRAVO },
    { .name = "exhausted", .answer = ACQUIRE_EXHAUSTED },
    { .name = "paused", .answer = ACQUIRE_PAUSED, .left_ms = -1, .why = "anna: wait" },
    { .name = "passed", .answer = ACQUIRE_PASSED },
    { .name = "early", .answer = ACQUIRE_EARLY, .left_ms = 40 },
    { .name = "a day early", .answer = ACQUIRE_EARLY, .left_ms = 86400000 },
    { .name = "over", .answer = ACQUIRE_OVER, .why = "released" },
    { .name = "spare", .answer = ACQUIRE_SPARE },
    { .name = "held for ever", .answer = ACQUIRE_HELD, .left_ms = -1, .holder = "cron" },
    { .name = "outdated", .answer = ACQUIRE_OUTDATED },
    { .name = "newer", .answer = ACQUIRE_NEWER },
    { .name = "mismatch", .answer = ACQUIRE_MISMATCH },
};

#define SAMPLES COUNT_OF(samples)

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static struct store_reply reply_of(const struct sample *x, unsigned place)
{
    struct store_reply reply = { .status = x->status,
                                 .sent = SENT,
                                 .received = boot_add(SENT, 10 + place),
                                 .server = { 1700000000000 } };

    if (x->status != STORE_ANSWERED) {
        reply.fault = x->status == STORE_ERROR ? FAULT_STORAGE : FAULT_LINK;
        reply.error = x->name;
        return reply;
    }
    reply.acquire.answer = x->answer;
    reply.acquire.left_ms = x->left_ms;
    reply.acquire.holder = text_of(x->holder);
    reply.acquire.why = text_of(x->why);
    reply.acquire.print = reply.acquire.printer = "";
    reply.acquire.attempt = 1 + place;
    reply.acquire.fence = 77;
    reply.acquire.turn.ms = 500;
    reply.acquire.watch = x->answer == ACQUIRE_HELD ? 9 - place : 0;
    return reply;
}

/* --- the plain account --- */

enum verdict { UNDECIDED, SAID, UNKNOWN, FAILED };

struct account {
    enum verdict verdict;
    enum acquire_answer answer;
    int64_t left_ms; /* where the answer has one */
};

static bool knows_best(const struct sample *x)
{
    return x->status == STORE_ANSWERED && !x->absent &&
           (x->answer == ACQUIRE_SPARE || (x->answer == ACQUIRE_DONE && x->holder));
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* When the server could grant; -1: it has said nothing that counts. */
static int64_t free_at(const struct sample *x, bool held_is_free, bool clocks_agree)
{
    if (x->absent || x->status != STORE_ANSWERED)
        return -1;
    switch (x->answer) {
    case ACQUIRE_GRANTED:
        return 0;
    case ACQUIRE_HELD:
        return held_is_free ? 0 : x->left_ms < 0 ? NEVER : x->left_ms;
    case ACQUIRE_WAIT:
        return x->left_ms;
    case ACQUIRE_EARLY:
        return x->left_ms > 60000 && !clocks_agree ? -1 : x->left_ms;
    default:
        return NEVER;
    }
}

struct guess {
    bool held_is_free, clocks_agree;
    unsigned free_besides; /* of those that have said nothing yet */
};

/* The instant by which a majority can grant, or NEVER. */
static int64_t majority_at(const struct sample *const *said, unsigned count, unsigned majority,
                           const struct guess *guess)
{
    int64_t times[QUORUM_SERVERS_MAX] = { 0 };
    unsigned known = guess->free_besides;

    for (unsigned i = 0; i < count; i++) {
        int64_t at = free_at(said[i], guess->held_is_free, guess->clocks_agree);

        if (at >= 0)
            times[known++] = at;
    }
    qsort(times, known, sizeof times[0], by_time);
    return known >= majority ? times[majority - 1] : NEVER;
}

static unsigned count_answer(const struct sample *const *said, unsigned count,
                             enum acquire_answer answer, const char *holder)
{
    unsigned same = 0;

    for (unsigned i = 0; i < count; i++)
        same += !said[i]->absent && said[i]->status == STORE_ANSWERED &&
                said[i]->answer == answer &&
                (!holder || strcmp(text_of(said[i]->holder), holder) == 0);
    return same;
}

static const enum acquire_answer settling[] = { ACQUIRE_NEWER,  ACQUIRE_OUTDATED,  ACQUIRE_MISMATCH,
                                                ACQUIRE_DONE,   ACQUIRE_EXHAUSTED, ACQUIRE_PAUSED,
                                                ACQUIRE_PASSED, ACQUIRE_OVER };

static enum acquire_answer commonest(const struct sample *const *said, unsigned count)
{
    unsigned best = 0;

    for (unsigned i = 1; i < COUNT_OF(settling); i++)
        if (count_answer(said, count, settling[i], NULL) >
            count_answer(said, count, settling[best], NULL))
            best = i;
    return settling[best];
}

static struct account say(enum acquire_answer answer, int64_t left_ms)
{
    return (struct account){ SAID, answer, left_ms };
}

/* Who has said something that no clock makes void. */
static unsigned count_heard(const struct sample *const *said, unsigned count, bool clocks_agree)
{
    unsigned heard = 0;

    for (unsigned i = 0; i < count; i++)
        heard += free_at(said[i], false, clocks_agree) >= 0;
    return heard;
}

static unsigned most_of_one_holder(const struct sample *const *said, unsigned count)
{
    static const char *const holders[] = { ALPHA, BRAVO, "cron" };
    unsigned most = 0;

    for (unsigned i = 0; i < COUNT_OF(holders); i++)
        if (count_answer(said, count, ACQUIRE_HELD, holders[i]) > most)
            most = count_answer(said, count, ACQUIRE_HELD, holders[i]);
    return most;
}

/* After the last of `said` came in, and with `out` to come. */
static struct account account_of(const struct sample *const *said, unsigned count, unsigned out,
                                 unsigned majority)
{
    unsigned grants = count_answer(said, count, ACQUIRE_GRANTED, NULL), settled = 0;
    unsigned early = count_answer(said, count, ACQUIRE_EARLY, NULL), heard;
    bool agree = early >= majority;
    unsigned held = most_of_one_holder(said, count), missed = 0;
    int64_t at = majority_at(said, count, majority, &(struct guess){ true, agree, 0 });

    if (knows_best(said[count - 1]))
        return say(said[count - 1]->answer, 0);
    if (grants >= majority)
        return say(ACQUIRE_GRANTED, 0);
    if (grants + out >= majority)
        return (struct account){ .verdict = UNDECIDED };
    if (held >= majority) {
        at = majority_at(said, count, majority, &(struct guess){ false, agree, 0 });
        return say(ACQUIRE_HELD, at == NEVER ? -1 : at);
    }
    for (unsigned i = 0; i < COUNT_OF(settling); i++)
        settled += count_answer(said, count, settling[i], NULL);
    heard = count_heard(said, count, agree);
    if (out > 0 && settled < majority &&
        (at == NEVER || held + out >= majority ||
         majority_at(said, count, majority, &(struct guess){ true, agree, out }) < at - 100))
        return (struct account){ .verdict = UNDECIDED };
    for (unsigned i = 0; i < count; i++)
        missed += !said[i]->absent && said[i]->status == STORE_NO_ANSWER;
    if (heard < majority)
        return (struct account){ .verdict = missed > 0 ? UNKNOWN : FAILED };
    if (at == NEVER)
        return say(commonest(said, count), 0);
    if (at > 0)
        return say(agree ? ACQUIRE_EARLY : ACQUIRE_WAIT, at);
    return say(ACQUIRE_SPLIT, -2);
}

/* --- plays --- */

static const struct store_request question = { .verb = STORE_ACQUIRE,
                                               .token = ALPHA,
                                               .turn = { 500 } };

static bool is_asked(const struct sample *x)
{
    return !x->absent;
}

static void describe(const struct sample *const *said, unsigned servers)
{
    for (unsigned i = 0; i < servers; i++)
        print_message("server %u: %s\n", i, said[i]->name);
}

static bool has_no_left(enum acquire_answer answer)
{
    return answer != ACQUIRE_HELD && answer != ACQUIRE_WAIT && answer != ACQUIRE_EARLY;
}

static bool is_right(const struct account *a, const struct store_reply *r)
{
    if (a->verdict == UNKNOWN || a->verdict == FAILED)
        return r->status == (a->verdict == UNKNOWN ? STORE_NO_ANSWER : STORE_ERROR) &&
               r->fault != FAULT_NONE && r->error[0];
    if (r->status != STORE_ANSWERED || r->acquire.answer != a->answer || r->acquire.fence != 0)
        return false;
    if (a->answer == ACQUIRE_SPLIT)
        return r->acquire.left_ms >= 50 && r->acquire.left_ms <= 550;
    return has_no_left(a->answer) || r->acquire.left_ms == a->left_ms;
}

/* What was granted, or may have been, goes back where the round came to nothing; else nothing. */
static bool gives_back_rightly(const struct quorum_round *round, const struct sample *const *said,
                               unsigned servers, const struct store_reply *decided)
{
    bool kept = decided->status == STORE_NO_ANSWER ||
                (decided->status == STORE_ANSWERED && (decided->acquire.answer == ACQUIRE_GRANTED ||
                                                       decided->acquire.answer == ACQUIRE_SPARE));

    for (unsigned i = 0; i < servers; i++) {
        const struct sample *x = said[i];
        bool has = is_asked(x) && (x->status == STORE_NO_ANSWER ||
                                   (x->status == STORE_ANSWERED &&
                                    (x->answer == ACQUIRE_GRANTED || x->answer == ACQUIRE_SPARE)));
        uint32_t attempt = 0;
        struct wall turn = { 0 };

        if (quorum_gives_back(round, i, &attempt, &turn) != (has && !kept))
            return false;
        if (has && !kept && x->status == STORE_ANSWERED && attempt != 1 + i)
            return false;
        if (has && !kept && turn.ms != 500)
            return false;
        if (has && !kept && x->status == STORE_ANSWERED && !decided->spent)
            return false;
    }
    return true;
}

/* All of it, in the order of the servers. False where an answer is not the account's. */
static bool play(const struct sample *const *said, unsigned servers)
{
    unsigned asked = 0, out = 0, majority = servers / 2 + 1, decisions = 0;
    struct store_reply merged, decided = { 0 };
    struct quorum_clock clock = { 0 };
    struct quorum_round round;

    for (unsigned i = 0; i < servers; i++)
        if (is_asked(said[i])) {
            asked |= 1U << i;
            out++;
        }
    if (out < majority)
        return true;
    quorum_init(&round, &clock, &(struct quorum_asked){ servers, asked, SENT }, &question);
    for (unsigned i = 0; i < servers; i++) {
        struct store_reply reply = reply_of(said[i], i);
        struct account a;

        if (!is_asked(said[i]))
            continue;
        a = account_of(said, i + 1, --out, majority);
        if (!quorum_take(&round, i, &reply, &merged)) {
            if (decisions == 0 && a.verdict != UNDECIDED)
                return false;
            continue;
        }
        if (decisions++ > 0 || a.verdict == UNDECIDED || !is_right(&a, &merged) ||
            merged.sent.ms != SENT.ms || merged.received.ms != reply.received.ms)
            return false;
        decided = merged;
    }
    return decisions == 1 && gives_back_rightly(&round, said, servers, &decided);
}

/* All mixes of the first `kinds` samples, in all orders. */
static void play_all(unsigned servers, unsigned kinds)
{
    unsigned digit[QUORUM_SERVERS_MAX] = { 0 };
    const struct sample *said[QUORUM_SERVERS_MAX];
    unsigned place = 0;

    while (place < servers) {
        for (unsigned i = 0; i < servers; i++)
            said[i] = &samples[digit[i]];
        if (!play(said, servers)) {
            describe(said, servers);
            fail_msg("an answer of %u servers is not what it should be", servers);
        }
        for (place = 0; place < servers && ++digit[place] == kinds; place++)
            digit[place] = 0;
    }
}

static void test_acquire_of_three(void **state)
{
    (void)state;
    play_all(3, SAMPLES);
}

static void test_acquire_of_five(void **state)
{
    (void)state;
    play_all(5, 13);
}

static void test_acquire_of_seven(void **state)
{
    struct unit_random random = unit_random_begin();
    const struct sample *said[7];

    (void)state;
    play_all(7, 6);
    for (int round = 0; round < 200000; round++) {
        for (unsigned i = 0; i < 7; i++)
            said[i] = &samples[unit_random_in(&random, 0, SAMPLES - 1)];
        if (!play(said, 7)) {
            describe(said, 7);
            fail_msg("an answer of seven servers is not what it should be");
        }
    }
}

static void test_majorities(void **state)
{
    (void)state;
    assert_int_equal(quorum_majority(3), 2);
    assert_int_equal(quorum_majority(5), 3);
    assert_int_equal(quorum_majority(7), 4);
    assert_true(sizeof(struct quorum_round) < 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_majorities),
        cmocka_unit_test(test_acquire_of_three),
        cmocka_unit_test(test_acquire_of_five),
        cmocka_unit_test(test_acquire_of_seven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
