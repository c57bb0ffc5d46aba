/* SPDX-License-Identifier: MIT */
#include "redis/socket.h"
#include "base/cleanup.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* After an idle time without a word: so many probes, so far apart. */
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES 3

union address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int fill_unix(const char *path, union address *ret_address, socklen_t *ret_len)
{
    union address a = { .local.sun_family = AF_UNIX };
    size_t size = strlen(path) + 1;

    if (size > sizeof a.local.sun_path)
        return -ENAMETOOLONG;
    memcpy(a.local.sun_path, path, size);
    *ret_address = a;
    *ret_len = sizeof a.local;
    return 0;
}

static int fill_tcp(const struct redis_endpoint *endpoint, union address *ret_address,
                    socklen_t *ret_len)
{
    union address a = { .v4 = { .sin_family = AF_INET, .sin_port = htons(endpoint->port) } };

    if (inet_pton(AF_INET, endpoint->host, &a.v4.sin_addr) == 1) {
        *ret_address = a;
        *ret_len = sizeof a.v4;
        return 0;
    }
    a = (union address){ .v6 = { .sin6_family = AF_INET6, .sin6_port = htons(endpoint->port) } };
    if (inet_pton(AF_INET6, endpoint->host, &a.v6.sin6_addr) != 1)
        return -EINVAL;
    *ret_address = a;
    *ret_len = sizeof a.v6;
    return 0;
}

static int set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

static int set_keepalive(int fd, int64_t idle_ms)
{
    int r = set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);

    if (r == 0)
        r = set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)((idle_ms + 999) / 1000));
    if (r == 0)
        r = set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    return r < 0 ? r : set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
}

static int set_tcp_options(int fd, int64_t keepalive_ms)
{
    int r = set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);

    return r < 0 || keepalive_ms <= 0 ? r : set_keepalive(fd, keepalive_ms);
}

int redis_socket_open(const struct redis_endpoint *endpoint, int64_t keepalive_ms, int *ret_fd)
{
    CLEANUP_CLOSE int fd = -1;
    union address address;
    socklen_t len;
    int r;

    r = endpoint->is_unix ? fill_unix(endpoint->host, &address, &len)
                          : fill_tcp(endpoint, &address, &len);
    if (r < 0)
        return r;
    fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (!endpoint->is_unix) {
        r = set_tcp_options(fd, keepalive_ms);
        if (r < 0)
            return r;
    }
    if (connect(fd, &address.any, len) < 0 && errno != EINPROGRESS)
        return -errno;
    *ret_fd = cleanup_take_fd(&fd);
    return 0;
}

int redis_socket_result(int fd)
{
    int error;
    socklen_t len = sizeof error;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}

int redis_socket_set_timeout(int fd, int64_t timeout_ms)
{
    int r = set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)timeout_ms);

    return r == -EOPNOTSUPP ? 0 : r;
}
