/* SPDX-License-Identifier: MIT
 * The method Check: the files are read as a reload reads them, by rotad --check in a child, and not
 * used. What it finds is for the client alone. */
#include "supervisor/control.h"
#include "supervisor/control_hand.h"
#include <errno.h>

static void on_checked(void *context, bool good)
{
    struct manager *m = context;

    reload_free(m->reload);
    m->reload = NULL;
    control_answer(m->control, CONTROL_HEARS_RELOAD, good);
    if (m->reload_again)
        manager_reload(m);
}

int control_check_files(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct control_client *client = userdata;
    struct manager *manager = client->control->manager;
    int rc = client->access == CONTROL_MAY_CHANGE ? 0 : -EACCES;

    if (rc >= 0 && (manager->reload || !manager->began || manager->stopping))
        return sd_bus_error_set(error, CONTROL_ERROR_BUSY,
                                "the files are being read already; try again in a moment");
    if (rc >= 0)
        rc = control_client_hold(client, m, CONTROL_HEARS_RELOAD);
    if (rc < 0)
        return rc;
    rc = reload_new(
        &(struct reload_env){ .event = manager->event,
                              .config_file = manager->options->config_file,
                              .device = manager->store || manager->local ? manager->device : NULL,
                              .done = on_checked,
                              .control = manager->control,
                              .context = manager },
        &manager->reload);
    /* Nobody else hears one that is not under way. */
    if (rc < 0)
        control_answer(manager->control, CONTROL_HEARS_RELOAD, false);
    return 1;
}
