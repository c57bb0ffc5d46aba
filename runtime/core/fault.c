/* SPDX-License-Identifier: MIT */
#include "core/fault.h"
#include "base/units.h"

/* What passes by itself mostly does so within seconds. */
#define SOON .min_ms = 500, .max_ms = MINUTE_MS
/* What waits for a person, or for memory to be freed: not a command more than it takes to notice.
 */
#define SLOW .min_ms = 5 * SECOND_MS, .max_ms = 5 * MINUTE_MS

struct policy {
    const char *name;
    int64_t min_ms, max_ms; /* windows between two tries of one command */
    bool shared;
};

static const struct policy policies[FAULT_COUNT] = {
    [FAULT_NONE] = { "none", SOON },
    [FAULT_LINK] = { "link", SOON, .shared = true },
    [FAULT_ALIEN] = { "alien", SOON, .shared = true },
    [FAULT_BUSY] = { "busy", SOON, .shared = true },
    [FAULT_STORAGE] = { "storage", SLOW, .shared = true },
    [FAULT_REPLICA] = { "replica", SOON, .shared = true },
    [FAULT_CLOCK] = { "clock", SOON, .shared = true },
    [FAULT_OPERATOR] = { "operator", SLOW },
    [FAULT_UNKNOWN] = { "unknown", SLOW },
    [FAULT_OURS] = { "ours", SOON },
};

const char *fault_name(enum fault fault)
{
    return policies[fault].name;
}

bool fault_is_shared(enum fault fault)
{
    return policies[fault].shared;
}

static int64_t limited(int64_t window_ms, int64_t limit_ms)
{
    return limit_ms > 0 && window_ms > limit_ms ? limit_ms : window_ms;
}

void fault_set_windows(enum fault fault, int64_t limit_ms, struct backoff *b)
{
    b->min_ms = limited(policies[fault].min_ms, limit_ms);
    b->max_ms = limited(policies[fault].max_ms, limit_ms);
}
