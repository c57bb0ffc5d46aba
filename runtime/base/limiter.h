/* SPDX-License-Identifier: MIT
 * base/limiter.h: which of many like lines are said, and which only counted.
 *
 * Lines of one kind have one account. Of a kind that was quiet LIMITER_BURST lines are said; what
 * comes besides within LIMITER_WINDOW_MS of the first is held back, and its number is told when
 * that window ends. While they go on coming, each further window is twice as long, up to
 * LIMITER_WINDOW_MAX_MS, and has one line and the number of the others. A window in which nothing
 * was held back is the last: the kind is as new.
 *
 * Lines that say that something is over belong to the account of what began it. Such a line is said
 * if the last beginning was; if that was held back, so is its end.
 *
 * Pure: the time is an argument. */
#ifndef ROTA_BASE_LIMITER_H
#define ROTA_BASE_LIMITER_H
#include "base/time.h"

#define LIMITER_BURST 10
#ifndef LIMITER_WINDOW_MS                 /* a test gives another */
#define LIMITER_WINDOW_MS INT64_C(600000) /* 10 min */
#endif
#define LIMITER_WINDOW_MAX_MS INT64_C(3600000) /* 1 h */
/* Kinds at a time; lines of further ones are not limited. */
#define LIMITER_ACCOUNTS 64

struct limiter_account {
    uint64_t kind;
    struct boot since; /* the window's begin */
    int64_t window_ms; /* 0: the account is free */
    uint32_t left;     /* lines that may still be said in this window */
    uint32_t held;     /* lines held back in this window */
    bool open;         /* the last beginning was said, and its end was not yet */
    bool held_over;    /* the last line held back was an end */
};

/* Zeroed at first. */
struct limiter {
    struct limiter_account accounts[LIMITER_ACCOUNTS];
};

/* NULL where the line is to be said, else the account in which it was counted. over: it says that
 * something is over. *ret_silence_ms is set where the line is to be said, and is the last of its
 * kind that is, for so long at most. */
struct limiter_account *limiter_ask(struct limiter *l, uint64_t kind, bool over, struct boot now,
                                    int64_t *ret_silence_ms);
/* The end of the earliest window that has lines held back; else BOOT_NEVER. */
struct boot limiter_due(const struct limiter *l);
/* An account of a kind that is `kind` under `mask`, with lines held back in a window that ends by
 * then; or NULL. */
struct limiter_account *limiter_next(struct limiter *l, uint64_t mask, uint64_t kind,
                                     struct boot by);
/* a->held lines are told, at its window's end or before: the next window begins. */
void limiter_told(struct limiter_account *a, struct boot now);
#endif
