/* SPDX-License-Identifier: MIT */
#include "lifeline.h"
#include "name.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#define NAME_PREFIX "rota-ends-"
/* Of the unit's name: how much of its end has room behind the prefix. */
#define NAME_TAIL_BYTES (NAME_MAX_BYTES - (sizeof(NAME_PREFIX) - 1))
#define US_PER_MS ((uint64_t)1000)
#define MS_PER_S 1000
/* Over the budget and kill_after, in which the plugin itself stops the unit. */
#define SPARE_MS 1000
/* For END_UNIT, over kill_after; systemd's default may be shorter than that. */
#define END_SPARE_MS 60000
/* A machine on which a shell takes longer to end has to wait no longer for the result. */
#define OVER_MS 1000

/* Longest name of a unit five times, and the rest of END_UNIT. */
#define TEXT_SIZE 2048

/* Ends with 0 only after a line. */
#define WAIT "read -r over"
/* The unit's name, seconds. Does nothing after such an end of WAIT; what else ended that, the
 * budget's end too, ends the unit. What that runs at its own end (ExecStopPost=) may have to be
 * killed as well. There is no $ and none of ; " ` in it: after a daemon-reload systemd reads it
 * from a file, where 252 has put a backslash before each. */
#define STOP "systemctl stop -- '%1$s'"
#define KILL "systemctl kill --signal=KILL -- '%1$s'"
#define END_UNIT                                                                                   \
    "env | grep -qx EXIT_STATUS=0 || timeout %2$" PRId64 " " STOP " || ! " KILL                    \
    " || timeout 1 " STOP " || ! " KILL " || timeout 1 " STOP

static int add_command(sd_bus_message *m, const char *property, const char *text)
{
    return sd_bus_message_append(m, "(sv)", property, "a(sasb)", 1, "/bin/sh", 3, "sh", "-c", text,
                                 0);
}

/* The journal gets no line of it as long as all goes well. */
static int add_properties(const struct bus *b, sd_bus_message *m, int fd)
{
    int64_t kill_ms = rota_duration_ms(b->run, "kill_after");
    int64_t most_ms = b->run->budget_left_ms(b->run) + kill_ms + SPARE_MS;
    char about[512], text[TEXT_SIZE];
    int r;

    snprintf(about, sizeof(about), "Ends %s with the run of rota's job %s", b->unit, b->run->job);
    /* timeout(1) takes 0 for no limit. */
    snprintf(text, sizeof(text), END_UNIT, b->unit,
             kill_ms > MS_PER_S ? (kill_ms + 999) / MS_PER_S : INT64_C(1));
    r = sd_bus_message_open_container(m, 'a', "(sv)");
    if (r >= 0)
        r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s", about,
                                  "Type", "s", "exec", "CollectMode", "s", "inactive-or-failed",
                                  "LogLevelMax", "i", LOG_NOTICE, "StandardInputFileDescriptor",
                                  "h", fd, "RuntimeMaxUSec", "t", (uint64_t)most_ms * US_PER_MS,
                                  "TimeoutStopUSec", "t",
                                  (uint64_t)(kill_ms + END_SPARE_MS) * US_PER_MS);
    if (r >= 0)
        r = add_command(m, "ExecStart", WAIT);
    if (r >= 0)
        r = add_command(m, "ExecStopPost", text);
    return r >= 0 ? sd_bus_message_close_container(m) : r;
}

/* By the service, as systemd calls it: of two runs that are to start it at one instant, also of two
 * rotads, one gets the name. */
static int compose(const struct bus *b, int fd, sd_bus_message **ret_message)
{
    sd_bus_message *m = NULL;
    size_t length = strlen(b->id), cut = length > NAME_TAIL_BYTES ? length - NAME_TAIL_BYTES : 0;
    char name[NAME_MAX_BYTES + 1];
    int r;

    snprintf(name, sizeof(name), NAME_PREFIX "%s", b->id + cut);
    r = sd_bus_message_new_method_call(b->bus, &m, BUS_SYSTEMD, BUS_MANAGER, BUS_SYSTEMD ".Manager",
                                       "StartTransientUnit");
    if (r >= 0)
        r = sd_bus_message_append(m, "ss", name, "fail");
    if (r >= 0)
        r = add_properties(b, m, fd);
    if (r >= 0)
        r = sd_bus_message_append(m, "a(sa(sv))", 0);
    if (r < 0) {
        sd_bus_message_unref(m);
        return r;
    }
    *ret_message = m;
    return 0;
}

int lifeline_open(struct bus *b)
{
    sd_bus_message *message = NULL;
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    r = compose(b, ends[0], &message);
    if (r >= 0)
        r = bus_ask_job(b, message);
    sd_bus_message_unref(message);
    close(ends[0]);
    if (r < 0) {
        lifeline_close(ends[1], true);
        return r;
    }
    return ends[1];
}

void lifeline_close(int fd, bool harmless)
{
    struct pollfd wait = { .fd = fd };

    if (fd < 0)
        return;
    if (harmless) {
        /* Where nobody reads any more it has ended already, or the operator has ended it. */
        (void)send(fd, "\n", 1, MSG_NOSIGNAL);
        /* The next run, which may be at once, needs its name. */
        (void)poll(&wait, 1, OVER_MS);
    } else {
        shutdown(fd, SHUT_WR);
        /* systemd holds the other end until the transient unit is over. */
        while (poll(&wait, 1, -1) < 0 && errno == EINTR)
            continue;
    }
    close(fd);
}
