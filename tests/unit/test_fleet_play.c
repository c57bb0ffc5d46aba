/* SPDX-License-Identifier: MIT
 * Whole fleets in virtual time, with faults. What is demanded at every step stands in
 * support/world.c; here is how long it is played, and that the play was about something. ROTA_SEED
 * plays one again. */
#include "support/world.h"

#include "base/units.h"

#define PLAYS 12

/* After the last fault everything comes to rest by itself: the newest turns are done. */
static void check_quiet_end(struct world *w)
{
    w->quiet = true;
    world_play(w, 5 * MINUTE_MS);
    for (unsigned i = 0; i < WORLD_JOBS; i++) {
        const struct world_job *j = &w->jobs[i];
        struct wall latest = schedule_latest(&j->spec.schedule, (struct wall){ w->now_ms });

        if (j->done < latest.ms - j->spec.schedule.every_ms)
            fail_msg("job %u: nothing was done for %lld s at the end", i,
                     (long long)(latest.ms - j->done) / 1000);
    }
}

static void test_play(void **state)
{
    struct unit_random random = unit_random_begin();

    (void)state;
    for (int i = 0; i < PLAYS; i++) {
        struct world w;

        world_init(&w, (struct unit_random){ unit_random_next(&random) });
        world_play(&w, HOUR_MS);
        printf("%u runs, %u turns done, %u crashed, %u overran, %u lost; %u devices died, %u "
               "unanswered\n",
               w.seen.starts, w.seen.successes, w.seen.crashes, w.seen.overruns, w.seen.lost,
               w.seen.deaths, w.seen.unanswered);
        /* 360, 180 and 240 turns an hour; a third of the runs fail. */
        assert_true(w.seen.successes > 390);
        assert_true(w.seen.crashes > 10 && w.seen.overruns > 2 && w.seen.deaths > 10 &&
                    w.seen.unanswered > 50);
        check_quiet_end(&w);
        world_done(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_play) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
