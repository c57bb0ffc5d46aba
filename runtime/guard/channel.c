/* SPDX-License-Identifier: MIT */
#include "guard/channel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>

/* How long a line waits for room in the socket. The guard never blocks, so a full socket means that
 * it is stopped. */
#define SLOW_GUARD_WAIT_MS 100

/* One worker a process. */
static struct {
    pthread_mutex_t lock; /* of frame */
    dev_t device;
    ino_t inode;
    struct frame frame;
} channel = { .lock = PTHREAD_MUTEX_INITIALIZER };

void channel_open(void)
{
    struct stat st;

    if (fstat(WORKER_SOCKET, &st) == 0) {
        channel.device = st.st_dev;
        channel.inode = st.st_ino;
    }
}

bool channel_is_open(void)
{
    struct stat st;

    return fstat(WORKER_SOCKET, &st) == 0 && st.st_dev == channel.device &&
           st.st_ino == channel.inode;
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
