/* SPDX-License-Identifier: MIT
 * differ/play.h: random steps that are likely to meet each other: runs that go on, repeat and
 * end late, turns around the present ones, clocks that stop at the instants that matter. */
#ifndef ROTA_TESTS_DIFFER_PLAY_H
#define ROTA_TESTS_DIFFER_PLAY_H
#include "redis/differ/sides.h"

#define PLAY_RUNS 12

/* A grant that was heard. */
struct play_run {
    int64_t job, token, turn, attempt, fence;
};

/* Kinds of answers that a play has to meet. */
#define PLAY_ANSWERS 26

struct play {
    uint64_t random;
    int64_t tokens;                  /* so many were used */
    struct play_run runs[PLAY_RUNS]; /* the newest ones, by no order */
    unsigned run_count;              /* ever */
    int64_t prints[SIDES_JOBS];      /* the schedule that most devices have */
    int64_t before_jump_ms;          /* 0: the clock did not jump */
    int64_t edits;                   /* so many of 100 questions come by any schedule */
    int64_t keep_ms;                 /* the retention; 0: one of many each time */
    bool jumps;                      /* the clock does, sometimes */
    int64_t met[PLAY_ANSWERS];
};

/* Begins another play with the random numbers that follow. */
void play_reset(struct play *p);
/* What comes next, after what was done to `s`. */
struct step play_draw(struct play *p, const struct sides *s);
/* Takes note of what the step was answered. */
void play_note(struct play *p, const struct step *step, const struct sides *s);
/* Prints how often each kind of answer was met; false where one never was. */
bool play_report(const struct play *p);
#endif
