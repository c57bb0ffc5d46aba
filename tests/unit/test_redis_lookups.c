/* SPDX-License-Identifier: MIT
 * Names that several links ask for: one question is out at a time, each has its own answer. */
#include "redis/lookups.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>

struct place {
    struct redis_lookup lookup;
    unsigned answers;
    const char *why;
    struct place *asks; /* when it is answered; else NULL */
};

static struct redis_lookups lookups;
static struct redis_lookup *out;
static char asked[64];
static unsigned cancelled;
static int refuses; /* so many questions from now on */

static int resolve(void *context, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    (void)context;
    (void)port;
    assert_null(out);
    if (refuses > 0) {
        refuses--;
        return -EMFILE;
    }
    out = lookup;
    snprintf(asked, sizeof asked, "%s", host);
    return 0;
}

static void resolve_cancel(void *context, struct redis_lookup *lookup)
{
    (void)context;
    assert_ptr_equal(lookup, out);
    out = NULL;
    cancelled++;
}

static const struct redis_store_env env = { .resolve = resolve, .resolve_cancel = resolve_cancel };

static void on_done(struct redis_lookup *lookup, const struct redis_names *names, const char *why)
{
    struct place *p = (struct place *)lookup;

    p->answers++;
    p->why = why;
    assert_true(names == NULL || why == NULL);
    if (p->asks)
        assert_int_equal(redis_lookups_ask(&lookups, "again", 1, &p->asks->lookup), 0);
}

static void begin(struct place *places, size_t count)
{
    lookups = (struct redis_lookups){ .env = &env };
    out = NULL;
    cancelled = 0;
    refuses = 0;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){ .lookup.done = on_done };
}

static void ask(struct place *p, const char *host)
{
    assert_int_equal(redis_lookups_ask(&lookups, host, 1, &p->lookup), 0);
}

static void answer(const char *why)
{
    static const struct redis_names names = { 1, { "192.0.2.1" } };
    struct redis_lookup *lookup = out;

    assert_non_null(lookup);
    out = NULL;
    lookup->done(lookup, why ? NULL : &names, why);
}

static void test_one_after_the_other(void **state)
{
    struct place p[3], again = { .lookup.done = on_done };

    (void)state;
    begin(p, 3);
    p[0].asks = &again;
    ask(&p[0], "a");
    ask(&p[1], "b");
    ask(&p[2], "c");
    assert_string_equal(asked, "a");
    answer(NULL);
    assert_int_equal(p[0].answers, 1);
    assert_string_equal(asked, "b");
    answer("there is no such name");
    assert_string_equal(p[1].why, "there is no such name");
    assert_string_equal(asked, "c");
    answer(NULL);
    assert_string_equal(asked, "again");
    answer(NULL);
    assert_int_equal(again.answers, 1);
    assert_null(out);
    assert_null(lookups.first);
}

static void test_cancelled(void **state)
{
    struct place p[3];

    (void)state;
    begin(p, 3);
    for (size_t i = 0; i < 3; i++)
        ask(&p[i], (const char *[]){ "a", "b", "c" }[i]);
    redis_lookups_cancel(&lookups, &p[1].lookup); /* waits */
    assert_int_equal(cancelled, 0);
    redis_lookups_cancel(&lookups, &p[0].lookup); /* is out */
    assert_int_equal(cancelled, 1);
    assert_string_equal(asked, "c");
    redis_lookups_cancel(&lookups, &p[0].lookup); /* is not there any more */
    assert_int_equal(cancelled, 1);
    answer(NULL);
    assert_int_equal(p[0].answers + p[1].answers, 0);
    assert_int_equal(p[2].answers, 1);
}

static void test_what_cannot_be_asked_is_said_once(void **state)
{
    struct place p[3];

    (void)state;
    begin(p, 3);
    refuses = 1;
    assert_int_equal(redis_lookups_ask(&lookups, "a", 1, &p[0].lookup), -EMFILE);
    assert_null(lookups.first);
    for (size_t i = 0; i < 3; i++)
        ask(&p[i], "n");
    refuses = 1;
    answer(NULL);
    assert_string_equal(p[1].why, "its name cannot be resolved");
    assert_int_equal(p[1].answers, 1);
    assert_non_null(out);
    redis_lookups_done(&lookups);
    assert_int_equal(cancelled, 1);
    assert_int_equal(p[2].answers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_what_cannot_be_asked_is_said_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
