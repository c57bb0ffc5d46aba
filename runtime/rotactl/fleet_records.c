/* SPDX-License-Identifier: MIT
 * What each device did of a job that runs on all of them. */
#include "base/text.h"
#include "rotactl/fleet_ask.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_record(sd_bus_message *m, void *context)
{
    struct fleet_records *r = context;
    struct fleet_record record = { 0 };
    void *items = r->items;
    int rc = sd_bus_message_read(m, "(sxuxxs)", &record.device, &record.turn, &record.attempt,
                                 &record.done, &record.ended, &record.state);

    if (rc <= 0)
        return rc;
    rc = kept_grow(&items, r->count, sizeof *r->items);
    r->items = items;
    if (rc < 0)
        return rc;
    r->items[r->count++] = record;
    return 1;
}

static int by_device(const void *a, const void *b)
{
    const struct fleet_record *one = a, *other = b;
    int order = strcmp(one->device, other->device);

    return order != 0 ? order : (one->turn < other->turn) - (one->turn > other->turn);
}

int fleet_records_ask(struct call *c, struct kept *k, const char *job, struct fleet_records *r)
{
    const struct pages pages = {
        .method = "JobDevices", .job = job, .row = "(sxuxxs)", .read = read_record, .context = r
    };
    size_t count = 0;
    int64_t now_ms;
    int rc = pages_ask(c, k, &pages, &now_ms);

    if (rc != 0)
        return rc;
    if (r->count > 0)
        qsort(r->items, r->count, sizeof *r->items, by_device);
    for (size_t i = 0; i < r->count; i++)
        if (count == 0 || strcmp(r->items[count - 1].device, r->items[i].device) != 0)
            r->items[count++] = r->items[i];
    r->count = count;
    return 0;
}

static int by_wanted_device(const void *device, const void *record)
{
    return strcmp(device, ((const struct fleet_record *)record)->device);
}

const struct fleet_record *fleet_records_find(const struct fleet_records *r, const char *device)
{
    return r->count > 0 ? bsearch(device, r->items, r->count, sizeof *r->items, by_wanted_device)
                        : NULL;
}

enum fleet_record_kind fleet_record_kind(const struct fleet_record *r, int64_t turn)
{
    if (!r)
        return RECORD_TO_GO;
    if (r->done >= turn)
        return RECORD_DONE;
    return r->turn >= turn && text_equal(r->state, "running") ? RECORD_RUNNING : RECORD_TO_GO;
}

/* Where no configuration is known that has it, on all. */
bool fleet_counts(const struct fleet_answers *a, const struct fleet_job *job,
                  const struct fleet_device *device)
{
    return device->there &&
           (job->conf_count == 0 || fleet_confs_has(&a->confs, job->confs[0].key, device->digest));
}
