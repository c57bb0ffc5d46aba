/* SPDX-License-Identifier: MIT */
#include "core/device_clock.h"
#include <assert.h>

static enum device_clock_news doubt(struct device_clock *c, const struct device_clock_reading *r)
{
    bool before = c->doubted;

    c->says = r->says;
    if (before)
        return DEVICE_CLOCK_AS_BEFORE;
    c->doubted = true;
    c->since = r->at;
    return DEVICE_CLOCK_DOUBTED;
}

enum device_clock_news device_clock_take(struct device_clock *c,
                                         const struct device_clock_reading *r,
                                         int64_t *ret_moved_ms)
{
    int64_t offset = time_sub_ms(r->says.ms, r->at.ms);
    bool before = c->doubted;

    *ret_moved_ms = 0;
    if (!r->synchronised && r->says.ms < c->built.ms)
        return doubt(c, r);
    if (c->known)
        *ret_moved_ms = time_sub_ms(offset, c->offset_ms);
    c->known = true;
    c->doubted = false;
    c->offset_ms = offset;
    return before ? DEVICE_CLOCK_BELIEVED : DEVICE_CLOCK_AS_BEFORE;
}

struct wall device_clock_at(const struct device_clock *c, struct boot now)
{
    assert(c->known);
    return (struct wall){ time_add_ms(now.ms, c->offset_ms) };
}
