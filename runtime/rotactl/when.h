/* SPDX-License-Identifier: MIT
 * rotactl/when.h: an instant as people write it, and read it. */
#ifndef ROTA_ROTACTL_WHEN_H
#define ROTA_ROTACTL_WHEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "2026-11-30", "2026-11-30 02:30", "2026-11-30T02:30:05Z", in UTC, of the years 1970 to 9999;
 * "now", "today", "yesterday" (their midnight, UTC); "2d", "90m": so long before now. 0 and Unix
 * milliseconds; -EINVAL. */
int when_parse(const char *text, int64_t now_ms, int64_t *ret_ms);

#define WHEN_SIZE 32

/* Unix milliseconds as people read them, to the day from now: "today 02:30", "yesterday 02:30",
 * "tomorrow 02:30", "Sun 04:00" within six days, else "2026-12-24 04:00"; with seconds where there
 * are any. In UTC, or the local zone. Returns buf, of WHEN_SIZE. */
char *when_say(int64_t ms, int64_t now_ms, bool local, char *buf);
/* The day alone: "today", "Sunday", "2026-12-24". */
char *when_day_name(int64_t ms, int64_t now_ms, bool local, char *buf);
/* The time of day alone: "02:30", with seconds where there are any. */
char *when_time(int64_t ms, bool local, char *buf);
/* when_say() for a narrow column: today's without the day, and "Sun 04:00" for yesterday's, too. */
char *when_say_short(int64_t ms, int64_t now_ms, bool local, char *buf);
/* The same, but "02:30 today". */
char *when_say_last(int64_t ms, int64_t now_ms, bool local, char *buf);
/* when_say_short() with the seconds in any case. */
char *when_say_exact(int64_t ms, int64_t now_ms, bool local, char *buf);
/* "2026-12-24". Returns buf, of WHEN_SIZE. */
char *when_day(int64_t ms, bool local, char *buf);
/* "14:03:12 UTC", or with the zone's own name. */
char *when_clock(int64_t ms, bool local, char *buf);
/* A time that goes on while it is read, in whole seconds: "47 s"; "0 s" for what is less. */
char *when_say_span(int64_t ms, char *buf);
#endif
