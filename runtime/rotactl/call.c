/* SPDX-License-Identifier: MIT */
#include "rotactl/call.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/time.h"
#include "rotactl/options.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sysexits.h>
#include <time.h>

/* How long rotad may take for what needs no waiting. */
#define AT_ONCE_MS 10000
/* And where it asks Redis, up to twice: each within command_timeout and connect_timeout, which are
 * 3 min together at most. */
#define ASK_MS 370000

#define CONTROL_PATH "/rota"
#define CONTROL_INTERFACE "rota.Control1"
#define CONTROL_ERRORS CONTROL_INTERFACE ".Error."

/* --- what is said where it does not work --- */

#define DIR_SIZE 256

static char *show_dir(const struct call *c, char *buf)
{
    return text_escape(buf, DIR_SIZE, c->runtime_dir, strlen(c->runtime_dir));
}

static int say_no_answer(const struct call *c, const char *why)
{
    char dir[DIR_SIZE];

    fprintf(stderr, "rotactl: rotad does not answer at %s/control: %s\n", show_dir(c, dir), why);
    return STATUS_NO_ANSWER;
}

static int say_not_let_in(void)
{
    fputs("rotactl: rotad answers root, its own user and the groups rota and rota-admin; you are "
          "none of them\n",
          stderr);
    return EX_NOPERM;
}

static int say_not_running(const struct call *c)
{
    char dir[DIR_SIZE];

    fprintf(stderr, "rotactl: no rotad runs with the runtime folder %s%s\n", show_dir(c, dir),
            strcmp(c->runtime_dir, OPTIONS_RUNTIME_DIR) == 0 ? "; systemctl status rotad says more"
                                                             : "");
    return STATUS_NO_ANSWER;
}

int call_say_odd(const struct call *c)
{
    return say_no_answer(c, "its answer is none that this rotactl knows; are they of one version?");
}

/* rotad's side greets strangers by the one word, and everybody by the other where the part of it
 * that answers cannot be loaded. Looked at before the bus takes it. */
static void look_at_greeting(struct call *c)
{
    char word[8] = "";

    (void)recv(c->peer, word, sizeof word, MSG_PEEK | MSG_DONTWAIT);
    if (memcmp(word, "REJECTED", sizeof word) == 0)
        c->greeting = GREETING_REJECTED;
    else if (memcmp(word, "ERROR", strlen("ERROR")) == 0)
        c->greeting = GREETING_ERROR;
}

static bool was_lost(int rc)
{
    return rc == -ECONNRESET || rc == -EPIPE || rc == -ENOTCONN;
}

static int say_lost(const struct call *c, int rc)
{
    if (c->greeting == GREETING_ERROR)
        return say_no_answer(c, "a part of rotad is missing; its journal says which");
    if (rc == -EPERM || c->greeting == GREETING_REJECTED)
        return say_not_let_in();
    if (was_lost(rc))
        return say_no_answer(c, "it has ended, or has as many callers as it takes; try again");
    if (rc == -ETIMEDOUT)
        return say_no_answer(c, "nothing came within 10 s");
    return say_no_answer(c, strerror(-rc));
}

/* D-Bus has no others. */
static int say_no_text(void)
{
    fputs("rotactl: one of these words is no text in UTF-8, and so it is no name here\n", stderr);
    return EX_USAGE;
}

/* --- the connection --- */

static struct boot now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (struct boot){ (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 };
}

/* The connected descriptor, or negative errno. Anybody may knock, and few can wait at the door: who
 * finds no place there waits for one. */
static int connect_to(const char *runtime_dir)
{
    const struct timeval limit = { .tv_sec = AT_ONCE_MS / 1000 };
    CLEANUP_CLOSE int fd = -1;
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (!text_format(address.sun_path, sizeof address.sun_path, "%s/control", runtime_dir))
        return -ENAMETOOLONG;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -errno;
    return cleanup_take_fd(&fd);
}

/* The bus waits for a rotad that is stopped for longer than people do. */
static int greet(struct call *c)
{
    struct boot end = boot_add(now(), AT_ONCE_MS);
    int rc;

    while ((rc = sd_bus_is_ready(c->bus)) == 0) {
        struct pollfd peer = { .fd = c->peer, .events = (short)sd_bus_get_events(c->bus) };
        int64_t left = boot_between(now(), end);

        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&peer, 1, (int)left) < 0 && errno != EINTR)
            return -errno;
        look_at_greeting(c);
        rc = sd_bus_process(c->bus, NULL);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : 0;
}

static int start_bus(struct call *c, int fd)
{
    int rc = sd_bus_new(&c->bus);

    if (rc >= 0)
        rc = sd_bus_set_fd(c->bus, fd, fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    rc = sd_bus_negotiate_fds(c->bus, false);
    if (rc >= 0)
        rc = sd_bus_start(c->bus);
    return rc < 0 ? rc : greet(c);
}

/* Connects, if it has not. 0, or an exit status, with one line on stderr. */
static int open_call(struct call *c)
{
    int fd, rc;

    if (c->bus)
        return 0;
    fd = connect_to(c->runtime_dir);
    if (fd == -ENOENT || fd == -ECONNREFUSED || fd == -ENOTDIR)
        return say_not_running(c);
    if (fd == -EACCES)
        return say_not_let_in();
    if (fd < 0)
        return say_no_answer(c, fd == -EAGAIN ? "too many wait to be let in" : strerror(-fd));
    c->peer = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    rc = start_bus(c, fd);
    if (rc < 0) {
        look_at_greeting(c);
        return say_lost(c, rc);
    }
    return 0;
}

void call_close(struct call *c)
{
    sd_bus_close_unref(c->bus);
    if (c->peer >= 0)
        close(c->peer);
}

/* --- calls --- */

static int say_error(const struct call *c, const sd_bus_error *error, int rc)
{
    char shown[256];

    if (rc == -EILSEQ)
        return say_no_text();
    if (sd_bus_error_has_name(error, SD_BUS_ERROR_ACCESS_DENIED)) {
        fputs("rotactl: only root, rotad's own user and the group rota-admin may change what rotad "
              "does\n",
              stderr);
        return EX_NOPERM;
    }
    if (sd_bus_error_has_name(error, SD_BUS_ERROR_UNKNOWN_METHOD) ||
        sd_bus_error_has_name(error, SD_BUS_ERROR_INVALID_ARGS))
        return call_say_odd(c);
    if (!error->message || was_lost(rc))
        return say_lost(c, rc);
    return say_no_answer(c,
                         text_escape(shown, sizeof shown, error->message, strlen(error->message)));
}

int call_wait(struct call *c, const char *method, int64_t limit_ms, sd_bus_message **ret_reply)
{
    uint64_t limit_us = limit_ms > INT64_MAX / 1000 ? UINT64_MAX : (uint64_t)limit_ms * 1000;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *m = NULL;
    int rc = open_call(c);

    if (rc != 0)
        return rc;
    rc = sd_bus_message_new_method_call(c->bus, &m, NULL, CONTROL_PATH, CONTROL_INTERFACE, method);
    if (rc >= 0)
        rc = sd_bus_call(c->bus, m, limit_us, &error, ret_reply);
    sd_bus_message_unref(m);
    if (rc < 0 && rc != -ETIMEDOUT)
        rc = say_error(c, &error, rc);
    else if (rc > 0)
        rc = 0;
    sd_bus_error_free(&error);
    return rc;
}

struct question {
    const char *method, *types;
    va_list *args; /* of those types */
    uint64_t limit_us;
};

/* What sd_bus_call() returns; -EILSEQ where an argument is no UTF-8. */
static int call_with(struct call *c, const struct question *q, sd_bus_error *error,
                     sd_bus_message **ret_reply)
{
    sd_bus_message *m = NULL;
    int rc = sd_bus_message_new_method_call(c->bus, &m, NULL, CONTROL_PATH, CONTROL_INTERFACE,
                                            q->method);

    if (rc >= 0) {
        rc = sd_bus_message_appendv(m, q->types, *q->args);
        if (rc == -EINVAL) /* it says no more; the types are ours, and right */
            rc = -EILSEQ;
    }
    if (rc >= 0)
        rc = sd_bus_call(c->bus, m, q->limit_us, error, ret_reply);
    sd_bus_message_unref(m);
    return rc;
}

int call_find(struct call *c, sd_bus_message **ret_reply, const char *method, const char *types,
              ...)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    va_list args;
    int rc = open_call(c);

    if (rc != 0)
        return rc;
    va_start(args, types);
    rc = call_with(c, &(struct question){ method, types, &args, (uint64_t)AT_ONCE_MS * 1000 },
                   &error, ret_reply);
    va_end(args);
    if (rc == -ENOENT)
        ; /* the caller knows what to say */
    else if (rc < 0)
        rc = say_error(c, &error, rc);
    else
        rc = 0;
    sd_bus_error_free(&error);
    return rc;
}

int call_about(struct call *c, const char *method, const char *text, sd_bus_message **ret_reply)
{
    return call_find(c, ret_reply, method, "s", text);
}

/* rotad's own words: Redis cannot be asked, or not that. */
static int say_refused(const struct call *c, const sd_bus_error *error, int rc)
{
    char shown[512];

    if (!error->name || !error->message ||
        strncmp(error->name, CONTROL_ERRORS, strlen(CONTROL_ERRORS)) != 0)
        return rc == -ETIMEDOUT ? say_no_answer(c, "nothing came within 6 min")
                                : say_error(c, error, rc);
    fprintf(stderr, "rotactl: %s\n",
            text_escape(shown, sizeof shown, error->message, strlen(error->message)));
    return strcmp(error->name, CONTROL_ERRORS "Words") == 0 ? EX_USAGE : STATUS_LOOK;
}

static int ask(struct call *c, const struct question *q, sd_bus_message **ret_reply)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int rc = open_call(c);

    if (rc != 0)
        return rc;
    rc = call_with(c, q, &error, ret_reply);
    rc = rc < 0 ? say_refused(c, &error, rc) : 0;
    sd_bus_error_free(&error);
    return rc;
}

int call_ask(struct call *c, sd_bus_message **ret_reply, const char *method, const char *types, ...)
{
    va_list args;
    int rc;

    va_start(args, types);
    rc = ask(c, &(struct question){ method, types, &args, (uint64_t)ASK_MS * 1000 }, ret_reply);
    va_end(args);
    return rc;
}

int call_long(struct call *c, sd_bus_message **ret_reply, const char *method, const char *types,
              ...)
{
    va_list args;
    int rc;

    va_start(args, types);
    rc = ask(c, &(struct question){ method, types, &args, UINT64_MAX }, ret_reply);
    va_end(args);
    return rc;
}

/* Behind what rotad says before each such reason. */
static void copy_reason(const char *message, char ret_why[CALL_WHY_SIZE])
{
    const char *reason = strstr(message, ": ");

    text_copy(ret_why, CALL_WHY_SIZE, reason ? reason + 2 : message);
}

int call_try(struct call *c, sd_bus_message **ret_reply, char ret_why[CALL_WHY_SIZE],
             const char *method, const char *types, ...)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    va_list args;
    int rc = open_call(c);

    if (rc != 0)
        return rc;
    va_start(args, types);
    rc = call_with(c, &(struct question){ method, types, &args, (uint64_t)ASK_MS * 1000 }, &error,
                   ret_reply);
    va_end(args);
    if (rc < 0 && error.message && sd_bus_error_has_name(&error, CONTROL_ERRORS "Redis")) {
        copy_reason(error.message, ret_why);
        rc = -ENODATA;
    } else {
        rc = rc < 0 ? say_refused(c, &error, rc) : 0;
    }
    sd_bus_error_free(&error);
    return rc;
}

int call_now(struct call *c, const char *method, sd_bus_message **ret_reply)
{
    int rc = call_wait(c, method, AT_ONCE_MS, ret_reply);

    return rc == -ETIMEDOUT ? say_lost(c, rc) : rc;
}
