/* SPDX-License-Identifier: MIT */
#include "base/limiter.h"
#include <stddef.h>

static struct boot end_of(const struct limiter_account *a)
{
    return boot_add(a->since, a->window_ms);
}

static bool is_free(const struct limiter_account *a, struct boot now)
{
    return a->window_ms == 0 || (a->held == 0 && boot_reached(now, end_of(a)));
}

/* The account of `kind`, else a free one, else NULL. */
static struct limiter_account *find(struct limiter *l, uint64_t kind, struct boot now)
{
    struct limiter_account *found = NULL;

    for (size_t i = 0; i < LIMITER_ACCOUNTS; i++) {
        struct limiter_account *a = &l->accounts[i];

        if (is_free(a, now))
            found = a;
        else if (a->kind == kind)
            return a;
    }
    return found;
}

struct limiter_account *limiter_ask(struct limiter *l, uint64_t kind, bool over, struct boot now,
                                    int64_t *ret_silence_ms)
{
    struct limiter_account *a = find(l, kind, now);

    if (!a)
        return NULL;
    if (is_free(a, now)) {
        if (over)
            return NULL; /* nothing of the kind was held back */
        *a = (struct limiter_account){
            .kind = kind, .since = now, .window_ms = LIMITER_WINDOW_MS, .left = LIMITER_BURST
        };
    }
    if (over ? a->open : a->left > 0) {
        a->left -= !over;
        a->open = !over;
        if (a->left == 0 && !over)
            *ret_silence_ms = a->window_ms;
        return NULL;
    }
    a->held += a->held < UINT32_MAX;
    a->held_over = over;
    return a;
}

struct boot limiter_due(const struct limiter *l)
{
    struct boot due = BOOT_NEVER;

    for (size_t i = 0; i < LIMITER_ACCOUNTS; i++)
        if (l->accounts[i].held > 0)
            due = boot_min(due, end_of(&l->accounts[i]));
    return due;
}

struct limiter_account *limiter_next(struct limiter *l, uint64_t mask, uint64_t kind,
                                     struct boot by)
{
    for (size_t i = 0; i < LIMITER_ACCOUNTS; i++) {
        struct limiter_account *a = &l->accounts[i];

        if (a->held > 0 && (a->kind & mask) == kind && boot_reached(by, end_of(a)))
            return a;
    }
    return NULL;
}

void limiter_told(struct limiter_account *a, struct boot now)
{
    int64_t window_ms = 2 * a->window_ms;

    *a = (struct limiter_account){
        .kind = a->kind,
        .since = now,
        .window_ms = window_ms < LIMITER_WINDOW_MAX_MS ? window_ms : LIMITER_WINDOW_MAX_MS,
        .left = 1,
        .open = !a->held_over,
    };
}
