/* SPDX-License-Identifier: MIT
 * What can be asked at the control socket: object CONTROL_PATH, interface CONTROL_INTERFACE. */
#include "base/text.h"
#include "supervisor/control_internal.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <string.h>

/* --- Status --- */

/* The job of that name, from *at on: both lists are in order of name. */
static const struct device_job *find(const struct device_job **at, const char *name)
{
    int order = -1;

    while (*at && (order = strcmp((*at)->config->name, name)) < 0)
        *at = (*at)->next;
    return *at && order == 0 ? *at : NULL;
}

/* d: NULL where it takes no turns here. */
static int append_job(sd_bus_message *reply, const struct job_config *c, const struct device_job *d)
{
    const char *state = "OFF", *why = "";
    static char shown[512]; /* in the one thread */

    if (c->invalid) {
        state = "INVALID";
        why = c->invalid_why ? c->invalid_why : ""; /* memory was short */
    } else if (!config_job_runs(c)) {
        state = c->enabled ? "ELSEWHERE" : "DISABLED";
    } else if (d) {
        state = job_state_name(d->job.state);
    }
    return sd_bus_message_append(reply, "(sss)", c->name, state,
                                 text_escape(shown, sizeof shown, why, strlen(why)));
}

static int append_status(sd_bus_message *reply, const struct manager *m)
{
    const struct config *c = m->generation->config;
    const struct device_job *at = m->jobs;
    int rc = sd_bus_message_append(reply, "ss", m->device, health_text(m->health));

    if (rc >= 0)
        rc = sd_bus_message_open_container(reply, 'a', "(sss)");
    for (size_t i = 0; i < c->job_count && rc >= 0; i++)
        rc = append_job(reply, &c->jobs[i], find(&at, c->jobs[i].name));
    return rc < 0 ? rc : sd_bus_message_close_container(reply);
}

static int status(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    sd_bus_message *reply = NULL;
    int rc = sd_bus_message_new_method_return(m, &reply);

    (void)error;
    if (rc >= 0)
        rc = append_status(reply, client->control->manager);
    if (rc >= 0)
        rc = sd_bus_send(client->bus, reply, NULL);
    sd_bus_message_unref(reply);
    return rc;
}

/* --- what changes something, and is answered when that is done --- */

typedef void change(struct manager *m);

/* sd-bus has a name for each error here, and so for its client. Who asks while rotad stops waits
 * for its end. */
static int do_change(sd_bus_message *m, struct control_client *client, enum control_wait wait,
                     change *act)
{
    int rc = -EACCES;

    if (client->access == CONTROL_MAY_CHANGE)
        rc = control_client_hold(client, m, wait);
    if (rc < 0)
        return rc;
    act(client->control->manager);
    return 1;
}

static int reload(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_RELOAD, manager_reload);
}

static int drain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_DRAIN, manager_drain);
}

static int hand_over(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_DRAIN, manager_hand_over);
}

/* It answers all that wait for the drain. */
static int undrain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)error;
    return do_change(m, userdata, CONTROL_WAITS_DRAIN, manager_undrain);
}

/* "Unprivileged": not for the library, which asks for capabilities, but for do_change() to say. */
const sd_bus_vtable control_methods[] = {
    SD_BUS_VTABLE_START(0),
    /* device: its name; status: one line for people; jobs: name, state (core/job.h, or INVALID,
     * DISABLED, ELSEWHERE), why it is invalid. */
    SD_BUS_METHOD_WITH_ARGS("Status", SD_BUS_NO_ARGS,
                            SD_BUS_RESULT("s", device, "s", status, "a(sss)", jobs), status,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* Answered when the new configuration is in use, or refused: what was said, and which. */
    SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good), reload,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* Nothing is started any more. Answered when nothing runs, perhaps never; or, not good, when
     * jobs take turns again. */
    SD_BUS_METHOD_WITH_ARGS("Drain", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good), drain,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    /* The same, and what runs is asked to stop, as when rotad stops. */
    SD_BUS_METHOD_WITH_ARGS("HandOver", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good),
                            hand_over, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Undrain", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", lines, "b", good),
                            undrain, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END
};
