/* SPDX-License-Identifier: MIT */
#include "redis/sentinel_internal.h"
#include <string.h>

/* Without an answer for so long, the next one is asked as well. */
#define STEP_MS 500

static void close_peer(struct sentinel_finder *f, struct sentinel_peer *peer)
{
    if (f->watch == peer)
        f->watch = NULL;
    sentinel_peer_close(peer);
    (void)sd_event_source_set_enabled(f->sweep, SD_EVENT_ONESHOT);
}

static size_t count_asked(const struct sentinel_finder *f)
{
    size_t count = 0;

    for (size_t i = 0; i < f->order.count; i++)
        count += f->peers[i].asked ? 1 : 0;
    return count;
}

/* The last quarter of the time is for what they name. */
static int64_t whole_ms(const struct sentinel_finder *f)
{
    return f->settings->connect_timeout_ms - f->settings->connect_timeout_ms / 4;
}

/* All get their turn, however short the time. */
static int64_t step_ms(const struct sentinel_finder *f)
{
    int64_t share_ms = whole_ms(f) / (int64_t)(f->order.count + 1);

    return share_ms < STEP_MS ? share_ms : STEP_MS;
}

static void end_round(struct sentinel_finder *f)
{
    f->asking = false;
    f->step_at = BOOT_NEVER;
    f->deadline = BOOT_NEVER;
}

/* Who watches does so on, if it was not asked in vain. */
static void fail_round(struct sentinel_finder *f)
{
    end_round(f);
    for (size_t i = 0; i < f->order.count; i++)
        if (f->peers[i].asked)
            close_peer(f, &f->peers[i]);
    sentinel_not_found(f);
}

static void ask_next(struct sentinel_finder *f)
{
    size_t number;

    f->step_at = BOOT_NEVER;
    while (sentinel_order_next(&f->order, &number)) {
        struct sentinel_peer *peer = &f->peers[number];

        if (sentinel_peer_ask(peer) == 0) {
            peer->asked = true;
            f->step_at = boot_add(redis_link_now(), step_ms(f));
            return;
        }
        sentinel_round_failed(&f->round, f->settings->sentinels[number].text, FAULT_LINK,
                              "memory is short");
    }
    if (count_asked(f) == 0)
        fail_round(f);
}

void sentinel_ask(struct sentinel_finder *f, bool others)
{
    for (size_t i = 0; i < f->order.count; i++)
        f->peers[i].asked = false;
    f->round = (struct sentinel_round){ 0 };
    f->asking = true;
    f->again_at = BOOT_NEVER;
    f->deadline = boot_add(redis_link_now(), whole_ms(f));
    sentinel_order_begin(&f->order, others);
    ask_next(f);
    sentinel_ask_rearm(f);
}

void sentinel_ask_stop(struct sentinel_finder *f)
{
    end_round(f);
    f->again_at = BOOT_NEVER;
    for (size_t i = 0; i < f->order.count; i++)
        close_peer(f, &f->peers[i]);
    sentinel_ask_rearm(f);
}

/* The first address counts, and who has said it is listened to from now on. */
static void take(struct sentinel_finder *f, struct sentinel_peer *peer,
                 const struct sentinel_address *address)
{
    end_round(f);
    for (size_t i = 0; i < f->order.count; i++)
        if (&f->peers[i] != peer && f->peers[i].open)
            close_peer(f, &f->peers[i]);
    f->watch = peer;
    f->again_at = BOOT_NEVER;
    backoff_reset(&f->backoff);
    sentinel_order_answered(&f->order, (size_t)(peer - f->peers));
    sentinel_found(f, address);
}

/* Who has named no address is of no use any more. In a round the next one is asked only for one
 * that was asked in it: the next may be this very one, which is not to be asked from its own
 * callback. */
static void leave(struct sentinel_finder *f, struct sentinel_peer *peer)
{
    bool asked = peer->asked, watched = f->watch == peer;

    close_peer(f, peer);
    if (f->asking && asked)
        ask_next(f);
    else if (watched && !f->asking)
        sentinel_unwatched(f);
}

static void on_answered(void *context, struct sentinel_peer *peer,
                        const struct sentinel_address *address)
{
    struct sentinel_finder *f = context;

    if (address) {
        peer->asked = false;
        take(f, peer, address);
    } else {
        f->round.unknown++;
        leave(f, peer);
    }
    sentinel_ask_rearm(f);
}

static void on_failed(void *context, struct sentinel_peer *peer, enum fault class,
                      const char *reason)
{
    struct sentinel_finder *f = context;

    sentinel_round_failed(&f->round, peer->all->sentinels[peer->number].text, class, reason);
    leave(f, peer);
    sentinel_ask_rearm(f);
}

const struct sentinel_peer_owner sentinel_ask_owner = { .answered = on_answered,
                                                        .failed = on_failed };

static void give_up(struct sentinel_finder *f)
{
    struct redis_fault silence;

    redis_fault_of_silence("answer", whole_ms(f), &silence);
    for (size_t i = 0; i < f->order.count; i++)
        if (f->peers[i].asked)
            sentinel_round_failed(&f->round, f->settings->sentinels[i].text, silence.class,
                                  silence.reason);
    fail_round(f);
}

void sentinel_ask_on_time(struct sentinel_finder *f, struct boot now)
{
    if (f->asking && boot_reached(now, f->deadline))
        give_up(f);
    else if (f->asking && boot_reached(now, f->step_at))
        ask_next(f);
    else if (boot_reached(now, f->again_at))
        sentinel_ask(f, true);
    sentinel_ask_rearm(f);
}

void sentinel_ask_rearm(struct sentinel_finder *f)
{
    /* Where it cannot be set, the link's own deadline ends the question. */
    (void)redis_alarm_set(&f->alarm, boot_min(boot_min(f->step_at, f->deadline), f->again_at));
}
