/* SPDX-License-Identifier: MIT
 * differ/play.h: random steps that are likely to meet each other: runs that go on, repeat and
 * end late, turns around the present ones, clocks that stop at the instants that matter. */
#ifndef ROTA_TESTS_DIFFER_PLAY_H
#define ROTA_TESTS_DIFFER_PLAY_H
#include "redis/differ/sides.h"

#define PLAY_RUNS 12

/* A grant that was heard. */
struct play_run {
    int64_t job, scope, device, token, turn, attempt, fence;
};

/* Kinds of answers that a play has to meet, at most. */
#define PLAY_ANSWERS 100

/* What most devices have of a job. */
struct play_job {
    int64_t scope, most, brake, version, config, print;
};

struct play {
    uint64_t random;
    int64_t tokens;                  /* so many were used */
    struct play_run runs[PLAY_RUNS]; /* the newest ones, by no order */
    unsigned run_count;              /* ever */
    struct play_job jobs[SIDES_JOBS];
    int64_t before_jump_ms; /* 0: the clock did not jump */
    int64_t edits;          /* so many of 100 questions come by any schedule */
    int64_t mixed;          /* ... by any configuration, scope or version */
    int64_t keep_ms;        /* the retention; 0: one of many each time */
    int64_t fleets;         /* so many of 100 steps are about the fleet */
    int64_t digests;        /* that there are */
    int64_t devices;        /* that there are */
    bool jumps;             /* the clock does, sometimes */
    bool calm;              /* it only goes on a little */
    bool crowd;             /* many devices want one seat, and come back when told */
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

/* What the files of this test share. */

/* Uniform in least ... greatest. */
int64_t play_between(struct play *p, int64_t least, int64_t greatest);
bool play_chance(struct play *p, int64_t of_100);
int64_t play_pick(struct play *p, const int64_t *values, size_t count);
#define PLAY_PICK(p, ...)                                                                          \
    play_pick(p, (const int64_t[]){ __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / 8)
/* Counts the answer. */
void play_meet(struct play *p, const struct step *step, const struct store_reply *reply);
/* An instant at which something changes, its neighbours, or some time later or earlier. */
int64_t play_clock(struct play *p, const struct sides *s);
#endif
