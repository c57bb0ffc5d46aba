/* SPDX-License-Identifier: MIT
 * librota-control.so: its one symbol; who is let in, and who waits for what. */
#include "base/cleanup.h"
#include "base/text.h"
#include "supervisor/control_hand.h"
#include "supervisor/control_metrics.h"
#include "supervisor/journal.h"

/* --- clients come --- */

/* Readers leave the last places to those who may change something. */
static bool has_room(const struct control *c, uid_t uid, enum control_access access)
{
    size_t kept = access == CONTROL_MAY_CHANGE ? 0 : CONTROL_CLIENTS_OF_ONE;
    size_t all = 0, of_one = 0;

    for (const struct control_client *client = c->clients; client; client = client->next) {
        all++;
        of_one += client->uid == uid;
    }
    return all < CONTROL_CLIENTS_MAX - kept && of_one < CONTROL_CLIENTS_OF_ONE;
}

static void receive(struct control *c, int client_fd)
{
    CLEANUP_CLOSE int fd = client_fd;
    uid_t uid = 0;
    enum control_access access = control_access_of(fd, &uid);

    if (access == CONTROL_NO_ACCESS)
        control_refuse(fd, CONTROL_NOT_LET_IN);
    else if (has_room(c, uid, access))
        (void)control_client_new(c, &fd, uid, access);
}

static void drop_clients(struct control *c)
{
    while (c->clients)
        control_client_free(c->clients);
    control_metrics_file_done(c);
    control_pause_end_all(c);
}

/* --- those that wait --- */

typedef void do_call(struct control_client *client, struct control_call *call, const void *what);

/* With each call that waits for that. */
static void for_each(struct control *c, enum control_wait wait, do_call *act, const void *what)
{
    for (struct control_client *client = c->clients; client; client = client->next)
        for (struct control_call *call = client->calls; call < client->calls + CONTROL_CALLS_MAX;
             call++)
            if (call->reply && call->wait == wait)
                act(client, call, what);
}

static void hear(struct control_client *client, struct control_call *call, const void *what)
{
    (void)client;
    (void)what;
    call->wait = CONTROL_HEARS_RELOAD;
}

static void reload_begins(struct control *c)
{
    for_each(c, CONTROL_WAITS_RELOAD, hear, NULL);
}

static void add_line(struct control_client *client, struct control_call *call, const void *what)
{
    (void)client;
    /* Where memory is short the line is missing, or the end cannot be added either. */
    (void)sd_bus_message_append(call->reply, "s", what);
}

static void reload_line(struct control *c, const char *line)
{
    static char shown[JOURNAL_TEXT_SIZE]; /* in the one thread */

    for_each(c, CONTROL_HEARS_RELOAD, add_line,
             text_escape(shown, sizeof shown, line, strlen(line)));
}

/* what: NULL where it did not go well. */
static void answer(struct control_client *client, struct control_call *call, const void *what)
{
    int rc = sd_bus_message_close_container(call->reply);

    if (rc >= 0)
        rc = sd_bus_message_append(call->reply, "b", what != NULL);
    control_client_answer(client, call, rc);
}

static void answer_all(struct control *c, enum control_wait wait, bool good)
{
    for_each(c, wait, answer, good ? c : NULL);
}

extern const struct control_module rota_control;
__attribute__((visibility("default"))) const struct control_module rota_control = {
    .module = { .version = ROTA_VERSION, .layout = MODULE_LAYOUT },
    .receive = receive,
    .drop_clients = drop_clients,
    .reload_begins = reload_begins,
    .reload_line = reload_line,
    .answer = answer_all,
    .changed = control_metrics_file_changed,
    .report = control_hand_report,
    .pauses = control_pause_holds,
};
