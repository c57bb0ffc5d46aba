/* SPDX-License-Identifier: MIT */
#include "guard/channel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>

/* How long a line waits for room in the socket. The guard never blocks, so a full socket means that
 * it is stopped. */
#define SLOW_GUARD_WAIT_MS 100

/* What a descriptor stood for when the worker began. */
struct identity {
    dev_t device;
    ino_t inode;
};

/* One worker a process. */
static struct {
    pthread_mutex_t lock; /* of frame */
    struct identity socket, stop;
    struct frame frame;
} channel = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct identity identify(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return (struct identity){ 0 };
    return (struct identity){ .device = st.st_dev, .inode = st.st_ino };
}

static bool is_still(int fd, const struct identity *then)
{
    struct identity now = identify(fd);

    return now.inode != 0 && now.device == then->device && now.inode == then->inode;
}

void channel_open(void)
{
    channel.socket = identify(WORKER_SOCKET);
    channel.stop = identify(WORKER_STOP);
}

bool channel_is_open(void)
{
    return is_still(WORKER_SOCKET, &channel.socket);
}

bool channel_is_stopped(void)
{
    struct pollfd fd = { .fd = WORKER_STOP, .events = POLLIN };

    return is_still(WORKER_STOP, &channel.stop) && poll(&fd, 1, 0) > 0 &&
           (fd.revents & (POLLIN | POLLHUP));
}

static void send_frame(int wait_ms)
{
    struct pollfd room = { .fd = WORKER_SOCKET, .events = POLLOUT };

    while (channel_is_open() && frame_send(WORKER_SOCKET, &channel.frame) == -EAGAIN)
        if (poll(&room, 1, wait_ms) == 0)
            break;
}

void channel_log(int level, const char *text)
{
    struct message_log m = { .level = (uint32_t)level, .text = text };

    pthread_mutex_lock(&channel.lock);
    message_pack_log(&channel.frame, &m);
    send_frame(SLOW_GUARD_WAIT_MS);
    pthread_mutex_unlock(&channel.lock);
}

static int32_t permille_of(double fraction)
{
    if (!(fraction >= 0)) /* a NaN too */
        return -1;
    return fraction >= 1 ? 1000 : (int32_t)(fraction * 1000);
}

void channel_progress(double fraction, const char *text)
{
    struct message_progress m = { .permille = permille_of(fraction), .text = text };

    pthread_mutex_lock(&channel.lock);
    message_pack_progress(&channel.frame, &m);
    send_frame(SLOW_GUARD_WAIT_MS);
    pthread_mutex_unlock(&channel.lock);
}

void channel_ended(enum ended_how how, int result, const char *detail)
{
    struct message_ended m = { .how = how, .result = result, .detail = detail };

    pthread_mutex_lock(&channel.lock);
    message_pack_ended(&channel.frame, &m);
    send_frame(-1);
    pthread_mutex_unlock(&channel.lock);
}
