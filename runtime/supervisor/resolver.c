/* SPDX-License-Identifier: MIT */
#include "supervisor/resolver.h"
#include "redis/host.h"
#include "supervisor/process.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* connect_timeout is at most two minutes. */
#define CHILD_LIMIT_S 125
#define NOT_AN_ANSWER "what its name was resolved to are not addresses"

void resolver_init(struct resolver *r, sd_event *event)
{
    *r = (struct resolver){ .event = event, .fd = -1 };
}

static void end_question(struct resolver *r)
{
    r->io = sd_event_source_disable_unref(r->io);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    if (r->pid > 0)
        kill(r->pid, SIGKILL);
    r->pid = 0;
    r->lookup = NULL;
    r->used = 0;
}

void resolver_done(struct resolver *r)
{
    if (r->event)
        end_question(r);
}

void resolver_cancel(struct resolver *r)
{
    end_question(r);
}

pid_t resolver_pid(const struct resolver *r)
{
    return r->pid;
}

static void tell(struct resolver *r, const struct redis_names *names, const char *why)
{
    struct redis_lookup *lookup = r->lookup;

    end_question(r);
    lookup->done(lookup, names, why);
}

/* False where nothing more is there. More than the child may say is not the child's. */
static bool read_some(struct resolver *r)
{
    ssize_t n = read(r->fd, r->answer + r->used, sizeof r->answer - r->used);

    if (n == 0)
        (void)sd_event_source_set_enabled(r->io, SD_EVENT_OFF);
    if (n <= 0)
        return false;
    r->used += (size_t)n;
    return r->used < sizeof r->answer;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
    struct resolver *r = userdata;

    (void)source;
    (void)fd;
    (void)events;
    (void)read_some(r);
    if (r->used == sizeof r->answer)
        tell(r, NULL, NOT_AN_ANSWER);
    return 0;
}

static int watch(struct resolver *r)
{
    int rc = sd_event_add_io(r->event, &r->io, r->fd, EPOLLIN, on_io, r);

    return rc < 0 ? rc : sd_event_source_set_description(r->io, "resolver");
}

int resolver_ask(struct resolver *r, const char *host, uint16_t port, struct redis_lookup *lookup)
{
    int rc;

    if (r->lookup)
        return -EBUSY;
    rc = process_spawn_resolver(host, port, &r->fd, &r->pid);
    if (rc >= 0)
        rc = watch(r);
    if (rc < 0) {
        end_question(r);
        return rc;
    }
    r->lookup = lookup;
    return 0;
}

/* True and *names only where every line, and the last one's end, is as the child writes it. */
static bool parse(char *answer, size_t size, struct redis_names *names)
{
    char *line = answer, *end = answer + size;

    names->count = 0;
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));

        if (!newline || names->count == REDIS_NAMES_MAX ||
            newline - line >= (ptrdiff_t)sizeof names->address[0])
            return false;
        *newline = '\0';
        if (line + strlen(line) != newline || !redis_host_is_numeric(line))
            return false;
        memcpy(names->address[names->count++], line, (size_t)(newline - line) + 1);
        line = newline + 1;
    }
    return names->count > 0;
}

static const char *why_not(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == EX_NOHOST)
        return "its name is not known";
    if (WIFEXITED(status) && WEXITSTATUS(status) == EX_TEMPFAIL)
        return "no name server answers";
    return "its name cannot be resolved";
}

bool resolver_child_ended(struct resolver *r, pid_t pid, int status)
{
    struct redis_names names;

    if (!r->lookup || pid != r->pid)
        return false;
    r->pid = 0; /* reaped: the number may be another's from now on */
    while (read_some(r))
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        tell(r, NULL, why_not(status));
    else if (r->used == sizeof r->answer || !parse(r->answer, r->used, &names))
        tell(r, NULL, NOT_AN_ANSWER);
    else
        tell(r, &names, NULL);
    return true;
}

/* --- the child --- */

static int exit_status(int error)
{
    switch (error) {
    case 0:
        return 0;
    case EAI_NONAME:
    case EAI_NODATA:
        return EX_NOHOST;
    case EAI_AGAIN:
        return EX_TEMPFAIL;
    default:
        return EX_UNAVAILABLE;
    }
}

/* False where it is none that another process could connect to. */
static bool write_address(const struct addrinfo *a, char text[REDIS_ADDRESS_SIZE])
{
    const struct sockaddr_in *v4 = (const void *)a->ai_addr;
    const struct sockaddr_in6 *v6 = (const void *)a->ai_addr;

    if (a->ai_family == AF_INET)
        return inet_ntop(AF_INET, &v4->sin_addr, text, REDIS_ADDRESS_SIZE);
    if (a->ai_family != AF_INET6 || v6->sin6_scope_id != 0)
        return false;
    return inet_ntop(AF_INET6, &v6->sin6_addr, text, REDIS_ADDRESS_SIZE);
}

int resolver_main(const char *host, const char *port)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char text[REDIS_ADDRESS_SIZE];
    int printed = 0, error;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(CHILD_LIMIT_S);
    error = getaddrinfo(host, port, &hints, &found);
    if (error != 0)
        return exit_status(error);
    for (const struct addrinfo *a = found; a && printed < REDIS_NAMES_MAX; a = a->ai_next)
        if (write_address(a, text)) {
            puts(text);
            printed++;
        }
    freeaddrinfo(found);
    if (printed == 0)
        return EX_NOHOST;
    return fflush(stdout) == 0 ? 0 : EX_IOERR;
}
