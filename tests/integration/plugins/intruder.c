/* SPDX-License-Identifier: MIT
 * Uses the host's own socket, descriptor 3, in the way that its parameter `as` names. AT_ONCE:
 * lingers while it is loaded, and says first what AT_ONCE is, in hex, so many TIMES. */
#include <rota/plugin.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_SOCKET 3
#define LINGER_S 3600
#ifndef TIMES
#define TIMES 1
#endif

static const struct rota_param params[] = {
    { .name = "as", .type = ROTA_STRING, .flags = ROTA_REQUIRED, .help = "The way." },
    { .name = "frames", .type = ROTA_STRINGS, .def = "[]", .help = "What it says, in hex." },
    { .name = NULL },
};

static void say(const char *hex)
{
    unsigned char bytes[4096];
    size_t length = 0;

    for (const char *at = hex; at[0] && at[1] && length < sizeof bytes; at += 2) {
        const char digits[] = { at[0], at[1], '\0' };

        bytes[length++] = (unsigned char)strtoul(digits, NULL, 16);
    }
    if (length > 0)
        send(HOST_SOCKET, bytes, length, 0);
}

static int as_says(const struct rota_run *r)
{
    for (const char *const *hex = rota_strings(r, "frames"); *hex; hex++)
        say(*hex);
    abort();
}

/* One whose close() waits: for an hour there is something to send that the peer does not take. */
static int open_lingering(void)
{
    const struct linger linger = { .l_onoff = 1, .l_linger = LINGER_S };
    struct sockaddr_in here = { .sin_family = AF_INET };
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    static const char bytes[64 * 1024];
    socklen_t length = sizeof here;

    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(server, (struct sockaddr *)&here, length) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&here, &length) < 0 ||
        connect(client, (struct sockaddr *)&here, length) < 0 ||
        setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0)
        return -1;
    while (send(client, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    return client;
}

static void give_away(int fd)
{
    char text[] = "x", control[CMSG_SPACE(sizeof fd)] = { 0 };
    struct iovec part = { text, sizeof text };
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    sendmsg(HOST_SOCKET, &m, 0);
    close(fd);
}

/* While the guard is stopped: so it comes to have the last descriptor of each. */
static int linger(const char *hex)
{
    int fds[] = { open_lingering(), open_lingering() };

    if (fds[0] < 0 || fds[1] < 0)
        abort();
    kill(getppid(), SIGSTOP);
    for (int i = 0; i < TIMES; i++)
        say(hex);
    give_away(fds[0]);
    give_away(fds[1]);
    kill(getppid(), SIGCONT);
    puts("given away");
    for (;;)
        pause();
}

static int run(const struct rota_run *r)
{
    return strcmp(rota_string(r, "as"), "lingers") == 0 ? linger("") : as_says(r);
}

#if defined(AT_ONCE)
__attribute__((constructor)) static void intrude(void)
{
    linger(AT_ONCE);
}
#endif

ROTA_PLUGIN(.name = "intruder", .version = "1", .summary = "Intrudes.", .params = params,
            .run = run);
