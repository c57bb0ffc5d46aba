/* SPDX-License-Identifier: MIT */
#include "bus.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_INTERFACE BUS_SYSTEMD ".Unit"
#define SERVICE_INTERFACE BUS_SYSTEMD ".Service"
#define MANAGER_INTERFACE BUS_SYSTEMD ".Manager"
#define PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"
/* A systemd that executes itself anew (after an upgrade of it or of libc) drops what it has not
 * read: so often that is asked again. */
#define ASK_MAX 10
/* The signals of that moment are lost as well, so nothing waits for longer without a look. */
#define LOOK_MS 10000

/* Words longer than any that is compared with are cut: they are compared or shown, no more. */
static void copy_word(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);

    length = length < size ? length : size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

static int ask(struct bus *b, sd_bus_message *message, sd_bus_message **ret_reply)
{
    int r = 0;

    for (int i = 0; i < ASK_MAX; i++) {
        sd_bus_error_free(&b->error);
        r = sd_bus_call(b->bus, message, 0, &b->error, ret_reply);
        if (r >= 0 || !sd_bus_error_has_name(&b->error, SD_BUS_ERROR_NO_REPLY))
            break;
    }
    return r;
}

static int call(struct bus *b, const char *member, sd_bus_message **ret_reply, const char *types,
                ...)
{
    sd_bus_message *message = NULL;
    va_list args;
    int r = sd_bus_message_new_method_call(b->bus, &message, BUS_SYSTEMD, BUS_MANAGER,
                                           MANAGER_INTERFACE, member);

    va_start(args, types);
    if (r >= 0)
        r = sd_bus_message_appendv(message, types, args);
    va_end(args);
    if (r >= 0)
        r = ask(b, message, ret_reply);
    sd_bus_message_unref(message);
    return r;
}

/* The reply is read from the property's value on, which is of those types. */
static int get(struct bus *b, bool service, const char *name, const char *types,
               sd_bus_message **ret_reply)
{
    sd_bus_message *message = NULL, *reply = NULL;
    int r = sd_bus_message_new_method_call(b->bus, &message, BUS_SYSTEMD, b->path,
                                           PROPERTIES_INTERFACE, "Get");

    if (r >= 0)
        r = sd_bus_message_append(message, "ss", service ? SERVICE_INTERFACE : UNIT_INTERFACE,
                                  name);
    if (r >= 0)
        r = ask(b, message, &reply);
    sd_bus_message_unref(message);
    if (r >= 0)
        r = sd_bus_message_enter_container(reply, SD_BUS_TYPE_VARIANT, types);
    if (r < 0) {
        sd_bus_message_unref(reply);
        return r;
    }
    *ret_reply = reply;
    return 0;
}

static int read_text(struct bus *b, bool service, const char *name, char *text, size_t size)
{
    sd_bus_message *reply = NULL;
    const char *value;
    int r = get(b, service, name, "s", &reply);

    if (r >= 0)
        r = sd_bus_message_read_basic(reply, SD_BUS_TYPE_STRING, &value);
    if (r >= 0)
        copy_word(text, size, value);
    sd_bus_message_unref(reply);
    return r < 0 ? r : 0;
}

/* The type of a systemd job that has ended can no longer be asked. It was a stop where the unit is
 * down at that moment, and it was none of those by which systemd itself starts it again. */
static bool was_a_stop(struct bus *b)
{
    uint32_t restarts = 0;
    struct bus_state s;

    if (bus_value(b, true, "NRestarts", 'u', &restarts) >= 0 && restarts > b->restarts) {
        b->restarts++;
        return false;
    }
    return bus_look(b, &s) >= 0 && bus_is_down(&s);
}

static int on_removed(sd_bus_message *message, void *context, sd_bus_error *error)
{
    struct bus *b = context;
    const char *job, *unit, *result;

    (void)error;
    if (sd_bus_message_read(message, "uoss", NULL, &job, &unit, &result) < 0)
        return 0;
    if (strcmp(job, b->job) == 0)
        copy_word(b->ended, sizeof(b->ended), result);
    else if (strcmp(unit, b->id) == 0 && b->running && was_a_stop(b))
        b->interfered = true;
    return 0;
}

/* It has woken the caller, which looks. */
static int on_changed(sd_bus_message *message, void *context, sd_bus_error *error)
{
    (void)message;
    (void)context;
    (void)error;
    return 0;
}

static int hear(struct bus *b)
{
    int r = sd_bus_match_signal(b->bus, NULL, BUS_SYSTEMD, BUS_MANAGER, MANAGER_INTERFACE,
                                "JobRemoved", on_removed, b);

    if (r >= 0)
        r = sd_bus_match_signal(b->bus, NULL, BUS_SYSTEMD, b->path, PROPERTIES_INTERFACE,
                                "PropertiesChanged", on_changed, b);
    return r >= 0 ? call(b, "Subscribe", NULL, "") : r;
}

static int find(struct bus *b)
{
    sd_bus_message *reply = NULL;
    const char *path;
    int r = call(b, "LoadUnit", &reply, "s", b->unit);

    if (r >= 0)
        r = sd_bus_message_read(reply, "o", &path);
    if (r >= 0) {
        b->path = strdup(path);
        r = b->path ? 0 : -ENOMEM;
    }
    sd_bus_message_unref(reply);
    return r >= 0 ? read_text(b, false, "Id", b->id, sizeof(b->id)) : r;
}

int bus_open(struct bus *b, const struct rota_run *run, const char *unit)
{
    int r;

    *b = (struct bus){ .run = run, .unit = unit };
    r = sd_bus_open_system(&b->bus);
    /* A systemd that is slow has taken the call all the same. The guard ends the wait, if need be.
     */
    if (r >= 0)
        r = sd_bus_set_method_call_timeout(b->bus, UINT64_MAX);
    if (r >= 0)
        r = find(b);
    if (r >= 0)
        r = hear(b);
    return r;
}

void bus_close(struct bus *b)
{
    sd_bus_error_free(&b->error);
    free(b->path);
    sd_bus_flush_close_unref(b->bus);
}

static int take_job(struct bus *b, sd_bus_message *reply)
{
    const char *job;
    int r = sd_bus_message_read(reply, "o", &job);

    if (r >= 0) {
        copy_word(b->job, sizeof(b->job), job);
        b->ended[0] = '\0';
    }
    return r;
}

int bus_ask_job(struct bus *b, sd_bus_message *message)
{
    sd_bus_message *reply = NULL;
    int r = ask(b, message, &reply);

    if (r >= 0)
        r = take_job(b, reply);
    sd_bus_message_unref(reply);
    return r;
}

static int ask_for(struct bus *b, const char *member)
{
    sd_bus_message *reply = NULL;
    /* As systemctl does: what is queued against it gives way. */
    int r = call(b, member, &reply, "ss", b->unit, "replace");

    if (r >= 0)
        r = take_job(b, reply);
    sd_bus_message_unref(reply);
    return r;
}

int bus_keep(struct bus *b)
{
    return call(b, "RefUnit", NULL, "s", b->unit);
}

int bus_start(struct bus *b)
{
    int r = ask_for(b, "StartUnit");

    /* Where the answer is lost it may run. */
    b->running = r >= 0 || sd_bus_is_open(b->bus) <= 0 ||
                 sd_bus_error_has_name(&b->error, SD_BUS_ERROR_NO_REPLY);
    return r;
}

int bus_stop(struct bus *b)
{
    return ask_for(b, "StopUnit");
}

int bus_kill(struct bus *b)
{
    return call(b, "KillUnit", NULL, "ssi", b->unit, "all", SIGKILL);
}

int bus_word(struct bus *b, bool service, const char *name, char ret_word[BUS_WORD_SIZE])
{
    return read_text(b, service, name, ret_word, BUS_WORD_SIZE);
}

int bus_value(struct bus *b, bool service, const char *name, char type, void *ret_value)
{
    const char types[] = { type, '\0' };
    sd_bus_message *reply = NULL;
    int r = get(b, service, name, types, &reply);

    if (r >= 0)
        r = sd_bus_message_read_basic(reply, type, ret_value);
    sd_bus_message_unref(reply);
    return r < 0 ? r : 0;
}

/* Its systemd job first: what ends between the two questions is then seen as it ended. */
int bus_look(struct bus *b, struct bus_state *ret_state)
{
    struct bus_state s = { .queued = false };
    sd_bus_message *reply = NULL;
    uint32_t job;
    int r = get(b, false, "Job", "(uo)", &reply);

    if (r >= 0)
        r = sd_bus_message_read(reply, "(uo)", &job, NULL);
    sd_bus_message_unref(reply);
    if (r < 0)
        return r;
    s.queued = job != 0;
    r = bus_word(b, false, "ActiveState", s.active);
    if (r < 0)
        return r;
    *ret_state = s;
    return 0;
}

bool bus_is_down(const struct bus_state *s)
{
    return !s->queued && (strcmp(s->active, "inactive") == 0 || strcmp(s->active, "failed") == 0);
}

int bus_catch_up(struct bus *b)
{
    int r;

    do
        r = sd_bus_process(b->bus, NULL);
    while (r > 0);
    return r;
}

int bus_wait(struct bus *b, bool hear_stop, int limit_ms)
{
    struct pollfd fds[] = { { .fd = sd_bus_get_fd(b->bus) },
                            { .fd = hear_stop ? b->run->stop_fd : -1, .events = POLLIN } };
    int r = sd_bus_process(b->bus, NULL);

    /* A call has read ahead of its reply: what it read, poll() does not see. */
    if (r != 0)
        return r < 0 ? r : 0;
    r = sd_bus_get_events(b->bus);
    if (r < 0)
        return r;
    fds[0].events = (short)r;
    if (limit_ms < 0 || limit_ms > LOOK_MS)
        limit_ms = LOOK_MS;
    return poll(fds, 2, limit_ms) < 0 && errno != EINTR ? -errno : 0;
}
