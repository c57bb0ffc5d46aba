/* SPDX-License-Identifier: MIT
 * One client: what it sends goes through the gate into a pipe, which is the bus's input; the bus
 * writes to the client itself. The bus is not attached to the loop, which would read as much as a
 * client sends, as fast as it does. */
#include "base/cleanup.h"
#include "supervisor/control_ask.h"
#include "supervisor/control_hand.h"
#include "supervisor/manager.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

/* Taken in one turn of the loop. The smallest pipe that the kernel gives holds a page. */
#define CHUNK_BYTES 1024

static int restart_idle(struct control_client *client)
{
    int rc = sd_event_source_set_time_relative(client->idle, (uint64_t)CONTROL_IDLE_MS * 1000);

    return rc < 0 ? rc : sd_event_source_set_enabled(client->idle, SD_EVENT_ONESHOT);
}

/* While there is one nothing more is read, so it holds at most the answers to the calls of one
 * chunk, and to those that were held. */
static bool has_queue(const struct control_client *client)
{
    uint64_t count = 0; /* of a bus that is closed */

    (void)sd_bus_get_n_queued_write(client->bus, &count);
    return count > 0;
}

static struct control_call *find_call(struct control_client *client, bool held)
{
    for (struct control_call *call = client->calls; call < client->calls + CONTROL_CALLS_MAX;
         call++)
        if ((call->reply != NULL) == held)
            return call;
    return NULL;
}

/* What is sent goes first: with a queue nothing is read. */
static int wait_for_more(struct control_client *client)
{
    uint32_t events = has_queue(client) ? EPOLLOUT : EPOLLIN;
    int rc = sd_event_source_set_io_events(client->io, events);

    return rc < 0 ? rc : restart_idle(client);
}

void control_client_send(struct control_client *client, sd_bus_message *reply)
{
    if (reply)
        (void)sd_bus_send(client->bus, reply, NULL);
    /* Who could not be answered is idle from now on, unless the connection is gone. */
    (void)wait_for_more(client);
}

void control_client_answer(struct control_client *client, struct control_call *call, int rc)
{
    sd_bus_message *reply = call->reply;

    call->reply = NULL;
    control_client_send(client, rc < 0 ? NULL : reply);
    sd_bus_message_unref(reply);
}

/* Where the greeting is over for the gate, it is for the bus, too (control_gate.h). Nothing stays
 * in the pipe but while the client does not take its answers. */
static int process(struct control_client *client)
{
    int rc;

    do
        rc = sd_bus_process(client->bus, NULL);
    while (rc > 0 && !has_queue(client));
    if (rc >= 0 && client->gate.state != CONTROL_GATE_GREETING && sd_bus_is_ready(client->bus) <= 0)
        rc = -EBADMSG;
    return rc < 0 ? rc : wait_for_more(client);
}

/* What is at most one chunk; of the greeting byte by byte, so that nothing of what is behind it is
 * passed on before the bus has taken it. */
static int take(struct control_client *client)
{
    static uint8_t bytes[CHUNK_BYTES]; /* in the one thread */
    bool greets = client->gate.state == CONTROL_GATE_GREETING;
    int rc;

    do {
        ssize_t n = recv(client->fd, bytes, greets ? 1 : sizeof bytes, MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        if (n == 0)
            return -ECONNRESET;
        rc = control_gate_pass(&client->gate, bytes, (size_t)n);
        if (rc >= 0 && write(client->bus_input, bytes, (size_t)n) < 0) /* all: it is empty */
            rc = -EIO;
    } while (rc >= 0 && greets && client->gate.state == CONTROL_GATE_GREETING);
    return rc;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct control_client *client = userdata;
    int rc = 0;

    (void)source;
    (void)fd;
    if (!(events & EPOLLOUT))
        rc = take(client);
    if (rc >= 0)
        rc = process(client);
    if (rc < 0)
        control_client_free(client);
    return 0;
}

static int on_idle(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct control_client *client = userdata;

    (void)source;
    (void)usec;
    /* Its answer, or its end, sets the timer again. */
    if ((!find_call(client, true) && !client->ask && !client->hand) || has_queue(client))
        control_client_free(client);
    return 0;
}

static int watch(struct control_client *client)
{
    struct control *c = client->control;
    int rc = control_watch(c, client->fd, on_io, client, &client->io);

    if (rc < 0)
        return rc;
    rc = sd_event_add_time(c->manager->event, &client->idle, CLOCK_BOOTTIME, 0, 0, on_idle, client);
    if (rc < 0)
        return rc;
    (void)sd_event_source_set_description(client->idle, "control idle");
    return restart_idle(client);
}

/* The bus has both descriptors as soon as this was good. */
static int give_bus(struct control_client *client)
{
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    client->bus_input = ends[1];
    rc = sd_bus_set_fd(client->bus, ends[0], client->fd);
    if (rc < 0)
        close(ends[0]);
    return rc;
}

static int start_bus(struct control_client *client)
{
    sd_id128_t id;
    const struct core_port *port = &client->control->manager->port;
    int rc;

    port->random(port->context, &id, sizeof id);
    rc = sd_bus_set_server(client->bus, true, id);
    /* Who it is was found out by the kernel's word; of a pipe the bus cannot know. */
    if (rc >= 0)
        rc = sd_bus_set_anonymous(client->bus, true);
    if (rc >= 0)
        rc = sd_bus_add_object_vtable(client->bus, NULL, CONTROL_PATH, CONTROL_INTERFACE,
                                      control_methods, client);
    return rc < 0 ? rc : sd_bus_start(client->bus);
}

int control_client_new(struct control *c, int *fd, uid_t uid, enum control_access access)
{
    struct control_client *client = calloc(1, sizeof *client);
    int rc;

    if (!client)
        return -ENOMEM;
    client->next = c->clients;
    client->control = c;
    client->fd = *fd;
    client->bus_input = -1;
    client->uid = uid;
    client->access = access;
    c->clients = client;
    rc = sd_bus_new(&client->bus);
    if (rc >= 0)
        rc = give_bus(client);
    if (rc >= 0) {
        (void)cleanup_take_fd(fd);
        rc = start_bus(client);
    }
    if (rc >= 0)
        rc = watch(client);
    if (rc < 0)
        control_client_free(client);
    return rc;
}

int control_client_hold(struct control_client *client, sd_bus_message *m, enum control_wait wait)
{
    struct control_call *call = find_call(client, false);
    int rc;

    if (!call)
        return -ENOBUFS;
    call->wait = wait;
    rc = sd_bus_message_new_method_return(m, &call->reply);
    if (rc >= 0)
        rc = sd_bus_message_open_container(call->reply, 'a', "s");
    if (rc < 0)
        call->reply = sd_bus_message_unref(call->reply);
    return rc;
}

void control_client_free(struct control_client *client)
{
    struct control_client **at = &client->control->clients;

    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    control_ask_drop(client->ask);
    control_hand_drop(client->hand);
    for (size_t i = 0; i < CONTROL_CALLS_MAX; i++)
        sd_bus_message_unref(client->calls[i].reply);
    sd_event_source_disable_unref(client->io);
    sd_event_source_disable_unref(client->idle);
    /* It closes the client's descriptor, and its end of the pipe. */
    sd_bus_close_unref(client->bus);
    if (client->bus_input >= 0)
        close(client->bus_input);
    if (!client->control->clients) /* what the last one took is not needed for the years to come */
        (void)malloc_trim(0);
    free(client);
}
