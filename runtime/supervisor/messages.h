/* SPDX-License-Identifier: MIT
 * supervisor/messages.h: the kinds of rotad's own entries that people look up: MESSAGE_ID in the
 * journal, each explained in systemd/rota.catalog.
 *
 * An id is MESSAGE_FAMILY, random and made once, and two digits more. Ids are final: programs wait
 * for them, and catalogs explain them. A kind that is no longer said leaves a gap.
 *
 * The value goes into journal_log()'s first argument beside the level, so that a kind costs no byte
 * where it is said. Four ids are a topic, whose lines share one account where they are limited. */
#ifndef ROTA_SUPERVISOR_MESSAGES_H
#define ROTA_SUPERVISOR_MESSAGES_H

#define MESSAGE_FAMILY "f2222e95882d48b09233317e43e4c0"

#define MESSAGE_LEVEL(what) ((what)&7)
/* 0: none. */
#define MESSAGE_NUMBER(what) ((what) >> 3 & 0xff)
#define MESSAGE_TOPIC(what) (MESSAGE_NUMBER(what) & 0xfc)
/* Many like lines of one topic, and job, are counted in place of being said (base/limiter.h); also
 * those that have no id, as one topic. Not set where an operator has just asked for something and
 * waits for the answer. */
#define MESSAGE_LIMITED (1 << 11)
/* Besides: says that what another line of the topic began is over. */
#define MESSAGE_OVER (1 << 12)
/* Says that the job is well: what of its lines is held back is told first. */
#define MESSAGE_WELL (1 << 13)
/* Besides: whichever job has met it, it is a trouble of all. */
#define MESSAGE_SHARED (1 << 14)
/* Of the end of what `begin` began. */
#define MESSAGE_END_OF(begin) ((((begin) & ~7) + MESSAGE(1)) | MESSAGE_OVER)

#define MESSAGE(number) ((number) << 3)
#define LIMITED(number) (MESSAGE(number) | MESSAGE_LIMITED)
#define OVER(number) (LIMITED(number) | MESSAGE_OVER)

enum message_id {
    MESSAGE_RUN_DONE = MESSAGE(0x04) | MESSAGE_WELL, /* succeeded, nothing, stopped */
    MESSAGE_RUN_FAILED = LIMITED(0x08),
    MESSAGE_RUN_REFUSED = LIMITED(0x0c),
    MESSAGE_RUN_DECLINED = LIMITED(0x10),
    MESSAGE_RUN_CRASHED = LIMITED(0x14),
    MESSAGE_RUN_OVERRUN = LIMITED(0x18),
    MESSAGE_RUN_LOST = LIMITED(0x1c),
    MESSAGE_RUN_UNSTARTED = LIMITED(0x20),
    MESSAGE_GUARD_KILLED = LIMITED(0x24),
    MESSAGE_STUCK = LIMITED(0x28),
    MESSAGE_UNSTUCK = OVER(0x29),
    MESSAGE_UNAPPLIED = LIMITED(0x2c),
    MESSAGE_OUTLIVED = LIMITED(0xd4),
    MESSAGE_NEARLY_TOO_SLOW = MESSAGE(0xd8),
    MESSAGE_WORST_CASE_LARGE = MESSAGE(0xd9),

    MESSAGE_HAND_RUN = MESSAGE(0xdc),
    MESSAGE_HAND_STOP = MESSAGE(0xdd),
    MESSAGE_PAUSED_HERE = MESSAGE(0xe0),
    MESSAGE_RESUMED_HERE = MESSAGE(0xe1),

    MESSAGE_TAKEN_OVER = LIMITED(0x30),
    MESSAGE_GIVEN_UP = LIMITED(0x34),
    MESSAGE_LOCK_TAKEN = LIMITED(0x38),
    MESSAGE_LOCK_REGAINED = LIMITED(0x3c),
    MESSAGE_LOCK_BLOCKED = LIMITED(0x40),
    MESSAGE_ALONE = LIMITED(0x44),
    MESSAGE_TOO_LATE = LIMITED(0x48),
    MESSAGE_FIRST_SIGHT = MESSAGE(0x4c),
    MESSAGE_RECORD_VOID = LIMITED(0x50),
    MESSAGE_BRAKE = LIMITED(0x54),
    MESSAGE_PAUSED = MESSAGE(0x58),
    MESSAGE_RESUMED = MESSAGE(0x59),
    MESSAGE_MIXED = LIMITED(0x5c),
    MESSAGE_MISMATCH = LIMITED(0x60),
    MESSAGE_OUTDATED = LIMITED(0x64),
    MESSAGE_NEWER = LIMITED(0x68),
    MESSAGE_TWIN = LIMITED(0x6c),
    MESSAGE_CLOCK_JUMP = LIMITED(0x70),
    MESSAGE_CLOCK_DOUBTED = LIMITED(0x74),
    MESSAGE_CLOCK_BELIEVED = OVER(0x75),

    MESSAGE_REDIS_AWAY = LIMITED(0x80),
    MESSAGE_REDIS_BACK = OVER(0x81),
    MESSAGE_REDIS_UNUSABLE = LIMITED(0x82),
    MESSAGE_REDIS_BUSY = LIMITED(0x84) | MESSAGE_SHARED,
    MESSAGE_REDIS_NOT_BUSY = OVER(0x85) | MESSAGE_SHARED,
    MESSAGE_REDIS_FULL = LIMITED(0x88) | MESSAGE_SHARED,
    MESSAGE_REDIS_NOT_FULL = OVER(0x89) | MESSAGE_SHARED,
    MESSAGE_REDIS_REPLICA = LIMITED(0x8c) | MESSAGE_SHARED,
    MESSAGE_REDIS_NO_REPLICA = OVER(0x8d) | MESSAGE_SHARED,
    MESSAGE_REDIS_SETTING = LIMITED(0x90),
    MESSAGE_REDIS_SETTING_MENDED = OVER(0x91),
    MESSAGE_REDIS_ODD = LIMITED(0x94),
    MESSAGE_REDIS_NOT_ODD = OVER(0x95),
    MESSAGE_PASSWORD_CHANGED = MESSAGE(0x98),
    MESSAGE_PASSWORD_UNREADABLE = MESSAGE(0x99),
    MESSAGE_SERVER_AWAY = LIMITED(0x9c),
    MESSAGE_SERVER_BACK = OVER(0x9d),

    MESSAGE_READY = MESSAGE(0xa0),
    MESSAGE_STOPPING = MESSAGE(0xa4),
    MESSAGE_STOPPED_EARLY = MESSAGE(0xa5),
    MESSAGE_CANNOT_START = MESSAGE(0xa8),
    MESSAGE_JOB_INVALID = MESSAGE(0xac),
    MESSAGE_RELOADED = MESSAGE(0xb0),
    MESSAGE_RELOAD_REFUSED = MESSAGE(0xb1),
    MESSAGE_DRAINING = MESSAGE(0xb4),
    MESSAGE_UNDRAINED = MESSAGE(0xb5),
    MESSAGE_WATCHDOG_UNFED = LIMITED(0xb8),
    MESSAGE_WATCHDOG_FED = OVER(0xb9),
    MESSAGE_SHARED_USER = MESSAGE(0xbc),
    MESSAGE_NO_JOB_USER = MESSAGE(0xbd),
    MESSAGE_LINES_DROPPED = MESSAGE(0xc0),
    MESSAGE_BUG = LIMITED(0xc4),
    MESSAGE_NO_CGROUP = MESSAGE(0xcc),
    MESSAGE_NO_CONTROL = MESSAGE(0xd0),
    MESSAGE_METRICS_UNWRITTEN = MESSAGE(0xe4),
    MESSAGE_METRICS_WRITTEN = MESSAGE(0xe5),
};
#endif
