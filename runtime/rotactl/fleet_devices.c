/* SPDX-License-Identifier: MIT */
#include "rotactl/fleet_devices.h"
#include "base/units.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_device(sd_bus_message *m, void *context)
{
    struct fleet_devices *d = context;
    struct fleet_device device = { 0 };
    void *items = d->items;
    int rc = sd_bus_message_read(m, "(sxss)", &device.name, &device.heard, &device.version,
                                 &device.digest);

    if (rc <= 0)
        return rc;
    rc = kept_grow(&items, d->count, sizeof *d->items);
    d->items = items;
    if (rc < 0)
        return rc;
    d->items[d->count++] = device;
    return 1;
}

static int by_name(const void *a, const void *b)
{
    const struct fleet_device *one = a, *other = b;
    int order = strcmp(one->name, other->name);

    /* Of one that came twice, what was heard last. */
    return order != 0 ? order : (one->heard < other->heard) - (one->heard > other->heard);
}

static void sort(struct fleet_devices *d)
{
    size_t count = 0;

    if (d->count > 0)
        qsort(d->items, d->count, sizeof *d->items, by_name);
    for (size_t i = 0; i < d->count; i++)
        if (count == 0 || strcmp(d->items[count - 1].name, d->items[i].name) != 0)
            d->items[count++] = d->items[i];
    d->count = count;
}

int fleet_devices_ask(struct call *c, struct kept *k, struct fleet_devices *d)
{
    const struct pages pages = {
        .method = "FleetDevices", .row = "(sxss)", .read = read_device, .context = d
    };
    int rc = pages_ask(c, k, &pages, &d->now_ms);

    if (rc != 0)
        return rc;
    sort(d);
    for (size_t i = 0; i < d->count; i++) {
        /* A record may hold any number. */
        d->items[i].there = d->items[i].heard >= d->now_ms - FLEET_THERE_MS;
        d->there += d->items[i].there;
    }
    return 0;
}

void fleet_devices_done(struct fleet_devices *d)
{
    free(d->items);
    *d = (struct fleet_devices){ 0 };
}

/* --- how many say what --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct fleet_tally *)a)->text, ((const struct fleet_tally *)b)->text);
}

static int by_devices(const void *a, const void *b)
{
    const struct fleet_tally *one = a, *other = b;

    if (one->devices != other->devices)
        return one->devices < other->devices ? 1 : -1;
    return strcmp(one->text, other->text);
}

/* Makes one of those that are alike. The new count. */
static size_t merge(struct fleet_tally *t, size_t count)
{
    size_t merged = 0;

    qsort(t, count, sizeof *t, by_text);
    for (size_t i = 0; i < count; i++)
        if (merged > 0 && strcmp(t[merged - 1].text, t[i].text) == 0)
            t[merged - 1].devices++;
        else
            t[merged++] = t[i];
    qsort(t, merged, sizeof *t, by_devices);
    return merged;
}

int fleet_devices_tally(const struct fleet_devices *d,
                        const char *(*of)(const struct fleet_device *device),
                        struct fleet_tally **ret, size_t *ret_count)
{
    struct fleet_tally *t = calloc(d->there + 1, sizeof *t);
    size_t count = 0;

    if (!t)
        return -ENOMEM;
    for (size_t i = 0; i < d->count; i++)
        if (d->items[i].there && *of(&d->items[i]))
            t[count++] = (struct fleet_tally){ of(&d->items[i]), 1 };
    *ret_count = count > 0 ? merge(t, count) : 0;
    *ret = t;
    return 0;
}
