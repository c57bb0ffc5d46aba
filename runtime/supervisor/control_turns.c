/* SPDX-License-Identifier: MIT
 * The method Turns: when a job is due, by the configuration that is in use. */
#include "supervisor/control_internal.h"
#include "supervisor/manager.h"
#include <errno.h>

/* More are asked for by another call: rotad does nothing else meanwhile. By cron, where a turn is
 * years away, one takes tens of us. */
#define TURNS_MAX 500
/* The end of the year 9999. */
#define LATEST_MS INT64_C(253402300799999)

static int64_t hold(int64_t ms)
{
    return ms < 0 ? 0 : ms > LATEST_MS ? LATEST_MS : ms;
}

static int append_turns(sd_bus_message *reply, const struct schedule *s, int64_t after,
                        int64_t until)
{
    struct wall turn = schedule_next(s, (struct wall){ hold(after) });
    int64_t last = hold(until);
    int rc = sd_bus_message_open_container(reply, 'a', "x");

    for (unsigned i = 0; i < TURNS_MAX && turn.ms <= last && rc >= 0; i++) {
        rc = sd_bus_message_append(reply, "x", turn.ms);
        turn = schedule_next(s, turn);
    }
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

int control_turns(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    sd_bus_message *reply = NULL;
    const struct job_config *job;
    int64_t after, until;
    const char *name;
    int rc = sd_bus_message_read(m, "sxx", &name, &after, &until);

    (void)error;
    if (rc < 0)
        return rc;
    job = config_find_job(client->control->manager->generation->config, name);
    if (!job || job->invalid)
        return -ENOENT;
    rc = sd_bus_message_new_method_return(m, &reply);
    if (rc >= 0)
        rc = append_turns(reply, &job->spec.schedule, after, until);
    if (rc >= 0)
        rc = sd_bus_send(client->bus, reply, NULL);
    sd_bus_message_unref(reply);
    return rc;
}
