/* SPDX-License-Identifier: MIT */
#include "supervisor/control.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "supervisor/control_module.h"
#include "supervisor/journal.h"
#include "supervisor/manager.h"
#include "supervisor/process.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Connections that wait to be accepted. */
#define BACKLOG 16
/* Of the socket, and of each client: the most that a flood costs. */
#define EVENTS_A_SECOND 64

/* --- clients come --- */

/* Tried anew for each client where it could not be loaded: what is missing may be there again. */
static bool has_module(struct control *c)
{
    char why[LIBRARY_WHY_SIZE];

    if (c->module)
        return true;
    c->module = (const void *)module_load(process_control_path(), CONTROL_SYMBOL, why);
    if (!c->module && !c->module_missed)
        journal_log(LOG_ERR | MESSAGE_NO_CONTROL, NULL, "rotactl cannot ask: %s; " MODULE_ADVICE,
                    why);
    c->module_missed = !c->module;
    return c->module;
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct control *c = userdata;
    CLEANUP_CLOSE int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)source;
    (void)events;
    if (client < 0)
        return 0;
    if (has_module(c))
        c->module->receive(c, cleanup_take_fd(&client));
    else
        control_refuse(client, CONTROL_NO_MODULE);
    return 0;
}

/* --- the socket --- */

int control_watch(struct control *c, int fd, sd_event_io_handler_t handler, void *userdata,
                  sd_event_source **ret_source)
{
    int rc = sd_event_add_io(c->manager->event, ret_source, fd, EPOLLIN, handler, userdata);

    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(*ret_source, "control");
    rc = sd_event_source_set_ratelimit(*ret_source, 1000000, EVENTS_A_SECOND);
    return rc < 0 ? rc : sd_event_source_set_priority(*ret_source, PRIORITY_CONTROL);
}

static void stop_listening(struct control *c)
{
    c->io = sd_event_source_disable_unref(c->io);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static int start_listening(struct control *c)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (!text_format(address.sun_path, sizeof address.sun_path, "%s/control",
                     c->manager->options->runtime_dir))
        return -ENAMETOOLONG;
    if (c->io && access(address.sun_path, F_OK) == 0)
        return 0;
    stop_listening(c);
    if (unlink(address.sun_path) < 0 && errno != ENOENT)
        return -errno;
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Anybody may knock; control_access.h says who is let in. */
    if (c->fd < 0 || bind(c->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(address.sun_path, 0666) < 0 || listen(c->fd, BACKLOG) < 0)
        return -errno;
    return control_watch(c, c->fd, on_connect, c, &c->io);
}

void control_listen(struct control *c)
{
    int rc = start_listening(c);

    if (rc >= 0)
        return;
    stop_listening(c);
    journal_log(LOG_ERR | MESSAGE_NO_CONTROL, NULL, "rotactl cannot ask: %s/control: %s",
                c->manager->options->runtime_dir, strerror(-rc));
}

int control_new(struct manager *m, struct control **ret_control)
{
    struct control *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    c->manager = m;
    c->fd = -1;
    control_listen(c);
    *ret_control = c;
    return 0;
}

void control_free(struct control *c)
{
    if (!c)
        return;
    if (c->module)
        c->module->drop_clients(c);
    stop_listening(c);
    free(c);
}

/* --- what clients wait for --- */

void control_reload_begins(struct control *c)
{
    if (c && c->module)
        c->module->reload_begins(c);
}

void control_reload_line(struct control *c, const char *line)
{
    if (c && c->module)
        c->module->reload_line(c, line);
}

void control_answer(struct control *c, enum control_wait wait, bool good)
{
    if (c && c->module)
        c->module->answer(c, wait, good);
}

/* --- runs by hand, pauses --- */

void control_report(struct control *c, const struct job *job, const struct report *r)
{
    if (c && c->module)
        c->module->report(c, job, r);
}

bool control_pauses(struct control *c, const struct job *job, struct wall turn)
{
    return c && c->module && c->module->pauses(c, job, turn);
}

/* --- metrics_file --- */

void control_changed(struct control *c)
{
    /* One that is taken out of the configuration is to be deleted. */
    if (c && (c->metrics || c->manager->generation->config->metrics_file) && has_module(c))
        c->module->changed(c);
}
