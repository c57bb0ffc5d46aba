/* SPDX-License-Identifier: MIT
 * redis/socket.h: the connection's socket. Nothing here blocks or looks up a name. */
#ifndef ROTA_REDIS_SOCKET_H
#define ROTA_REDIS_SOCKET_H
#include "redis/store.h"

/* Starts to connect: non-blocking, close-on-exec; over TCP without delay, and with keepalive after
 * `keepalive_ms` of silence (0: without). 0 and *ret_fd (the caller's; writable once it is
 * connected), or a negative errno; -EINVAL where the host is not a numeric address, -ENAMETOOLONG
 * for a socket's path. */
int redis_socket_open(const struct redis_endpoint *endpoint, int64_t keepalive_ms, int *ret_fd);
/* How the connecting of a writable socket ended: 0 or a negative errno. */
int redis_socket_result(int fd);
/* What was sent and not acknowledged for so long ends the connection: a peer that is gone is found
 * in that time. Only once it is connected, since it bounds connecting too. 0, also for a unix
 * socket, which has no such thing; or a negative errno. */
int redis_socket_set_timeout(int fd, int64_t timeout_ms);
#endif
